package hudi_pyspark;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Narrows the batches of a stream. A relation keeps its stream, which counts rows and knows the
 * offsets, and gets a scan with the narrower schema. The stream makes the readers of its batches
 * from a schema of its own, which must be the schema of the scan in the executed plan: see settle.
 */
public class MicroBatches implements Parts.Streams {
  public LogicalPlan narrow(LogicalPlan leaf, Need need, LogicalPlan root) throws Exception {
    StreamingDataSourceV2ScanRelation relation = ours(leaf);
    if (relation == null || scansOf(relation.stream(), root) != 1) {
      return leaf;
    }
    PythonScan scan = (PythonScan) relation.scan();
    StructType stored = scan.readSchema();
    List output = CollectionConverters.asJava(relation.output());
    if (output.size() != stored.length()) {
      return leaf;
    }
    Need.Columns columns = need.columnsOf(output, stored);
    StructType schema = columns.schema();
    Map hints = new TreeMap();
    if (columns.isPlaceholder) {
      hints.put(Words.PLACEHOLDER, "true");
    }
    Object made = PythonScans.made(PythonScans.sourceOf(scan), scan);
    if (schema.json().equals(stored.json()) && Hints.areIn(PythonScans.pickleOf(made), hints)) {
      return leaf;
    }
    Object narrowed = PythonScans.withHints(scan, made, schema, hints);
    Object[] values = {narrowed, Need.seq(columns.attributes)};
    return (LogicalPlan) Reflection.copy(relation, new String[] {"scan", "output"}, values);
  }

  public void settle(LogicalPlan plan) throws Exception {
    for (Object leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      StreamingDataSourceV2ScanRelation relation = ours((LogicalPlan) leaf);
      if (relation != null) {
        settle(relation.stream(), (PythonScan) relation.scan());
      }
    }
  }

  private static void settle(Object stream, PythonScan scan) throws Exception {
    StructType schema = scan.readSchema();
    StructType current = (StructType) Reflection.get(stream, "outputSchema");
    PythonDataSourceV2 source = (PythonDataSourceV2) Reflection.get(stream, "ds");
    Object made = PythonScans.made(PythonScans.sourceOf(scan), scan);
    byte[] pickle = PythonScans.pickleOf(made);
    byte[] currentPickle = PythonScans.pickleOf(PythonScans.made(source, scan));
    if (schema.json().equals(current.json()) && Arrays.equals(pickle, currentPickle)) {
      return;
    }
    // The stream makes a new reader, over a new source: the source keeps its reader, and streams
    // may share a source. The schema comes last, so that the stream is unchanged if this Spark
    // lacks one of the fields.
    Reflection.set(stream, "bitmap$0", Boolean.FALSE);
    Reflection.set(stream, "ds", PythonScans.holding(made));
    Reflection.set(stream, "outputSchema", schema);
  }

  /** The leaf, if it reads a batch of this source; null for any other leaf. */
  private static StreamingDataSourceV2ScanRelation ours(LogicalPlan leaf) throws Exception {
    if (!(leaf instanceof StreamingDataSourceV2ScanRelation)) {
      return null;
    }
    StreamingDataSourceV2ScanRelation relation = (StreamingDataSourceV2ScanRelation) leaf;
    boolean isBatch = relation.startOffset().isDefined();
    return isBatch && PythonScans.ours(relation.scan()) != null ? relation : null;
  }

  private static int scansOf(Object stream, LogicalPlan root) {
    int count = 0;
    for (Object leaf : CollectionConverters.asJava(root.collectLeaves())) {
      if (leaf instanceof StreamingDataSourceV2ScanRelation
          && ((StreamingDataSourceV2ScanRelation) leaf).stream() == stream) {
        count++;
      }
    }
    return count;
  }
}
