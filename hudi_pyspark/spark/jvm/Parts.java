package hudi_pyspark;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractPartialFunction;

/**
 * The parts of the rule that may be missing. Each is compiled by itself, and is null if this Spark
 * lacks something that it needs. optimizer.py sets the parts, and says what is different without
 * each.
 */
public class Parts {
  /** FilterText: makes a text of a list of catalyst conditions, or of a predicate of a join. */
  public Function filterText;

  /** The sources of queries and their planned scans; NewestState replaces it. */
  public KeptScans keptScans = new KeptScans();

  /** JoinFilters: lets the joins of a plan filter its scans. */
  public UnaryOperator joinFilters;

  /** NestedFields: removes fields of structs. */
  public Nested nestedFields;

  /** MicroBatches: narrows the batches of streams. */
  public Streams microBatches;

  /** PlanTogether: plans the scans of a query at the same time. */
  public Consumer planTogether;

  /** ArrowReaders: gives a batch columnar readers. */
  public UnaryOperator columnar;

  /** Narrows structs. */
  public interface Nested {
    /** The schema with all its columns, without the nested fields that no expression uses. */
    StructType pruned(StructType stored, List expressions);

    /** A rewriting of expressions for attributes that now have the types of a narrower schema. */
    AbstractPartialFunction over(StructType schema, List attributes);
  }

  /** Narrows streams. */
  public interface Streams {
    /** The relation of a batch with the needed columns; any other leaf unchanged. */
    LogicalPlan narrow(LogicalPlan leaf, Need need, LogicalPlan root) throws Exception;

    /** Lets each stream of a plan read the columns of its relation in the plan. */
    void settle(LogicalPlan plan) throws Exception;
  }
}
