package hudi_pyspark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Iterator;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** A scan of a schema that is planned once; relations with the same needs share it. */
public class Planned {
  public final PythonScan scan;
  public final Map hints; // for the planning process: texts by the words for hints
  public final Object made; // what Python made for the scan's source, without hints
  public final Parts parts;
  public final int width; // the bytes of a row with all columns, as Spark estimates them
  public final boolean isColumnar;

  /** Whether Python has been asked to plan. */
  public volatile boolean isStarted;

  /** Whether Spark has asked for readers. */
  public volatile boolean isRead;

  private Batch batch;
  private JsonNode answer;

  public Planned(
      PythonScan scan,
      Object made,
      StructType schema,
      Map hints,
      int width,
      Parts parts,
      boolean isColumnar)
      throws Exception {
    this.scan = PythonScans.withHints(scan, made, schema, hints);
    this.hints = hints;
    this.made = made;
    this.width = width;
    this.parts = parts;
    this.isColumnar = isColumnar;
  }

  public synchronized Batch batch() {
    isStarted = true;
    if (batch == null) {
      batch = isColumnar ? (Batch) parts.columnar.apply(scan.toBatch()) : scan.toBatch();
    }
    return batch;
  }

  /** A scan with the keys of a join, whose partitions the readers of this scan can read. */
  public Planned withKeys(String filter) throws Exception {
    Map more = new TreeMap(hints);
    Object before = hints.get(Words.KEYS);
    more.put(Words.KEYS, before == null ? filter : before + "\n" + filter);
    return new Planned(scan, made, scan.readSchema(), more, width, parts, isColumnar);
  }

  /** The number of slices that await their merge; if it falls, a new plan may be better. */
  public int awaitingMerges() {
    try {
      return isStarted ? answer().get(Words.AWAITING).intValue() : 0;
    } catch (Exception error) {
      Log.RULE.debug("a scan is not planned: " + error); // reading raises what is wrong
      return 0;
    }
  }

  /** The bytes of the rows with all columns; -1 if unknown. */
  public long bytes() {
    try {
      return answer().get(Words.ROW_BYTES).longValue();
    } catch (Exception error) {
      Log.RULE.debug("the size of the scan is unknown: " + error); // reading raises what is wrong
      return -1;
    }
  }

  /** The expected bytes, estimated as Spark does for its own file sources. */
  public OptionalLong size() {
    double share = Math.min(1, (double) scan.readSchema().defaultSize() / width);
    double factor = SQLConf.get().fileCompressionFactor() * share;
    long bytes = bytes();
    return bytes < 0 ? OptionalLong.empty() : OptionalLong.of((long) (bytes * factor));
  }

  /** Adds the facts of the explanation to the metadata that EXPLAIN FORMATTED shows. */
  public Object withFacts(Object metadata) {
    scala.collection.immutable.Map facts = (scala.collection.immutable.Map) metadata;
    try {
      Iterator explained = answer().get(Words.FACTS).fields();
      while (explained.hasNext()) {
        Map.Entry fact = (Map.Entry) explained.next();
        String label = (String) fact.getKey();
        label = Character.toUpperCase(label.charAt(0)) + label.substring(1);
        String text = ((JsonNode) fact.getValue()).textValue();
        facts = (scala.collection.immutable.Map) facts.updated(label, text);
      }
    } catch (Exception error) {
      Log.RULE.debug("the scan is not explained: " + error); // reading raises what is wrong
    }
    return facts;
  }

  /** What the planning process says about the scan. */
  public synchronized JsonNode answer() throws Exception {
    if (answer == null) {
      answer = Answer.of(batch());
    }
    return answer;
  }
}
