package hudi_pyspark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.internal.SessionState;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Finds tables of Apache Hudi by the names that table functions are given, as the SQL of the active
 * session does.
 *
 * <p>Spark copies table functions into the sessions that it clones, so a function never keeps the
 * session in which it was registered: databases, catalogs and views are those of the session that
 * runs the query, or those of the view in which the function is called.
 */
public final class Names {
  private static final String SESSION_CATALOG = "spark_catalog";

  private Names() {}

  /** The state of the session that runs the query. */
  public static SessionState session() {
    return SparkSession.active().sessionState();
  }

  /**
   * The options of a read of a table.
   *
   * @param name with or without a database and a catalog
   * @throws Exception if there is no table of Apache Hudi with this name
   */
  public static Map find(String name) throws Exception {
    SessionState session = session();
    Seq given = CatalystSqlParser$.MODULE$.parseMultipartIdentifier(name);
    if (session.catalog().isTempView(given)) {
      throw new IllegalArgumentException("it is a temporary view here");
    }
    List parts = qualified(session.catalogManager(), CollectionConverters.asJava(given));
    CatalogPlugin catalog = session.catalogManager().catalog((String) parts.get(0));
    List rest = parts.subList(1, parts.size());
    if (catalog instanceof MountedTables) {
      return ((MountedTables) catalog).optionsOf((String[]) rest.toArray(new String[0]));
    }
    if (!SESSION_CATALOG.equalsIgnoreCase((String) parts.get(0)) || rest.size() != 2) {
      throw new IllegalArgumentException("no catalog has such tables: " + parts);
    }
    return Entries.optionsOf(entry(session.catalog(), (String) rest.get(0), (String) rest.get(1)));
  }

  private static CatalogTable entry(SessionCatalog catalog, String database, String table)
      throws Exception {
    TableIdentifier identifier = new TableIdentifier(table, Option.apply(database));
    CatalogTable entry = catalog.getTableMetadata(identifier);
    if (!Entries.isHudi(entry)) {
      throw new IllegalArgumentException("it is of another source");
    }
    return entry;
  }

  /** A name with its catalog and database, which Spark completes in the same way. */
  private static List qualified(CatalogManager manager, List given) {
    List current = new ArrayList();
    Seq ofView = AnalysisContext.get().catalogAndNamespace();
    if (ofView.isEmpty()) {
      current.add(manager.currentCatalog().name());
      current.addAll(Arrays.asList(manager.currentNamespace()));
    } else {
      current.addAll(CollectionConverters.asJava(ofView));
    }
    if (given.size() > 1) {
      current = isCatalog(manager, (String) given.get(0)) ? new ArrayList() : current.subList(0, 1);
    }
    List parts = new ArrayList(current);
    parts.addAll(given);
    return parts;
  }

  private static boolean isCatalog(CatalogManager manager, String name) {
    return manager.isCatalogRegistered(name);
  }
}
