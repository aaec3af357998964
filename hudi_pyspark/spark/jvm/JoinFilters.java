package hudi_pyspark;

import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.optimizer.PruneFilters$;
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.dynamicpruning.CleanupDynamicPruningFilters$;
import org.apache.spark.sql.execution.dynamicpruning.PartitionPruning$;
import scala.Function1;
import scala.collection.Iterator;
import scala.runtime.AbstractPartialFunction;

/**
 * Lets Spark filter a scan by the keys of the other side of a join, once that side is broadcast.
 * Spark's own rule runs before narrowed scans exist, so this runs the rule again. See NarrowedScan
 * for what a scan does with the keys.
 */
public class JoinFilters implements UnaryOperator {
  // More than the limit, since Spark estimates rows by the bytes of files, before conditions.
  private static final int LIKELY_KEYS = 5 * NarrowedScan.MOST_KEYS;

  public Object apply(Object narrowed) {
    LogicalPlan plan = (LogicalPlan) narrowed;
    if (plan.containsPattern(TreePattern$.MODULE$.DYNAMIC_PRUNING_SUBQUERY())) {
      return plan; // the joins of this plan filter its scans already
    }
    try {
      NarrowedScan.JOINS.set(Boolean.TRUE);
      LogicalPlan joined = PartitionPruning$.MODULE$.apply(plan);
      if (!joined.containsPattern(TreePattern$.MODULE$.DYNAMIC_PRUNING_SUBQUERY())) {
        return plan;
      }
      joined = (LogicalPlan) joined.transformAllExpressions(new WithoutManyKeys());
      joined = (LogicalPlan) PushDownPredicates$.MODULE$.apply(joined);
      joined = (LogicalPlan) CleanupDynamicPruningFilters$.MODULE$.apply(joined);
      joined = (LogicalPlan) PruneFilters$.MODULE$.apply(joined);
      return areAboveScans(joined) ? joined : plan;
    } finally {
      NarrowedScan.JOINS.remove();
    }
  }

  /**
   * Whether each filter by keys is right above a scan, which takes it. Spark keeps a filter above a
   * projection whose expression two filters use; a task that evaluates such a filter itself,
   * without generated code, does not have the keys.
   */
  private static boolean areAboveScans(LogicalPlan plan) {
    if (!plan.containsPattern(TreePattern$.MODULE$.DYNAMIC_PRUNING_SUBQUERY())) {
      return true;
    }
    if (plan instanceof Filter) {
      Filter filter = (Filter) plan;
      boolean hasKeys =
          filter.condition().containsPattern(TreePattern$.MODULE$.DYNAMIC_PRUNING_SUBQUERY());
      LogicalPlan below = filter.child();
      if (hasKeys && !(below instanceof DataSourceV2ScanRelation || below instanceof Filter)) {
        return false;
      }
    }
    Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      if (!areAboveScans((LogicalPlan) children.next())) {
        return false;
      }
    }
    return true;
  }

  /** Drops conditions with probably too many keys, since Spark collects all keys in the driver. */
  private static class WithoutManyKeys extends AbstractPartialFunction {
    public boolean isDefinedAt(Object expression) {
      if (!(expression instanceof DynamicPruningSubquery)) {
        return false;
      }
      LogicalPlan keys = ((DynamicPruningSubquery) expression).buildQuery();
      double width = 8 + keys.schema().defaultSize(); // of a row, as Spark estimates it
      return keys.stats().sizeInBytes().toDouble() / width > LIKELY_KEYS;
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      return isDefinedAt(expression) ? Literal$.MODULE$.TrueLiteral() : otherwise.apply(expression);
    }
  }
}
