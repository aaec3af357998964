package hudi_pyspark;

import java.time.Instant;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Times of Spark as the instants that options/instant_text.py parses.
 *
 * <p>The only place that makes a text of a time: for TIMESTAMP AS OF and for table functions. The
 * text is the wall-clock time of the session with its offset and its zone, as in RFC 9557. Python
 * takes the moment if the timeline of the table is in UTC, else the wall-clock time.
 */
public final class Instants {
  private Instants() {}

  /** The zone of the session. */
  public static ZoneId zone() {
    return DateTimeUtils.getZoneId(SQLConf.get().sessionLocalTimeZone());
  }

  /** The instant of a TIMESTAMP. */
  public static String text(long micros) {
    Instant instant = Instant.EPOCH.plusMillis(Math.floorDiv(micros, 1000L));
    return text(instant.atZone(zone()));
  }

  /** The instant of a time; without milliseconds it means the whole second. */
  public static String text(ZonedDateTime time) {
    boolean isWhole = time.getNano() < 1000000;
    String clock = isWhole ? "uuuu-MM-dd'T'HH:mm:ss" : "uuuu-MM-dd'T'HH:mm:ss.SSS";
    return DateTimeFormatter.ofPattern(clock + "xxx'['VV']'").format(time);
  }
}
