package hudi_pyspark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The session catalog of Spark 4.2 and later, whose SQL has CHANGES.
 *
 * <p>Python reads the range of commits out of the text of Spark's range, see sql_options.py.
 */
public class ChangelogTables extends SessionTables {
  public Changelog loadChangelog(
      Identifier identifier, ChangelogContext context, CaseInsensitiveStringMap query)
      throws NoSuchTableException {
    Map options = new HashMap(ReadTable.ofQuery(query));
    options.put(Words.CHANGES, context.deduplicationMode() + " " + context.range());
    Table table = load(identifier, options);
    if (!(table instanceof ReadTable)) {
      return ((TableCatalog) delegate).loadChangelog(identifier, context, query);
    }
    return new Changes((ReadTable) table);
  }

  /** One row for each image, with the columns that Spark expects. */
  public static class Changes implements Changelog {
    private final ReadTable table; // whose options include those of the query

    private Changes(ReadTable table) {
      this.table = table;
    }

    public String name() {
      return table.name();
    }

    /** What plans show. */
    public String toString() {
      return "Changes(" + name() + ")";
    }

    public Column[] columns() {
      return table.columns();
    }

    public Map options() {
      return table.options();
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap query) {
      return table.newScanBuilder(CaseInsensitiveStringMap.empty());
    }

    public boolean containsCarryoverRows() {
      return false;
    }

    /** Spark asks for net changes alone, which Python refuses. */
    public boolean containsIntermediateChanges() {
      return false;
    }

    public boolean representsUpdateAsDeleteAndInsert() {
      return false;
    }
  }
}
