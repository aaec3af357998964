package hudi_pyspark;

import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.optimizer.PruneFilters$;
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.dynamicpruning.CleanupDynamicPruningFilters$;
import org.apache.spark.sql.execution.dynamicpruning.PartitionPruning$;
import scala.Function1;
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
      return PruneFilters$.MODULE$.apply(joined);
    } finally {
      NarrowedScan.JOINS.remove();
    }
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
