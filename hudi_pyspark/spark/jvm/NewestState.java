package hudi_pyspark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.QueryPlanningTracker$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * Gives each query the newest state of its tables: the same state for all scans of a table.
 *
 * <p>The life of a query. A DataFrame or a view holds the loaded source, with the state of the
 * moment in which it was loaded. When Spark optimizes an action, the rule meets a scan of this
 * source:
 *
 * <ol>
 *   <li>If another scan of the query has asked for the source, `queries` has the answer. A query is
 *       identified by its planning tracker, which its subqueries share. Without a tracker each scan
 *       is a query of its own.
 *   <li>Otherwise `newest` has the state that the last query saw, and the rule asks a planning
 *       process whether it is still the newest. If the query already has a scan of the same table,
 *       the two must share one state.
 *   <li>If the table has not changed, the source stays, and with it the scans that it has planned.
 *       A copy without planned scans replaces it only if slices that awaited their merge may have
 *       been merged in the meantime. `awaited` has the number of these slices when they were read.
 *       If the number is still the same, their merges are too large to be kept.
 *   <li>If the table has changed, the process answers with a source of the new state, as Python
 *       pickles it. This source becomes the newest.
 * </ol>
 *
 * <p>All maps have weak keys, so an entry ends with its DataFrame or its query. The values of a map
 * never hold its keys.
 */
public class NewestState extends KeptScans {
  /** The newest known source, by the loaded source. */
  private final Map newest = new WeakHashMap();

  /** The number of slices that awaited their merge when a scan was read, by the next source. */
  private final Map awaited = new WeakHashMap();

  /** By planning tracker the sources that a query reads, by loaded source and by table. */
  private final Map queries = new WeakHashMap();

  public synchronized PythonDataSourceV2 sourceOf(PythonScan scan) throws Exception {
    PythonDataSourceV2 loaded = PythonScans.sourceOf(scan);
    Map sources = sourcesOfQuery();
    PythonDataSourceV2 chosen = (PythonDataSourceV2) sources.get(loaded);
    if (chosen == null) {
      CaseInsensitiveStringMap options = (CaseInsensitiveStringMap) Reflection.get(scan, "options");
      String table = tableOf(options);
      try {
        chosen = newestOf(loaded, scan, (PythonDataSourceV2) sources.get(table));
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
    return tracker.isDefined() ? valuesOf(queries, tracker.get()) : new HashMap();
  }

  /** A name that scans of one table share; Python also compares the options. */
  private static String tableOf(CaseInsensitiveStringMap options) {
    String path = String.valueOf(options.get("path"));
    String local = path.replaceFirst("^file:/+", "/").replaceAll("/+$", "");
    return local + "\n" + options.get("table");
  }

  /** The source with the newest state of a table, or with the state that it has to share. */
  private PythonDataSourceV2 newestOf(
      PythonDataSourceV2 loaded, PythonScan scan, PythonDataSourceV2 shared) throws Exception {
    PythonScans.made(loaded, scan);
    PythonDataSourceV2 last = (PythonDataSourceV2) newest.get(loaded);
    last = last == null ? loaded : last;
    Object made = PythonScans.made(last, scan);
    byte[] state = shared == null ? new byte[0] : PythonScans.pickleOf(madeOf(shared));
    Map question = Collections.singletonMap(Words.STATE, state);
    PythonScan stateScan = PythonScans.withHints(scan, made, scan.readSchema(), question);
    JsonNode answer = Answer.of(stateScan.toBatch()).get(Words.NEWEST);
    boolean isUnchanged = answer.isNull();
    if (isUnchanged && !isBetterPlanned(last)) {
      return last; // with its planned scans
    }
    PythonDataSourceV2 fresh = PythonScans.copy(last);
    if (isUnchanged) {
      awaited.put(fresh, awaitedWhenRead(last));
    } else {
      byte[] pickle = answer.binaryValue();
      fresh = PythonScans.holding(PythonScans.withPickle(made, pickle));
    }
    newest.put(loaded, fresh);
    return fresh;
  }

  private static Object madeOf(PythonDataSourceV2 source) throws Exception {
    return Reflection.get(source, "dataSourceInPython");
  }

  /** Whether a new plan may find slices merged that awaited their merge. */
  private boolean isBetterPlanned(PythonDataSourceV2 source) {
    Map before = valuesOf(awaited, source);
    Map scans = scansOf(source);
    for (Object key : scans.keySet()) {
      Planned planned = (Planned) scans.get(key);
      int slices = planned.awaitingMerges();
      boolean isAsBefore = planned.isRead && Integer.valueOf(slices).equals(before.get(key));
      if (slices > 0 && !isAsBefore) {
        return true;
      }
    }
    return false;
  }

  /** By the key of each scan that was read, the number of slices that await their merge. */
  private Map awaitedWhenRead(PythonDataSourceV2 source) {
    Map all = new HashMap(valuesOf(awaited, source));
    Map scans = scansOf(source);
    if (all.size() + scans.size() > 2 * MOST_SCANS) {
      all.clear();
    }
    for (Object key : scans.keySet()) {
      Planned planned = (Planned) scans.get(key);
      if (planned.isRead) {
        all.put(key, Integer.valueOf(planned.awaitingMerges()));
      }
    }
    return all;
  }
}
