package hudi_pyspark;

import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Option;

/**
 * Spark's own session catalog, in which entries of Apache Hudi, and paths as in hudi.`/path`, are
 * tables that this source reads.
 *
 * <p>Spark answers first, and every other entry is returned as Spark returns it. Of an entry of
 * Apache Hudi, only the entry can be made and dropped: FileGuard keeps the files.
 */
public class SessionTables extends DelegatingCatalogExtension {
  private CatalogManager manager;
  private FileGuard guard;

  /**
   * The table of an identifier: a ReadTable if this source reads it, else Spark's.
   *
   * @param time the option of an instant, of a range of changes, or of a stream; empty for the
   *     newest rows
   */
  protected Table load(Identifier identifier, Map time) throws NoSuchTableException {
    Map options = new HashMap(time);
    if (isPath(identifier)) {
      options.put("path", identifier.name());
      String label = Words.HUDI + ".`" + identifier.name() + "`";
      return ReadTable.open(label, options, null);
    }
    Table table = loadOfSpark(identifier);
    CatalogTable entry = hudiEntry(identifier, table);
    if (entry == null) {
      return table;
    }
    options.putAll(Entries.optionsOf(entry));
    String label = entry.identifier().unquotedString();
    if (FileGuard.isCalledBy(".DataFrameWriter.") && FileGuard.isCalledBy(".SparkSession.table(")) {
      throw ReadTable.readOnly(label, "saveAsTable"); // Spark would drop the entry next
    }
    return ReadTable.open(label, options, new V1Table(entry));
  }

  /** The table as Spark loads it. */
  private Table loadOfSpark(Identifier identifier) throws NoSuchTableException {
    try {
      return super.loadTable(identifier);
    } catch (AnalysisException error) { // there is no such table, or no such database
      String[] namespace = identifier.namespace();
      boolean isOfHudi = namespace.length == 1 && Entries.isHudi(namespace[0]);
      if (isOfHudi && FileGuard.isCalledBy(".RelationResolution.resolveRelation(")) {
        // Spark would take the name for a path next, and say that this source reads no paths.
        NoSuchTableException missing = new NoSuchTableException(identifier);
        error = new AnalysisException(missing.getErrorClass(), missing.messageParameters());
      }
      Platform.throwException(error);
      return null;
    }
  }

  private static boolean isPath(Identifier identifier) {
    String[] namespace = identifier.namespace();
    return namespace.length == 1
        && Entries.isHudi(namespace[0])
        && identifier.name().indexOf('/') >= 0 // which no name of an entry has
        && SQLConf.get().runSQLonFile();
  }

  /** The entry of a table that Spark has loaded, if it is of Apache Hudi; else null. */
  private CatalogTable hudiEntry(Identifier identifier, Table table) throws NoSuchTableException {
    CatalogTable entry = null;
    if (table instanceof V1Table) {
      entry = ((V1Table) table).v1Table();
    } else if (table instanceof PythonTable) {
      Option database = Option.apply(identifier.namespace()[0]);
      TableIdentifier name = new TableIdentifier(identifier.name(), database);
      try {
        entry = manager.v1SessionCatalog().getTableMetadata(name);
      } catch (NoSuchNamespaceException error) {
        throw new NoSuchTableException(identifier);
      }
    }
    return entry != null && Entries.isHudi(entry) ? entry : null;
  }

  /** Whether there is an entry of Apache Hudi, or a path. */
  public boolean isHudi(Identifier identifier) {
    try {
      return isPath(identifier) || hudiEntry(identifier, super.loadTable(identifier)) != null;
    } catch (NoSuchTableException error) {
      return false;
    }
  }

  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    return load(identifier, ReadTable.newest());
  }

  public Table loadTable(Identifier identifier, String version) throws NoSuchTableException {
    Table table = load(identifier, ReadTable.asOf(version));
    return table instanceof ReadTable ? table : super.loadTable(identifier, version);
  }

  public Table loadTable(Identifier identifier, long micros) throws NoSuchTableException {
    Table table = load(identifier, ReadTable.asOf(micros));
    return table instanceof ReadTable ? table : super.loadTable(identifier, micros);
  }

  /** Makes an entry of a table that exists. */
  public Table createTable(
      Identifier identifier, Column[] columns, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    if (!Entries.isHudi(properties.get("provider"))) {
      return super.createTable(identifier, columns, partitions, properties);
    }
    String label = identifier.toString();
    if (!properties.containsKey("location")) {
      String text = String.format(Words.NO_PATH, new Object[] {label});
      throw new IllegalArgumentException(text);
    }
    Map stored = new HashMap();
    for (Object name : properties.keySet()) {
      if (((String) name).startsWith("option.")) {
        stored.put(((String) name).substring(7), properties.get(name));
      }
    }
    StructType declared = new StructType();
    for (Column column : columns) {
      String comment = column.comment() == null ? "" : column.comment();
      declared = declared.add(column.name(), column.dataType(), true, comment);
    }
    Map options = new HashMap(Entries.optionOfNew(stored, declared));
    URI location = locationOf(identifier, (String) properties.get("location"));
    options.put("path", location.toString());
    ReadTable table = ReadTable.open(label, options, null);
    Map qualified = new HashMap(properties);
    qualified.put("location", new Path(location).toString());
    // Without partition columns: Spark would compare them with what a source infers, which is none.
    super.createTable(identifier, table.schema(), new Transform[0], qualified);
    return table;
  }

  /**
   * The location of an entry as Spark's catalog stores it, so that CREATE TABLE opens the table
   * that queries will read. Spark puts a relative location below the folder of the database.
   */
  private URI locationOf(Identifier identifier, String text) {
    Path given = new Path(text);
    SessionCatalog catalog = manager.v1SessionCatalog();
    URI location = catalog.makeQualifiedTablePath(given.toUri(), identifier.namespace()[0]);
    if (!given.isAbsolute() && !guard.hasFolder(new Path(location))) {
      Object[] names = {identifier, text, location};
      throw new IllegalArgumentException(String.format(Words.NO_FOLDER, names));
    }
    return location;
  }

  /** What plans show: the name that Spark's own catalog has there. */
  public String toString() {
    return String.valueOf(delegate);
  }

  public Table alterTable(Identifier identifier, TableChange[] changes)
      throws NoSuchTableException {
    if (isHudi(identifier)) {
      throw ReadTable.readOnly(identifier, "ALTER TABLE");
    }
    return super.alterTable(identifier, changes);
  }

  public void renameTable(Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    if (isHudi(from)) {
      throw ReadTable.readOnly(from, "ALTER TABLE RENAME");
    }
    super.renameTable(from, to);
  }

  public boolean dropTable(Identifier identifier) {
    guard.release(identifier.namespace()[0], identifier.name());
    return super.dropTable(identifier);
  }

  public boolean purgeTable(Identifier identifier) {
    guard.release(identifier.namespace()[0], identifier.name());
    return super.purgeTable(identifier);
  }

  public boolean dropNamespace(String[] namespace, boolean isCascading)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    if (namespace.length == 1) {
      guard.checkDatabase(namespace[0]);
    }
    return super.dropNamespace(namespace, isCascading);
  }

  /** Puts this catalog in the place of Spark's session catalog. */
  public void install(
      CatalogManager manager, ExternalCatalogWithListener metastore, Configuration hadoop)
      throws Exception {
    this.manager = manager;
    this.guard = FileGuard.of(metastore, hadoop);
    setDelegateCatalog((CatalogPlugin) Reflection.get(manager, "defaultSessionCatalog"));
    Reflection.set(manager, "defaultSessionCatalog", this);
  }

  /** Puts Spark's session catalog back into its place. */
  public void remove() throws Exception {
    if (Reflection.get(manager, "defaultSessionCatalog") == this) {
      Reflection.set(manager, "defaultSessionCatalog", delegate);
    }
  }
}
