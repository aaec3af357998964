package hudi_pyspark;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;

/**
 * The Python sources with which catalogs read, each beside the source that a session has under the
 * name of the package. No read can name them, and only they take the options of SQL.
 *
 * <p>Sources are compared by identity. Two registrations may be equal to each other, but sessions
 * end one by one: a map of equal keys would keep the first key, and forget the entry with it.
 */
public final class CatalogSources {
  /** All sources of the process, which are forgotten with the sessions; Python adds them. */
  public static final CatalogSources ALL = new CatalogSources();

  /** Pairs of a weak reference to the source of a session, and the source of its catalogs. */
  private final List pairs = new ArrayList();

  /** Adds the source with which catalogs read in the sessions that have a registered source. */
  public synchronized void add(Object registered, Object source) {
    for (Iterator remaining = pairs.iterator(); remaining.hasNext(); ) {
      Object other = registeredOf((Object[]) remaining.next());
      if (other == null || other == registered) {
        remaining.remove();
      }
    }
    pairs.add(new Object[] {new WeakReference(registered), source});
  }

  /** The source with which catalogs read; null if nobody added one for the registered source. */
  public synchronized UserDefinedPythonDataSource of(Object registered) {
    for (int i = 0; i < pairs.size(); i++) {
      Object[] pair = (Object[]) pairs.get(i);
      if (registeredOf(pair) == registered) {
        return (UserDefinedPythonDataSource) pair[1];
      }
    }
    return null;
  }

  private static Object registeredOf(Object[] pair) {
    return ((WeakReference) pair[0]).get();
  }
}
