package hudi_pyspark;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A Python scan that tells Spark more: what it reads, for EXPLAIN FORMATTED, and its size, for the
 * choice of joins. The keys of a join can filter it.
 *
 * <p>It is a proxy of the interfaces that PythonScan has in this Spark, and of two more. Spark
 * copies plans without copying their scans, so one scan may be executed in several places, with the
 * keys of different joins: see filter.
 */
public class NarrowedScan
    implements InvocationHandler, Statistics, SupportsReportStatistics, SupportsRuntimeV2Filtering {
  /** Set while the part JoinFilters runs: otherwise joins must not filter scans. */
  public static final ThreadLocal JOINS = new ThreadLocal();

  /** The largest number of keys with which a join filters a scan. */
  public static final int MOST_KEYS = 10000;

  private static final String LEAST_BYTES = "spark.hudi-py.optimizer.joins.leastBytes";
  public final Planned planned;

  /** The result of filter, for the call of toBatch that follows in the same thread. */
  private final ThreadLocal withKeys = new ThreadLocal();

  private NarrowedScan(Planned planned) {
    this.planned = planned;
  }

  public static Scan of(Planned planned) {
    ArrayList interfaces = new ArrayList(Arrays.asList(PythonScan.class.getInterfaces()));
    interfaces.add(SupportsReportStatistics.class);
    interfaces.add(SupportsRuntimeV2Filtering.class);
    return (Scan)
        Proxy.newProxyInstance(
            PythonScan.class.getClassLoader(),
            (Class[]) interfaces.toArray(new Class[0]),
            new NarrowedScan(planned));
  }

  /** What the scan shares with scans of the same needs; null if this rule has not made the scan. */
  public static Planned plannedOf(Scan scan) {
    if (!Proxy.isProxyClass(scan.getClass())) {
      return null;
    }
    InvocationHandler handler = Proxy.getInvocationHandler(scan);
    return handler instanceof NarrowedScan ? ((NarrowedScan) handler).planned : null;
  }

  /** Calls this object's method, or else the method of Spark's scan. */
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    String name = method.getName();
    if (name.equals("equals")) {
      return Boolean.valueOf(proxy == arguments[0]);
    }
    if (name.equals("columnarSupportMode") && planned.isColumnar) {
      return Scan.ColumnarSupportMode.SUPPORTED;
    }
    try {
      Class declaring = method.getDeclaringClass();
      if (name.equals("toBatch")
          || declaring.isInstance(this) && !declaring.isInstance(planned.scan)) {
        return method.invoke(this, arguments);
      }
      Object answer = method.invoke(planned.scan, arguments);
      return name.equals("getMetaData") ? planned.withFacts(answer) : answer;
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  public StructType readSchema() {
    return planned.scan.readSchema();
  }

  public Statistics estimateStatistics() {
    return this;
  }

  public OptionalLong sizeInBytes() {
    return planned.size();
  }

  public OptionalLong numRows() {
    return OptionalLong.empty();
  }

  public NamedReference[] filterAttributes() {
    ArrayList columns = new ArrayList();
    boolean isFiltered =
        JOINS.get() != null && planned.parts.filterText != null && planned.bytes() >= leastBytes();
    StructField[] fields = readSchema().fields();
    for (int i = 0; i < fields.length && isFiltered; i++) {
      if (isComparedByValue(fields[i].dataType())) {
        columns.add(FieldReference.column(fields[i].name()));
      }
    }
    return (NamedReference[]) columns.toArray(new NamedReference[0]);
  }

  /** Whether joins and filters agree on equal values. To a join, 0.0 equals -0.0. */
  private static boolean isComparedByValue(DataType type) {
    boolean isFloat = type instanceof DoubleType || type instanceof FloatType;
    boolean isPlainText = !(type instanceof StringType) || type.simpleString().equals("string");
    return type instanceof AtomicType && !isFloat && isPlainText;
  }

  /** Below this size, reading takes less time than collecting keys and planning again. */
  private static long leastBytes() {
    return Long.parseLong(SQLConf.get().getConfString(LEAST_BYTES, "8388608"));
  }

  /**
   * Keeps the keys of a join for the next batch. A physical scan calls this method and then
   * toBatch, one right after the other in one thread. Another execution of the same scan must not
   * see these keys.
   */
  public void filter(Predicate[] predicates) {
    withKeys.remove();
    try {
      Planned chosen = planned;
      for (int i = 0; i < predicates.length; i++) {
        boolean isShort = predicates[i].children().length <= MOST_KEYS;
        String text = isShort ? (String) planned.parts.filterText.apply(predicates[i]) : null;
        boolean isOneLine = text != null && text.indexOf('\n') < 0;
        chosen = isOneLine ? chosen.withKeys(text) : chosen;
      }
      withKeys.set(chosen);
    } catch (Throwable error) {
      Log.RULE.info("a scan is not filtered by a join: " + error);
    }
  }

  public Batch toBatch() {
    Planned filtered = (Planned) withKeys.get();
    withKeys.remove();
    return new ScanBatch(planned, filtered == null ? planned : filtered);
  }

  /** A batch with the partitions of one plan and the readers of another, of the same columns. */
  private static class ScanBatch implements Batch {
    private final Planned readers;
    private final Planned partitions;

    ScanBatch(Planned readers, Planned partitions) {
      this.readers = readers;
      this.partitions = partitions;
    }

    public InputPartition[] planInputPartitions() {
      return partitions.batch().planInputPartitions();
    }

    public PartitionReaderFactory createReaderFactory() {
      readers.isRead = true;
      return readers.batch().createReaderFactory();
    }

    /** Batches of one plan are equal: Spark itself compares the filters of joins. */
    public boolean equals(Object other) {
      return other instanceof ScanBatch
          && ((ScanBatch) other).readers == readers
          && ((ScanBatch) other).partitions == partitions;
    }

    public int hashCode() {
      return readers.hashCode();
    }
  }
}
