package hudi_pyspark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.DropDatabasePreEvent;
import org.apache.spark.sql.catalyst.catalog.DropTablePreEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEventListener;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps Spark from deleting files of tables of Apache Hudi.
 *
 * <p>Spark deletes the files of a managed entry with the entry, and the folder of a database with
 * the database. The metastore tells this listener before it drops either, whichever session or
 * command asks. A managed entry becomes an external one, of which Spark deletes the entry alone; a
 * database that has entries or files of Apache Hudi is not dropped.
 */
public class FileGuard implements ExternalCatalogEventListener {
  private static final String PURGE = "external.table.purge"; // a metastore deletes files then
  private static final int DEPTH = 3; // of folders below the one of a database

  private final ExternalCatalog metastore;
  private final Configuration hadoop;

  private FileGuard(ExternalCatalog metastore, Configuration hadoop) {
    this.metastore = metastore;
    this.hadoop = hadoop;
  }

  /** The guard of a metastore, which alone holds it: a guard ends with the sessions it guards. */
  public static synchronized FileGuard of(
      ExternalCatalogWithListener metastore, Configuration hadoop) {
    for (Object listener : metastore.listeners()) {
      if (listener instanceof FileGuard) {
        return (FileGuard) listener;
      }
    }
    FileGuard guard = new FileGuard(metastore, hadoop);
    metastore.addListener(guard);
    return guard;
  }

  /** Stops a command: Spark catches what listeners throw, but for such errors of the JVM. */
  public static class Refusal extends LinkageError {
    public Refusal(String message) {
      super(message);
    }
  }

  public void onEvent(ExternalCatalogEvent event) {
    try {
      if (event instanceof DropTablePreEvent) {
        DropTablePreEvent drop = (DropTablePreEvent) event;
        release(drop.database(), drop.name());
      } else if (event instanceof DropDatabasePreEvent) {
        checkDatabase(((DropDatabasePreEvent) event).database());
      }
    } catch (Exception error) { // if the entry cannot be read, Spark must not drop it either
      throw new Refusal(error.getMessage());
    }
  }

  /** Whether a method of Spark is being executed, by a part of its line in a stack trace. */
  public static boolean isCalledBy(String method) {
    return Arrays.toString(Thread.currentThread().getStackTrace()).indexOf(method) >= 0;
  }

  /** Makes a managed entry of Apache Hudi external, so that its files outlive it. */
  public void release(String database, String name) {
    if (!metastore.databaseExists(database) || !metastore.tableExists(database, name)) {
      return;
    }
    CatalogTable entry = metastore.getTable(database, name);
    if (!Entries.isHudi(entry)) {
      return;
    }
    if (isCalledBy(".DataFrameWriter.")) {
      throw ReadTable.readOnly(database + "." + name, "saveAsTable");
    }
    try {
      if (!isExternal(entry)) {
        metastore.alterTable(external(entry));
      }
      if (!isExternal(metastore.getTable(database, name))) {
        throw new IllegalStateException("the metastore keeps it as a managed entry");
      }
    } catch (Exception error) {
      throw refused(Words.DROPS_FILES, database + "." + name, String.valueOf(error));
    }
  }

  private static boolean isExternal(CatalogTable entry) {
    Map properties = CollectionConverters.asJava(entry.properties());
    boolean isPurged = "true".equalsIgnoreCase(String.valueOf(properties.get(PURGE)));
    return entry.tableType().equals(CatalogTableType.EXTERNAL()) && !isPurged;
  }

  /** The entry as an external one, without formats, whose classes a metastore may not find. */
  private static CatalogTable external(CatalogTable entry) throws Exception {
    Map properties = new HashMap(CollectionConverters.asJava(entry.properties()));
    properties.remove(PURGE);
    Object kept = Map$.MODULE$.from(CollectionConverters.asScala(properties));
    Object[] none = {Option.empty(), Option.empty(), Option.empty()};
    String[] formats = {"inputFormat", "outputFormat", "serde"};
    Object storage = Reflection.copy(entry.storage(), formats, none);
    Object[] values = {CatalogTableType.EXTERNAL(), storage, kept};
    String[] parameters = {"tableType", "storage", "properties"};
    return (CatalogTable) Reflection.copy(entry, parameters, values);
  }

  /** Refuses to drop a database if Spark would delete files of Apache Hudi with it. */
  public void checkDatabase(String database) {
    if (!metastore.databaseExists(database)) {
      return;
    }
    for (Object name : CollectionConverters.asJava(metastore.listTables(database))) {
      if (Entries.isHudi(metastore.getTable(database, (String) name))) {
        throw refused(Words.DROPS_ENTRY, database, (String) name);
      }
    }
    Path folder = new Path(metastore.getDatabase(database).locationUri());
    String table = "";
    try {
      table = tableBelow(folder.getFileSystem(hadoop), folder, DEPTH);
    } catch (Exception error) {
      Log.RULE.info("the folder of database " + database + " cannot be listed: " + error);
    }
    if (!table.isEmpty()) {
      throw refused(Words.DROPS_FOLDER, database, table);
    }
  }

  /** Whether there is a folder; also if Hadoop cannot tell, since Python has other clients. */
  public boolean hasFolder(Path folder) {
    try {
      return folder.getFileSystem(hadoop).exists(folder);
    } catch (Exception error) {
      return true;
    }
  }

  /** Refuses to replace a folder that is, has, or is a part of a table of Apache Hudi. */
  public static void checkFolder(Path folder, Configuration hadoop) throws Exception {
    FileSystem files = folder.getFileSystem(hadoop);
    Path path = files.makeQualified(folder);
    for (Path above = path; above != null; above = above.getParent()) {
      if (files.exists(new Path(above, ".hoodie"))) {
        throw refused(Words.OVERWRITES, folder.toString(), above.toString());
      }
    }
    String table = files.exists(path) ? tableBelow(files, path, DEPTH) : "";
    if (!table.isEmpty()) {
      throw refused(Words.OVERWRITES, folder.toString(), table);
    }
  }

  private static UnsupportedOperationException refused(String text, String what, String why) {
    return new UnsupportedOperationException(String.format(text, new Object[] {what, why}));
  }

  /** The base path of a table in a folder, or in folders below it; "" if there is none. */
  private static String tableBelow(FileSystem files, Path folder, int depth) throws Exception {
    List folders = new ArrayList();
    for (FileStatus child : files.listStatus(folder)) {
      String name = child.getPath().getName();
      if (name.equals(".hoodie")) {
        return folder.toString();
      }
      if (child.isDirectory() && name.indexOf('=') < 0) { // no partition of another table
        folders.add(child.getPath());
      }
    }
    String table = "";
    for (int i = 0; i < folders.size() && depth > 0 && table.isEmpty(); i++) {
      table = tableBelow(files, (Path) folders.get(i), depth - 1);
    }
    return table;
  }
}
