package hudi_pyspark;

import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A table of a catalog with the options of its reads.
 *
 * <p>Spark's own table of a Python data source forgets the location of a catalog's entry.
 */
public class ReadTable extends PythonTable implements SupportsRowLevelOperations, TruncatableTable {
  private final String label;
  private final Map options;
  private final Table entry; // as Spark describes it; null without an entry

  /** The tables of the same columns with the options of queries, by these options. */
  private final Map withOptions = new HashMap();

  private ReadTable(PythonDataSourceV2 source, String label, Map options, Table entry) {
    super(source, Words.SOURCE, source.inferSchema(new CaseInsensitiveStringMap(options)));
    this.label = label;
    this.options = options;
    this.entry = entry;
  }

  /**
   * Opens a table; Python raises an error if there is none.
   *
   * @param label the name of the table in messages and plans
   * @param options of the read
   * @param entry what DESCRIBE shows; null for a table that has no entry
   */
  public static ReadTable open(String label, Map options, Table entry) {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(Words.SOURCE);
    return new ReadTable(source, label, options, entry);
  }

  /** The options of the newest rows: none, or that of a stream, which has columns of its own. */
  public static Map newest() {
    boolean isStream = FileGuard.isCalledBy(".DataStreamReader.");
    return isStream ? Collections.singletonMap(Words.STREAM, "true") : Collections.emptyMap();
  }

  /** The option of a version, which is an instant in any form that as.of.instant has. */
  public static Map asOf(String version) {
    return Collections.singletonMap(Words.INSTANT, version);
  }

  /**
   * The option of a timestamp. Its time is that of the session's zone; a zone that is not UTC goes
   * with it, as planning/time_travel.py expects. Without milliseconds it means the whole second.
   */
  public static Map asOf(long micros) {
    Instant instant = Instant.EPOCH.plusMillis(Math.floorDiv(micros, 1000L));
    ZonedDateTime time = instant.atZone(ZoneId.of(SQLConf.get().sessionLocalTimeZone()));
    String pattern = time.getNano() == 0 ? "yyyy-MM-dd HH:mm:ss" : "yyyy-MM-dd HH:mm:ss.SSS";
    boolean isUtc = time.getOffset().equals(ZoneOffset.UTC);
    String text = DateTimeFormatter.ofPattern(isUtc ? pattern : pattern + "xxx").format(time);
    return asOf(isUtc ? text : text + Words.SESSION);
  }

  public String name() {
    return label;
  }

  /** The options of a read; they may contain secrets, so DESCRIBE shows none of them. */
  public Map options() {
    return options;
  }

  public Map properties() {
    return entry == null ? super.properties() : entry.properties();
  }

  public Transform[] partitioning() {
    return entry == null ? super.partitioning() : entry.partitioning();
  }

  /** All capabilities of writing, so that each statement meets the error of this class. */
  public Set capabilities() {
    Set all = EnumSet.copyOf(super.capabilities());
    all.add(TableCapability.OVERWRITE_BY_FILTER);
    all.add(TableCapability.OVERWRITE_DYNAMIC);
    return all;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap more) {
    if (more.isEmpty()) {
      return super.newScanBuilder(new CaseInsensitiveStringMap(options));
    }
    Map all = new HashMap(options);
    all.putAll(more.asCaseSensitiveMap());
    return with(all).newScanBuilder(new CaseInsensitiveStringMap(new HashMap()));
  }

  private synchronized ReadTable with(Map all) {
    ReadTable table = (ReadTable) withOptions.get(all);
    if (table == null) {
      table = open(label, all, entry);
      if (!table.schema().equals(schema())) {
        String[] types = {schema().simpleString(), table.schema().simpleString()};
        throw new IllegalArgumentException(
            String.format(Words.OTHER_COLUMNS, new Object[] {label, types[0], types[1]}));
      }
      withOptions.put(all, table);
    }
    return table;
  }

  public static UnsupportedOperationException readOnly(Object table, String statement) {
    String text = String.format(Words.READ_ONLY, new Object[] {statement, table});
    return new UnsupportedOperationException(text);
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    throw readOnly(label, "INSERT");
  }

  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    throw readOnly(label, String.valueOf(info.command()));
  }

  public boolean truncateTable() {
    throw readOnly(label, "TRUNCATE or DELETE");
  }

  /** Two loads of one entry are one table to Spark, which looks for cached rows. */
  public boolean equals(Object other) {
    return other instanceof ReadTable
        && ((ReadTable) other).label.equals(label)
        && ((ReadTable) other).options.equals(options);
  }

  public int hashCode() {
    return label.hashCode();
  }
}
