package hudi_pyspark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A catalog that Python finds tables in: Glue, Unity, Polaris or a Hive Metastore. */
public class MountedTables implements TableCatalog {
  private String name;
  private Map settings;

  /**
   * Gives a session this catalog.
   *
   * @param settings options of each read, which say where the catalog is
   */
  public void install(CatalogManager manager, String name, Map settings) throws Exception {
    this.name = name;
    this.settings = settings;
    Object catalogs = Reflection.get(manager, "catalogs");
    ((scala.collection.mutable.HashMap) catalogs).put(name, this);
  }

  public void initialize(String name, CaseInsensitiveStringMap options) {}

  public String name() {
    return name;
  }

  /** What plans show. */
  public String toString() {
    return "MountedTables(" + name + ")";
  }

  /** The options of a read of a table, by the parts of its name. */
  public Map optionsOf(String[] parts) {
    Map options = new HashMap(settings);
    options.put("table", String.join(".", parts));
    return options;
  }

  private Table load(Identifier identifier, Map time) {
    List parts = new ArrayList(Arrays.asList(identifier.namespace()));
    parts.add(identifier.name());
    Map options = optionsOf((String[]) parts.toArray(new String[0]));
    options.putAll(time);
    String label = name + "." + options.get("table");
    return ReadTable.open(label, options, null);
  }

  public Table loadTable(Identifier identifier) {
    return load(identifier, ReadTable.newest());
  }

  public Table loadTable(Identifier identifier, String version) {
    return load(identifier, ReadTable.asOf(version));
  }

  public Table loadTable(Identifier identifier, long micros) {
    return load(identifier, ReadTable.asOf(micros));
  }

  public Identifier[] listTables(String[] namespace) {
    throw ReadTable.readOnly(name, "SHOW TABLES");
  }

  public Table createTable(
      Identifier identifier, StructType schema, Transform[] partitions, Map properties) {
    throw ReadTable.readOnly(identifier, "CREATE TABLE");
  }

  public Table alterTable(Identifier identifier, TableChange[] changes) {
    throw ReadTable.readOnly(identifier, "ALTER TABLE");
  }

  public boolean dropTable(Identifier identifier) {
    throw ReadTable.readOnly(identifier, "DROP TABLE");
  }

  public void renameTable(Identifier from, Identifier to) {
    throw ReadTable.readOnly(from, "ALTER TABLE RENAME");
  }
}
