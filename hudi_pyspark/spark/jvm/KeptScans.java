package hudi_pyspark;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;

/** Narrowed scans, so that a second action of a DataFrame does not plan again. */
public class KeptScans {
  public static final int MOST_SCANS = 100; // of each source

  /** Scans by source and schema. */
  private final Map scans = new WeakHashMap();

  /**
   * The source with the state of the table that a query reads, here the one that was loaded. Null
   * if that cannot be found out: then planning does, and raises what is wrong.
   */
  public PythonDataSourceV2 sourceOf(PythonScan scan) throws Exception {
    return PythonScans.sourceOf(scan);
  }

  /** The scan of a source that was kept under a key, or null. */
  public synchronized Planned find(PythonDataSourceV2 source, String key) {
    return (Planned) scansOf(source).get(key);
  }

  /** Keeps a scan. A DataFrame that is asked for many keys, one after the other, has very many. */
  public synchronized void keep(PythonDataSourceV2 source, String key, Planned planned) {
    Map kept = scansOf(source);
    if (kept.size() == MOST_SCANS) {
      kept.clear();
    }
    kept.put(key, planned);
  }

  /** The scans of a source by their keys. */
  protected Map scansOf(PythonDataSourceV2 source) {
    return valuesOf(scans, source);
  }

  /** What a map has for a source; an empty map at first. */
  protected static Map valuesOf(Map sources, PythonDataSourceV2 source) {
    Map values = (Map) sources.get(source);
    if (values == null) {
      values = new HashMap();
      sources.put(source, values);
    }
    return values;
  }
}
