package hudi_pyspark;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractPartialFunction;

/**
 * The parts of the rule that may be missing, each compiled by itself; null if this Spark lacks what
 * a part needs. optimizer.py sets them, and says what changes without each of them.
 */
public class Parts {
  /** From a list of catalyst conditions, or from a predicate of a join, to a text: FilterText. */
  public Function filterText;

  /** What is known of sources and their scans; replaced by NewestState. */
  public KeptScans keptScans = new KeptScans();

  /** From a plan to one whose joins filter scans: JoinFilters. */
  public UnaryOperator joinFilters;

  /** Takes fields out of structs: NestedFields. */
  public Nested nestedFields;

  /** Narrows the batches of streams: MicroBatches. */
  public Streams microBatches;

  /** Plans the scans of a query at the same time: PlanTogether. */
  public Consumer planTogether;

  /** From a batch to one with columnar readers: ArrowReaders. */
  public UnaryOperator columnar;

  /** What a query needs of structs. */
  public interface Nested {
    /** The schema without the nested fields that no expression uses; its columns stay. */
    StructType pruned(StructType stored, List expressions);

    /** A rewriting of expressions over attributes of a relation that have the types of a schema. */
    AbstractPartialFunction over(StructType schema, List attributes);
  }

  /** What a query needs of streams. */
  public interface Streams {
    /** A relation that reads what is needed of a batch; any other leaf as it is. */
    LogicalPlan narrow(LogicalPlan leaf, Need need, LogicalPlan root) throws Exception;

    /** Lets each stream of a plan read what its relation in this plan has. */
    void settle(LogicalPlan plan) throws Exception;
  }
}
