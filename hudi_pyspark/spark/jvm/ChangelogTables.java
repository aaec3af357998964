package hudi_pyspark;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.ChangelogRange;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The session catalog of Spark 4.2 and later, whose SQL has CHANGES. */
public class ChangelogTables extends SessionTables {
  public Changelog loadChangelog(
      Identifier identifier, ChangelogContext context, CaseInsensitiveStringMap query)
      throws NoSuchTableException {
    Map options = new HashMap(ReadTable.ofQuery(query));
    options.put(Words.CHANGES, text(context));
    Table table = load(identifier, options);
    if (!(table instanceof ReadTable)) {
      return ((TableCatalog) delegate).loadChangelog(identifier, context, query);
    }
    return new Changes((ReadTable) table);
  }

  /** A range of changes as sql_options.py reads it. */
  private static String text(ChangelogContext context) {
    Map changes = new TreeMap();
    changes.put("mode", String.valueOf(context.deduplicationMode()));
    ChangelogRange range = context.range();
    if (range instanceof ChangelogRange.VersionRange) {
      ChangelogRange.VersionRange versions = (ChangelogRange.VersionRange) range;
      changes.put("first", versions.startingVersion());
      changes.put("last", versions.endingVersion().orElse(null));
      changes.put("has_first", Boolean.valueOf(versions.startingBoundInclusive()));
      changes.put("has_last", Boolean.valueOf(versions.endingBoundInclusive()));
    } else if (!(range instanceof ChangelogRange.UnboundedRange)) {
      changes.put("other_range", String.valueOf(range));
    }
    return Json.write(changes);
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
