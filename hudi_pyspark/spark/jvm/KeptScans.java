package hudi_pyspark;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;

/** Keeps narrowed scans, so that a second action of a DataFrame does not plan them again. */
public class KeptScans {
  public static final int MOST_SCANS = 100; // of each source

  /** Scans by source and schema. */
  private final Map scans = new WeakHashMap();

  /**
   * The source with the state that a query reads: here the loaded one. Null if the state cannot be
   * determined; planning then meets the same problem and raises an error.
   */
  public PythonDataSourceV2 sourceOf(PythonScan scan) throws Exception {
    return PythonScans.sourceOf(scan);
  }

  /** The scan that a source keeps under a key, or null. */
  public synchronized Planned find(PythonDataSourceV2 source, String key) {
    return (Planned) scansOf(source).get(key);
  }

  /** Keeps a scan. A DataFrame with many look-ups of keys has many scans, so all may be dropped. */
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

  /** The value of a key in a map of maps; an empty map is added if there is none. */
  protected static Map valuesOf(Map maps, Object key) {
    Map values = (Map) maps.get(key);
    if (values == null) {
      values = new HashMap();
      maps.put(key, values);
    }
    return values;
  }
}
