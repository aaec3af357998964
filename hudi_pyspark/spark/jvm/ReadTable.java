package hudi_pyspark;

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
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
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
  public static ReadTable open(final String label, Map options, Table entry) {
    PythonDataSourceV2 source =
        new PythonDataSourceV2() {
          public UserDefinedPythonDataSource source() {
            UserDefinedPythonDataSource found = CatalogSources.ALL.of(super.source());
            if (found == null) {
              throw new IllegalArgumentException(
                  String.format(Words.NO_SOURCE, new Object[] {label}));
            }
            return found;
          }
        };
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

  /** The option of a timestamp. */
  public static Map asOf(long micros) {
    return asOf(Instants.text(micros));
  }

  public String name() {
    return label;
  }

  /** What plans show. */
  public String toString() {
    return "ReadTable(" + label + ")";
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
    all.putAll(ofQuery(more));
    return with(all).newScanBuilder(new CaseInsensitiveStringMap(new HashMap()));
  }

  /** The options of a query, none of which has a name that only this package may give. */
  public static Map ofQuery(CaseInsensitiveStringMap options) {
    for (Object name : options.keySet()) {
      if (((String) name).startsWith(Words.INTERNAL)) { // in lower case
        throw new IllegalArgumentException(String.format(Words.NO_OPTION, new Object[] {name}));
      }
    }
    return options.asCaseSensitiveMap();
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
