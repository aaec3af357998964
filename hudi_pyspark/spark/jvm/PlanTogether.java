package hudi_pyspark;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.jdk.javaapi.CollectionConverters;

/** Plans the scans of a query at the same time, each in a Python process. */
public class PlanTogether implements Consumer {
  public void accept(Object plan) {
    ConcurrentLinkedQueue waiting = new ConcurrentLinkedQueue();
    for (Object leaf : CollectionConverters.asJava(((LogicalPlan) plan).collectLeaves())) {
      if (leaf instanceof DataSourceV2ScanRelation) {
        Planned planned = NarrowedScan.plannedOf(((DataSourceV2ScanRelation) leaf).scan());
        if (planned != null && !waiting.contains(planned) && !planned.isStarted) {
          waiting.add(planned);
        }
      }
    }
    // A single scan is planned when Spark asks for its size or its partitions.
    boolean isTogether = waiting.size() > 1 && !PythonScans.hasArtifacts();
    int cores = Runtime.getRuntime().availableProcessors();
    for (int i = isTogether ? Math.min(waiting.size(), cores) : 0; i > 0; i--) {
      Thread thread = new Thread(new Planning(waiting), "hudi-py-planning"); // in this session
      thread.setDaemon(true);
      thread.start();
    }
  }

  private static class Planning implements Runnable {
    private final Queue waiting;

    Planning(Queue waiting) {
      this.waiting = waiting;
    }

    public void run() {
      for (Planned next = (Planned) waiting.poll(); next != null; next = (Planned) waiting.poll()) {
        try {
          next.answer();
        } catch (Throwable error) {
          Log.RULE.debug("a scan is not planned: " + error); // reading raises what is wrong
        }
      }
    }
  }
}
