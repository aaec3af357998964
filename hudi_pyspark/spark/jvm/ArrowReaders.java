package hudi_pyspark;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.function.UnaryOperator;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.NullVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.spark.PartitionEvaluatorFactory;
import org.apache.spark.TaskContext;
import org.apache.spark.api.python.BasePythonRunner;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.AccumulatorV2;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.collection.immutable.Map;

/**
 * Batches that give Spark the Arrow vectors of a Python worker, so that generated code reads only
 * the columns it uses. Spark's own readers of Python sources first copy each row.
 *
 * <p>The Arrow reader fills the same vectors for each batch. A batch is therefore valid until Spark
 * asks for the next one, like a batch of Spark's Parquet reader, and memory is bounded by one
 * batch. This is what each columnar operator of Spark 4.0 to 4.3 keeps after that:
 *
 * <ul>
 *   <li>ColumnarToRowExec: nothing. Generated code closes a batch when its last row is read, and
 *       when a limit is reached; code that is not generated copies row by row and closes nothing.
 *   <li>ArrowEvalPythonExec (since 4.2, all Python UDFs over a scan): copies of the rows, unless
 *       the columns are of the class ArrowColumnVector. It queues columns of that class until
 *       Python has answered, and never closes them if its parent reads rows. It queues the results
 *       of another UDF in the same way, although Spark fills their vectors again. In pipelined mode
 *       (4.3) two threads share the queue without a lock. So the columns here are of another class:
 *       see Column.
 *   <li>ArrowCachedBatchSerializer (4.3, a setting): nothing. It writes an ArrowColumnVector as it
 *       is and any other column row by row, then closes the batch. The default serializer takes
 *       rows.
 *   <li>UnionExec, and since 4.2 GroupPartitionsExec: nothing; they pass batches on.
 *   <li>All others take the rows of a ColumnarToRowExec: mapInArrow, mapInPandas, applyInPandas,
 *       applyInArrow, cogroups, grouped UDFs, UDTFs, toArrow, toPandas, writers, exchanges.
 * </ul>
 *
 * <p>tests/spark/columnar_queries.py runs all of them; optimizer.py lists the releases that pass.
 *
 * <p>Compiled in the driver's JVM, as NarrowScans is; executors get the classes in a jar.
 */
public class ArrowReaders implements UnaryOperator {
  private static final int DECIMAL_BYTES = 16;

  /** Throws if the classes of this Spark are not as expected. */
  public ArrowReaders() throws Exception {
    Class[] types = runner().getParameterTypes();
    if (types.length != 2 || types[1] != int[][].class || maker().getParameterTypes().length > 7) {
      throw new IllegalStateException("unknown classes of Spark");
    }
    field("source");
    field("pickledReadFunc");
  }

  /** The same batch with columnar readers. */
  public Object apply(Object batch) {
    return new ArrowBatch((Batch) batch);
  }

  private static Constructor runner() throws Exception {
    String factory = "org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory";
    Class runner = Class.forName(factory + "$MapInBatchEvaluator$$anon$1");
    return runner.asSubclass(BasePythonRunner.class).getConstructors()[0];
  }

  private static Method maker() throws Exception {
    Method[] methods = UserDefinedPythonDataSource.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals("createMapInBatchEvaluatorFactory")) {
        return methods[i];
      }
    }
    throw new NoSuchMethodException("createMapInBatchEvaluatorFactory");
  }

  private static Field field(String name) throws Exception {
    Class type = PythonPartitionReaderFactory.class;
    return type.getField(type.getName().replace('.', '$') + "$$" + name);
  }

  private static class ArrowBatch implements Batch {
    private final Batch batch;

    ArrowBatch(Batch batch) {
      this.batch = batch;
    }

    public InputPartition[] planInputPartitions() {
      return batch.planInputPartitions();
    }

    public PartitionReaderFactory createReaderFactory() {
      return new ReaderFactory((PythonPartitionReaderFactory) batch.createReaderFactory());
    }
  }

  private static class ReaderFactory implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;
    private final PythonPartitionReaderFactory rows;

    ReaderFactory(PythonPartitionReaderFactory rows) {
      this.rows = rows;
    }

    public boolean supportColumnarReads(InputPartition partition) {
      return true;
    }

    public PartitionReader createReader(InputPartition partition) {
      return rows.createReader(partition);
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
      try {
        return new Reader(rows, ((PythonInputPartition) partition).pickedPartition());
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }
  }

  /**
   * Runs the Python function as Spark's own reader does, and unpacks the columns of its structs.
   */
  private static class Reader implements PartitionReader {
    private final UserDefinedPythonDataSource source;
    private final Map metrics = PythonCustomMetric.pythonMetrics();
    private final Iterator structs;
    private ColumnarBatch batch;

    Reader(PythonPartitionReaderFactory rows, byte[] partition) throws Exception {
      source = (UserDefinedPythonDataSource) field("source").get(rows);
      Method maker = maker();
      Object[] arguments = new Object[maker.getParameterTypes().length];
      arguments[0] = field("pickledReadFunc").get(rows);
      arguments[1] = "read_from_data_source";
      arguments[2] = UserDefinedPythonDataSource.readInputSchema();
      arguments[3] = field("outputSchema").get(rows);
      arguments[4] = metrics;
      arguments[5] = field("jobArtifactUUID").get(rows);
      if (arguments.length == 7) { // not in Spark 4.0
        arguments[6] = field("sessionUUID").get(rows);
      }
      Object factory = maker.invoke(source, arguments);
      Object evaluator = ((PartitionEvaluatorFactory) factory).createEvaluator();
      Object runner = runner().newInstance(new Object[] {evaluator, new int[][] {{0}}});
      // One batch of one row: a struct, as Python expects, of the pickled partition.
      Object row = new GenericInternalRow(new Object[] {partition});
      Iterator only = Iterator$.MODULE$.single(new GenericInternalRow(new Object[] {row}));
      TaskContext context = TaskContext.get();
      structs =
          ((BasePythonRunner) runner)
              .compute(Iterator$.MODULE$.single(only), context.partitionId(), context);
    }

    public boolean next() {
      if (!structs.hasNext()) {
        return false;
      }
      ColumnarBatch whole = (ColumnarBatch) structs.next();
      ArrowColumnVector struct = (ArrowColumnVector) whole.column(0);
      ColumnVector[] columns = new ColumnVector[((StructType) struct.dataType()).length()];
      for (int i = 0; i < columns.length; i++) {
        columns[i] = new Column(struct.getChild(i));
      }
      batch = new ColumnarBatch(columns, whole.numRows());
      return true;
    }

    public Object get() {
      return batch;
    }

    public void close() {} // the task ends its Python worker and frees the vectors

    public CustomTaskMetric[] currentMetricsValues() {
      Map values = metrics;
      for (Iterator names = metrics.keysIterator(); names.hasNext(); ) {
        Object name = names.next();
        values = (Map) values.updated(name, ((AccumulatorV2) metrics.get(name).get()).value());
      }
      return source.createPythonTaskMetrics(values);
    }
  }

  /**
   * A column that is valid until the next batch. It wraps Spark's class for Arrow vectors:
   * operators that find that class expect vectors which outlive their batch.
   *
   * <p>Numbers, dates and times of 1 to 8 bytes, which Arrow stores as Spark does, are read from
   * the buffers: Spark's class takes two virtual calls and a second test for null per value.
   *
   * <p>A null reads as any value, also inside arrays, maps and structs. Some of Spark's generated
   * code reads a value before it asks for null, such as MapSort, which groups by maps. Of Spark's
   * columns only ArrowColumnVector throws then.
   */
  private static class Column extends ColumnVector {
    private final ArrowColumnVector vector;
    private final ArrowBuf data; // null if values have no fixed width
    private final ArrowBuf validity; // null if no value or every value is null
    private final boolean isVoid;
    private final boolean isShortDecimal;
    private final Column[] children; // of a struct or variant; elements of a list; entries of a map

    Column(ArrowColumnVector vector) {
      super(vector.dataType());
      this.vector = vector;
      ValueVector values = vector.getValueVector();
      isVoid = values instanceof NullVector;
      data = values instanceof BaseFixedWidthVector ? values.getDataBuffer() : null;
      validity = vector.hasNull() && !isVoid ? values.getValidityBuffer() : null;
      isShortDecimal =
          type instanceof DecimalType
              && ((DecimalType) type).precision() <= Decimal.MAX_LONG_DIGITS();
      if (values instanceof ListVector) { // a map is one
        ArrowColumnVector elements = new ArrowColumnVector(((ListVector) values).getDataVector());
        children = new Column[] {new Column(elements)};
      } else {
        children = new Column[values instanceof StructVector ? ((StructVector) values).size() : 0];
        for (int i = 0; i < children.length; i++) {
          children[i] = new Column(vector.getChild(i));
        }
      }
    }

    public void close() {} // the Arrow reader fills the vector again, and the task frees it

    public boolean hasNull() {
      return vector.hasNull();
    }

    public int numNulls() {
      return vector.numNulls();
    }

    public boolean isNullAt(int row) {
      return validity == null ? isVoid : !isSet(validity, row);
    }

    public boolean getBoolean(int row) {
      return isSet(data, row);
    }

    public byte getByte(int row) {
      return data.getByte((long) row);
    }

    public short getShort(int row) {
      return data.getShort((long) row * Short.BYTES);
    }

    public int getInt(int row) {
      return data.getInt((long) row * Integer.BYTES);
    }

    public long getLong(int row) {
      return data.getLong((long) row * Long.BYTES);
    }

    public float getFloat(int row) {
      return data.getFloat((long) row * Float.BYTES);
    }

    public double getDouble(int row) {
      return data.getDouble((long) row * Double.BYTES);
    }

    /** Decimals of 64 bits are read here: Spark's class makes a BigDecimal of each. */
    public Decimal getDecimal(int row, int precision, int scale) {
      if (!isShortDecimal || isNullAt(row)) {
        return vector.getDecimal(row, precision, scale);
      }
      return Decimal.createUnsafe(data.getLong((long) row * DECIMAL_BYTES), precision, scale);
    }

    public UTF8String getUTF8String(int row) {
      return vector.getUTF8String(row);
    }

    public byte[] getBinary(int row) {
      return vector.getBinary(row);
    }

    public ColumnarArray getArray(int row) {
      return isNullAt(row) ? null : new ColumnarArray(children[0], start(row), length(row));
    }

    public ColumnarMap getMap(int row) {
      Column[] sides = children[0].children;
      return isNullAt(row) ? null : new ColumnarMap(sides[0], sides[1], start(row), length(row));
    }

    public ColumnVector getChild(int ordinal) {
      return children[ordinal];
    }

    private int start(int row) {
      return ((ListVector) vector.getValueVector()).getElementStartIndex(row);
    }

    private int length(int row) {
      return ((ListVector) vector.getValueVector()).getElementEndIndex(row) - start(row);
    }

    private static boolean isSet(ArrowBuf bits, int row) {
      return (bits.getByte(row >> 3) >> (row & 7) & 1) != 0;
    }
  }
}
