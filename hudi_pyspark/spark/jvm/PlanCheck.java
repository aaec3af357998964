package hudi_pyspark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Checks that a rewritten plan computes the same result, without knowing how it was rewritten.
 * Spark's own validation of plans does not compare types.
 *
 * <p>Three things must hold. The output of the whole plan is unchanged. Each attribute that a node
 * reads is produced by a child, with the same exprId and the same type. Only a Project, an
 * Aggregate, a Filter, a Sort or a limit has a child with another output: any other node may
 * address columns by position, or use whole rows.
 */
public final class PlanCheck {
  private PlanCheck() {}

  /** The problem of a plan whose nodes must not have moved; "" if there is none. */
  public static String ofNarrowed(LogicalPlan before, LogicalPlan after) {
    String shape = shape(before, after);
    return shape.isEmpty() ? ofJoined(before, after) : shape;
  }

  /** The problem of a plan whose nodes may have moved; "" if there is none. */
  public static String ofJoined(LogicalPlan before, LogicalPlan after) {
    if (before == after) {
      return "";
    }
    if (!isSame(before.output(), after.output())) {
      return "the plan has another output";
    }
    Set problems = problems(after);
    problems.removeAll(problems.isEmpty() ? problems : problems(before)); // Spark's own
    return problems.isEmpty() ? "" : problems.iterator().next().toString();
  }

  private static String shape(LogicalPlan before, LogicalPlan after) {
    if (before == after) {
      return "";
    }
    List olds = CollectionConverters.asJava(before.children());
    List news = CollectionConverters.asJava(after.children());
    if (before.getClass() != after.getClass() || olds.size() != news.size()) {
      return before.nodeName() + " has become " + after.nodeName();
    }
    for (int i = 0; i < olds.size(); i++) {
      LogicalPlan old = (LogicalPlan) olds.get(i);
      LogicalPlan changed = (LogicalPlan) news.get(i);
      if (!isOfChain(before) && !isSame(old.output(), changed.output())) {
        return before.nodeName() + " has another input";
      }
      String below = shape(old, changed);
      if (!below.isEmpty()) {
        return below;
      }
    }
    return "";
  }

  private static boolean isOfChain(LogicalPlan node) {
    return node instanceof Project
        || node instanceof Aggregate
        || node instanceof Filter
        || node instanceof Sort
        || node instanceof LocalLimit
        || node instanceof GlobalLimit;
  }

  private static boolean isSame(
      scala.collection.immutable.Seq before, scala.collection.immutable.Seq after) {
    List olds = CollectionConverters.asJava(before);
    List news = CollectionConverters.asJava(after);
    boolean isSame = olds.size() == news.size();
    for (int i = 0; i < olds.size() && isSame; i++) {
      Attribute old = (Attribute) olds.get(i);
      Attribute changed = (Attribute) news.get(i);
      isSame =
          old == changed
              || old.exprId().equals(changed.exprId())
                  && old.name().equals(changed.name())
                  && old.dataType().equals(changed.dataType());
    }
    return isSame;
  }

  /** The attributes that a node reads although no child produces them with their type. */
  private static Set problems(LogicalPlan plan) {
    HashSet problems = new HashSet();
    ArrayList waiting = new ArrayList();
    waiting.add(plan);
    while (!waiting.isEmpty()) {
      LogicalPlan node = (LogicalPlan) waiting.remove(waiting.size() - 1);
      List children = CollectionConverters.asJava(node.children());
      waiting.addAll(children);
      if (!children.isEmpty()) {
        addProblems(node, children, problems);
      }
    }
    return problems;
  }

  private static void addProblems(LogicalPlan node, List children, Set problems) {
    Map types = new HashMap();
    for (int i = 0; i < children.size(); i++) {
      List output = CollectionConverters.asJava(((LogicalPlan) children.get(i)).output());
      for (int k = 0; k < output.size(); k++) {
        types.put(((Attribute) output.get(k)).exprId(), ((Attribute) output.get(k)).dataType());
      }
    }
    ArrayList waiting = new ArrayList(CollectionConverters.asJava(node.expressions()));
    while (!waiting.isEmpty()) {
      Expression expression = (Expression) waiting.remove(waiting.size() - 1);
      waiting.addAll(CollectionConverters.asJava(expression.children()));
      if (!(expression instanceof AttributeReference)) {
        continue;
      }
      AttributeReference read = (AttributeReference) expression;
      DataType type = (DataType) types.get(read.exprId());
      boolean isMissing = type == null && !node.producedAttributes().contains(read);
      if (isMissing || type != null && !isSameType(type, read.dataType())) {
        String what = isMissing ? " reads what no child has: " : " reads another type of ";
        problems.add(node.nodeName() + what + read.name() + "#" + read.exprId().id());
      }
    }
  }

  /** Joins and unions change what may be null, and Spark does not update every reference to it. */
  private static boolean isSameType(DataType produced, DataType read) {
    return produced.equals(read) || produced.asNullable().equals(read.asNullable());
  }
}
