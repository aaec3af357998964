package hudi_pyspark;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Warns of settings of the session that a query would heed if a Python data source saw them.
 *
 * <p>The rule has one such object, so each setting is named once per session, when the first query
 * ignores it. Settings that are there before the session is registered are named by Python as well.
 */
public class IgnoredSettings {
  private final String[] names = Words.SETTINGS.split(",");
  private final Set named = ConcurrentHashMap.newKeySet();

  /** Warns of each setting that is also an option of reads, unless the scan has this option. */
  public void check(PythonScan scan) throws Exception {
    CaseInsensitiveStringMap options = (CaseInsensitiveStringMap) Reflection.get(scan, "options");
    SQLConf settings = SQLConf.get();
    for (int i = 0; i < names.length; i++) {
      String name = names[i];
      if (settings.contains(name) && !options.containsKey(name) && named.add(name)) {
        Log.RULE.warn(String.format(Words.IGNORED, new Object[] {name}));
      }
    }
  }
}
