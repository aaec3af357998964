package hudi_pyspark;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
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
  private String[] explained;

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
  public String awaitingMerges() {
    try {
      return isStarted ? explained()[2] : "0";
    } catch (Exception error) {
      Log.RULE.debug("a scan is not planned: " + error); // reading raises what is wrong
      return "0";
    }
  }

  /** The bytes of the rows with all columns; -1 if unknown. */
  public long bytes() {
    try {
      return Long.parseLong(explained()[0]);
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

  /** Adds the lines of the explanation to the metadata that EXPLAIN FORMATTED shows. */
  public Object withFacts(Object metadata) {
    scala.collection.immutable.Map facts = (scala.collection.immutable.Map) metadata;
    try {
      String[] lines = explained()[1].split("\n");
      for (int i = 0; i < lines.length; i++) {
        String label = Character.toUpperCase(lines[i].charAt(0)) + lines[i].substring(1, 10);
        String fact = lines[i].substring(10).trim();
        facts = (scala.collection.immutable.Map) facts.updated(label.trim(), fact);
      }
    } catch (Exception error) {
      Log.RULE.debug("the scan is not explained: " + error); // reading raises what is wrong
    }
    return facts;
  }

  /** The row bytes, the explanation and the number of awaited merges. */
  public synchronized String[] explained() throws Exception {
    if (explained == null) {
      explained = explained(batch());
    }
    return explained;
  }

  /** The texts in the first partition, which precede all texts of a table. */
  public static String[] explained(Batch batch) {
    Object first = batch.planInputPartitions()[0];
    String pickle =
        new String(((PythonInputPartition) first).pickedPartition(), StandardCharsets.UTF_8);
    int begin = pickle.indexOf(Words.EXPLAINED) + Words.EXPLAINED.length();
    return pickle.substring(begin).split("\0", 4);
  }
}
