package hudi_pyspark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * What a chain of nodes needs of the scan below it.
 *
 * <p>A chain begins with a Project or an Aggregate, whose result has only the columns that it
 * names, and continues with Filter, Sort and limits. Columns are left out, and structs lose fields,
 * only inside a chain: the node at its top gives every column the type that it had before. So no
 * node outside the chain sees the change. Attributes are identified by their exprId. Names are
 * unique only among the fields of the scan.
 */
public final class Need {
  /** All columns, whole, of all rows. */
  public static final Need WHOLE = new Need(null, new ArrayList(), -1, false, null);

  /** The same, by a node that takes rows better than columns. */
  public static final Need WHOLE_IN_ROWS = new Need(null, new ArrayList(), -1, true, null);

  private final List expressions; // that use the rows; null if all columns are needed whole
  public final List conditions; // that the plan above applies to every row
  public final int limit; // the number of rows that the plan above takes at most; -1 for all
  public final boolean isInRows; // whether the node above takes rows better than columns
  private final Chain chain;

  /** What the nodes of a chain share. */
  private static class Chain {
    final Parts.Nested nested; // null if structs stay whole
    AbstractPartialFunction rewriting; // of expressions over narrowed structs, or null

    Chain(Parts.Nested nested) {
      this.nested = nested;
    }
  }

  private Need(List expressions, List conditions, int limit, boolean isInRows, Chain chain) {
    this.expressions = expressions;
    this.conditions = conditions;
    this.limit = limit;
    this.isInRows = isInRows;
    this.chain = chain;
  }

  /** The need below an Aggregate that begins a chain. */
  public static Need below(LogicalPlan top, Parts.Nested nested) {
    List own = CollectionConverters.asJava(top.expressions());
    return new Need(own, new ArrayList(), -1, false, new Chain(nested));
  }

  /** The need below a Project that begins a chain. A Project keeps the number of rows. */
  public Need belowProject(LogicalPlan top, Parts.Nested nested) {
    List own = CollectionConverters.asJava(top.expressions());
    return new Need(own, new ArrayList(), limit, isInRows, new Chain(nested));
  }

  /** The need below the next node of the chain. */
  public Need and(LogicalPlan node, List newConditions, int newLimit) {
    List more = null;
    if (expressions != null) {
      more = new ArrayList(expressions);
      more.addAll(CollectionConverters.asJava(node.expressions()));
    }
    return new Need(more, newConditions, newLimit, false, chain);
  }

  /** The node of the chain with a changed child. */
  public LogicalPlan over(LogicalPlan node, LogicalPlan child) {
    if (child == node.children().head()) {
      return node;
    }
    ArrayList only = new ArrayList();
    only.add(child);
    LogicalPlan changed = (LogicalPlan) node.withNewChildren(seq(only));
    boolean isRetyped = chain != null && chain.rewriting != null;
    return isRetyped ? (LogicalPlan) changed.transformExpressions(chain.rewriting) : changed;
  }

  /** The columns of a narrow scan: its fields, and for each the attribute of the relation. */
  public static class Columns {
    public final List attributes = new ArrayList();
    public final List fields = new ArrayList();

    /**
     * Whether Spark needs no column. Then the only one is a placeholder, whose values are nulls.
     */
    public boolean isPlaceholder;

    public StructType schema() {
      return new StructType((StructField[]) fields.toArray(new StructField[0]));
    }
  }

  /**
   * The needed columns of a relation, whose structs have only the needed fields.
   *
   * @param output of the relation: the attributes of the fields of its scan, in order
   */
  public Columns columnsOf(List output, StructType stored) {
    Columns columns = new Columns();
    List attributes = columns.attributes;
    List fields = columns.fields;
    boolean isPruned = expressions != null && chain.nested != null;
    StructType pruned = isPruned ? chain.nested.pruned(stored, expressions) : stored;
    boolean isRetyped = false;
    for (int i = 0; i < output.size(); i++) {
      AttributeReference attribute = (AttributeReference) output.get(i);
      if (!isNeeded(attribute)) {
        continue;
      }
      StructField field = stored.fields()[i];
      DataType type = pruned.fields()[i].dataType();
      boolean isWhole = type.equals(field.dataType());
      attributes.add(isWhole ? attribute : attribute.withDataType(type));
      fields.add(new StructField(field.name(), type, field.nullable(), field.metadata()));
      isRetyped = isRetyped || !isWhole;
    }
    if (attributes.isEmpty()) {
      // A relation has at least one column.
      int smallest = smallest(output);
      attributes.add(output.get(smallest));
      fields.add(stored.fields()[smallest]);
      columns.isPlaceholder = true;
    }
    if (isRetyped) {
      chain.rewriting = chain.nested.over(columns.schema(), attributes);
    }
    return columns;
  }

  private boolean isNeeded(AttributeReference attribute) {
    for (int i = 0; expressions != null && i < expressions.size(); i++) {
      if (((Expression) expressions.get(i)).references().contains(attribute)) {
        return true;
      }
    }
    return expressions == null;
  }

  private static int smallest(List output) {
    int best = 0;
    for (int i = 1; i < output.size(); i++) {
      int size = ((AttributeReference) output.get(i)).dataType().defaultSize();
      best = size < ((AttributeReference) output.get(best)).dataType().defaultSize() ? i : best;
    }
    return best;
  }

  public static scala.collection.immutable.Seq seq(List items) {
    return CollectionConverters.asScala(items).toList();
  }
}
