import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A catalog of tables in memory that MERGE can change, for one local Spark. */
public class MergeableTables implements TableCatalog {
  private static final Map<String, Rows> TABLES = new ConcurrentHashMap<>();
  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  public Identifier[] listTables(String[] namespace) {
    return new Identifier[0];
  }

  public Table loadTable(Identifier ident) throws NoSuchTableException {
    Rows table = TABLES.get(ident.toString());
    if (table == null) throw new NoSuchTableException(ident);
    return table;
  }

  public Table createTable(Identifier ident, TableInfo info) {
    Rows table = new Rows(ident.toString(), info.columns(), new HashMap<>(info.properties()));
    TABLES.put(ident.toString(), table);
    return table;
  }

  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    Rows table = (Rows) loadTable(ident);
    List<Column> columns = new ArrayList<>(Arrays.asList(table.columns));
    for (TableChange change : changes) {
      if (change instanceof TableChange.AddColumn) {
        TableChange.AddColumn added = (TableChange.AddColumn) change;
        columns.add(Column.create(added.fieldNames()[0], added.dataType(), added.isNullable()));
      } else if (change instanceof TableChange.SetProperty) {
        TableChange.SetProperty set = (TableChange.SetProperty) change;
        table.properties.put(set.property(), set.value());
      } else if (change instanceof TableChange.RemoveProperty) {
        table.properties.remove(((TableChange.RemoveProperty) change).property());
      } else {
        throw new UnsupportedOperationException(change.toString());
      }
    }
    table.columns = columns.toArray(new Column[0]);
    return table;
  }

  public boolean dropTable(Identifier ident) {
    return TABLES.remove(ident.toString()) != null;
  }

  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException();
  }

  static class Rows implements SupportsRead, SupportsWrite, SupportsRowLevelOperations {
    final String key;
    final Map<String, String> properties;
    Column[] columns;
    List<InternalRow> rows = new ArrayList<>();

    Rows(String key, Column[] columns, Map<String, String> properties) {
      this.key = key;
      this.columns = columns;
      this.properties = properties;
    }

    public String name() {
      return key;
    }

    public Column[] columns() {
      return columns;
    }

    public Map<String, String> properties() {
      return properties;
    }

    public Set<TableCapability> capabilities() {
      return Set.of(
          TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      StructType schema = CatalogV2Util.v2ColumnsToStructType(columns);
      return () -> new WholeScan(key, schema);
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return new Writing(key, false);
    }

    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
      return () ->
          new RowLevelOperation() {
            public Command command() {
              return info.command();
            }

            public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
              return Rows.this.newScanBuilder(options);
            }

            public WriteBuilder newWriteBuilder(LogicalWriteInfo written) {
              return new Writing(key, true);
            }
          };
    }
  }

  static class WholeScan implements Scan, Batch {
    final String key;
    final StructType schema;

    WholeScan(String key, StructType schema) {
      this.key = key;
      this.schema = schema;
    }

    public StructType readSchema() {
      return schema;
    }

    public Batch toBatch() {
      return this;
    }

    public InputPartition[] planInputPartitions() {
      return new InputPartition[] {new WholeTable(key)};
    }

    public PartitionReaderFactory createReaderFactory() {
      return new ReaderFactory();
    }
  }

  static class WholeTable implements InputPartition {
    final String key;

    WholeTable(String key) {
      this.key = key;
    }
  }

  static class ReaderFactory implements PartitionReaderFactory {
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      List<InternalRow> rows = TABLES.get(((WholeTable) partition).key).rows;
      return new PartitionReader<InternalRow>() {
        int place = -1;

        public boolean next() {
          return ++place < rows.size();
        }

        public InternalRow get() {
          return rows.get(place);
        }

        public void close() {}
      };
    }
  }

  static class Writing implements WriteBuilder, SupportsTruncate, Write, BatchWrite {
    final String key;
    boolean replaces;

    Writing(String key, boolean replaces) {
      this.key = key;
      this.replaces = replaces;
    }

    public WriteBuilder truncate() {
      replaces = true;
      return this;
    }

    public Write build() {
      return this;
    }

    public BatchWrite toBatch() {
      return this;
    }

    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new WriterFactory();
    }

    public void commit(WriterCommitMessage[] messages) {
      Rows table = TABLES.get(key);
      List<InternalRow> rows = new ArrayList<>(replaces ? List.of() : table.rows);
      for (WriterCommitMessage message : messages) rows.addAll(((Written) message).rows);
      table.rows = rows;
    }

    public void abort(WriterCommitMessage[] messages) {}
  }

  static class Written implements WriterCommitMessage {
    final ArrayList<InternalRow> rows = new ArrayList<>();
  }

  static class WriterFactory implements DataWriterFactory {
    public DataWriter<InternalRow> createWriter(int partition, long task) {
      Written written = new Written();
      return new DataWriter<InternalRow>() {
        public void write(InternalRow row) {
          written.rows.add(row.copy());
        }

        public WriterCommitMessage commit() {
          return written;
        }

        public void abort() {}

        public void close() {}
      };
    }
  }
}
