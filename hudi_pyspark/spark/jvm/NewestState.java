package hudi_pyspark;

import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.QueryPlanningTracker$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * Gives each query the newest state of its tables, the same one for all its scans of a table.
 *
 * <p>The life of a query. A DataFrame or a view holds the source that was loaded, with the state of
 * that moment. When one of its actions is optimized, the rule meets a scan of that source:
 *
 * <ol>
 *   <li>Has another scan of this query asked for this source? Then `queries` has the answer. A
 *       query is known by its planning tracker, which its subqueries share; without a tracker each
 *       scan is a query of its own.
 *   <li>Else `newest` has the last state that an earlier query saw, and a planning process is asked
 *       whether it still is the newest, or whether the query has a scan of the same table already,
 *       whose state this one must share.
 *   <li>If the table has not changed, its source stays, and with it the scans that it has planned.
 *       A copy of the source without planned scans takes its place only if slices that awaited
 *       their merge may have been merged since: `awaited` has their number when they were read, and
 *       if it is the same again these merges are too large to be kept.
 *   <li>If the table has changed, the process answers with a source of the new state, in Python's
 *       pickle, and it becomes the newest.
 * </ol>
 *
 * <p>All maps have weak keys: what belongs to a DataFrame or to a query ends with it. A map's
 * values never hold its own keys.
 */
public class NewestState extends KeptScans {
  /** The newest source that was seen, by the source that was loaded. */
  private final Map newest = new WeakHashMap();

  /** How many slices awaited their merge when a scan was read, by the source that came after. */
  private final Map awaited = new WeakHashMap();

  /** The sources that a query reads, by the loaded source and by the table, by planning tracker. */
  private final Map queries = new WeakHashMap();

  public synchronized PythonDataSourceV2 sourceOf(PythonScan scan) throws Exception {
    PythonDataSourceV2 loaded = PythonScans.sourceOf(scan);
    Map sources = sourcesOfQuery();
    PythonDataSourceV2 chosen = (PythonDataSourceV2) sources.get(loaded);
    if (chosen == null) {
      CaseInsensitiveStringMap options = (CaseInsensitiveStringMap) Reflection.get(scan, "options");
      String table = tableOf(options);
      try {
        chosen = newestOf(loaded, scan, options, (PythonDataSourceV2) sources.get(table));
      } catch (Throwable error) {
        Log.RULE.info("the newest state of a table is unknown: " + error);
        return null;
      }
      sources.put(loaded, chosen);
      if (!sources.containsKey(table)) {
        sources.put(table, chosen);
      }
    }
    return chosen;
  }

  private Map sourcesOfQuery() {
    Option tracker = QueryPlanningTracker$.MODULE$.get();
    Map sources = tracker.isDefined() ? (Map) queries.get(tracker.get()) : null;
    if (sources == null) {
      sources = new HashMap();
      if (tracker.isDefined()) {
        queries.put(tracker.get(), sources);
      }
    }
    return sources;
  }

  /** A name for scans that may be of one table; Python compares the options as well. */
  private static String tableOf(CaseInsensitiveStringMap options) {
    String path = String.valueOf(options.get("path"));
    String local = path.replaceFirst("^file:/+", "/").replaceAll("/+$", "");
    return local + "\n" + options.get("table");
  }

  /** Asks for the newest state of a table, or for the state of a source that shares it. */
  private PythonDataSourceV2 newestOf(
      PythonDataSourceV2 loaded,
      PythonScan scan,
      CaseInsensitiveStringMap options,
      PythonDataSourceV2 shared)
      throws Exception {
    loaded.getOrCreateDataSourceInPython(Words.SOURCE, options, Option.apply(scan.readSchema()));
    PythonDataSourceV2 last = (PythonDataSourceV2) newest.get(loaded);
    last = last == null ? loaded : last;
    String state = shared == null ? "" : Base64.getEncoder().encodeToString(bytesOf(shared));
    StructField[] question = {
      PythonScans.marked(scan.readSchema().fields()[0], Words.STATE, state)
    };
    PythonScan asked = PythonScans.withSchema(scan, last, new StructType(question));
    String answer = Planned.explained(asked.toBatch())[0];
    if (answer.isEmpty() && !isBetterPlanned(last)) {
      return last; // with the scans that are planned already
    }
    PythonDataSourceV2 fresh = PythonScans.copy(last);
    if (answer.isEmpty()) {
      awaited.put(fresh, awaitedWhenRead(last));
    } else {
      Object opened = Reflection.get(last, "dataSourceInPython");
      Object schema = opened.getClass().getMethod("schema").invoke(opened);
      Object created =
          opened
              .getClass()
              .getConstructors()[0]
              .newInstance(Base64.getDecoder().decode(answer), schema);
      Reflection.set(fresh, "dataSourceInPython", created);
    }
    newest.put(loaded, fresh);
    return fresh;
  }

  private static byte[] bytesOf(PythonDataSourceV2 source) throws Exception {
    Object inPython = Reflection.get(source, "dataSourceInPython");
    return (byte[]) inPython.getClass().getMethod("dataSource").invoke(inPython);
  }

  /** Whether a scan awaits merges of slices that may have been merged since. */
  private boolean isBetterPlanned(PythonDataSourceV2 source) {
    Map before = valuesOf(awaited, source);
    Map scans = scansOf(source);
    Object[] keys = scans.keySet().toArray();
    for (int i = 0; i < keys.length; i++) {
      Planned planned = (Planned) scans.get(keys[i]);
      String slices = planned.awaitingMerges();
      boolean isAsBefore = planned.isRead && slices.equals(before.get(keys[i]));
      if (!slices.equals("0") && !isAsBefore) {
        return true;
      }
    }
    return false;
  }

  /** How many slices await their merge in each scan that was read, by the key of the scan. */
  private Map awaitedWhenRead(PythonDataSourceV2 source) {
    Map all = new HashMap(valuesOf(awaited, source));
    Map scans = scansOf(source);
    Object[] keys = scans.keySet().toArray();
    if (all.size() + keys.length > 2 * MOST_SCANS) {
      all.clear();
    }
    for (int i = 0; i < keys.length; i++) {
      Planned planned = (Planned) scans.get(keys[i]);
      if (planned.isRead) {
        all.put(keys[i], planned.awaitingMerges());
      }
    }
    return all;
  }
}
