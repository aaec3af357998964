package hudi_pyspark;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/** Makes sources and scans of this data source. */
public final class PythonScans {
  /** The Python classes that are registered under a second name, hudi; Python adds them. */
  public static final Set SECOND_NAMES = Collections.newSetFromMap(new WeakHashMap());

  private PythonScans() {}

  /** The Python scan of a scan that Spark or this rule made; null if it is of another source. */
  public static PythonScan ours(Scan scan) throws Exception {
    Planned planned = NarrowedScan.plannedOf(scan);
    if (planned != null) {
      return planned.scan;
    }
    if (!(scan instanceof PythonScan)) {
      return null;
    }
    Object name = Reflection.get(scan, "shortName");
    boolean isOurs =
        Words.SOURCE.equals(name)
            || Words.HUDI.equals(name)
                && SECOND_NAMES.contains(sourceOf((PythonScan) scan).source());
    return isOurs ? (PythonScan) scan : null;
  }

  /** The source of a scan, which holds the state of the table that Python has loaded. */
  public static PythonDataSourceV2 sourceOf(PythonScan scan) throws Exception {
    return (PythonDataSourceV2) Reflection.get(scan, "ds");
  }

  /** Whether Spark has pushed conditions to a scan, and may have dropped them from the plan. */
  public static boolean hasPushedFilters(PythonScan scan) throws Exception {
    if (constructor().getParameterTypes().length == 4) {
      return false; // Spark 4.0 pushes no conditions
    }
    Object[] pushed = (Object[]) Reflection.get(scan, "supportedFilters");
    return pushed.length > 0;
  }

  private static Constructor constructor() {
    return PythonScan.class.getDeclaredConstructors()[0];
  }

  /** A source with the same state of the table, and without plans. */
  public static PythonDataSourceV2 copy(PythonDataSourceV2 source) throws Exception {
    return holding(Reflection.get(source, "dataSourceInPython"));
  }

  /** A source without plans that holds what Python made. */
  public static PythonDataSourceV2 holding(Object made) throws Exception {
    PythonDataSourceV2 fresh = new PythonDataSourceV2();
    fresh.setShortName(Words.SOURCE);
    Reflection.set(fresh, "dataSourceInPython", made);
    return fresh;
  }

  /** What Python makes for the source of a scan: its own source, pickled, and the schema. */
  public static Object made(PythonDataSourceV2 source, PythonScan scan) throws Exception {
    CaseInsensitiveStringMap options = (CaseInsensitiveStringMap) Reflection.get(scan, "options");
    String name = (String) Reflection.get(scan, "shortName");
    return source.getOrCreateDataSourceInPython(name, options, Option.apply(scan.readSchema()));
  }

  /** The pickled source in what Python made. */
  public static byte[] pickleOf(Object made) throws Exception {
    return (byte[]) made.getClass().getMethod("dataSource").invoke(made);
  }

  /** What Python made, with another pickled source. */
  public static Object withPickle(Object made, byte[] pickle) throws Exception {
    Object schema = made.getClass().getMethod("schema").invoke(made);
    return made.getClass().getConstructors()[0].newInstance(pickle, schema);
  }

  /** The scan of another schema, over a new source that holds what Python made, with hints. */
  public static PythonScan withHints(PythonScan scan, Object made, StructType schema, Map hints)
      throws Exception {
    PythonDataSourceV2 source = holding(withPickle(made, Hints.added(pickleOf(made), hints)));
    Class[] types = constructor().getParameterTypes();
    Object[] known = {source, Words.SOURCE, schema, Reflection.get(scan, "options")};
    Object[] arguments = Arrays.copyOf(known, types.length);
    for (int i = known.length; i < types.length; i++) {
      if (!types[i].isArray()) {
        throw new IllegalStateException("PythonScan has an unknown parameter: " + types[i]);
      }
      arguments[i] = Reflection.get(scan, "supportedFilters");
    }
    return (PythonScan) constructor().newInstance(arguments);
  }

  /** Whether the session has files of its own, which Spark sends to executors and workers. */
  public static boolean hasArtifacts() {
    try {
      Class artifacts = Class.forName("org.apache.spark.JobArtifactSet");
      Object state = artifacts.getMethod("getCurrentJobArtifactState").invoke(null);
      return !((Option) state).isEmpty();
    } catch (Exception error) {
      return true;
    }
  }
}
