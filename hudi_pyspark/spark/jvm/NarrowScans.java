package hudi_pyspark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Narrows each scan of this data source to the columns, and the fields of structs, that the query
 * needs.
 *
 * <p>Spark asks a Python data source for every column. This rule replaces the scan by a scan of a
 * narrower schema, as if the user had called .schema(...). Conditions and limits above the scan go
 * along with the source to the planning process: see Hints. Spark still applies both. See Need for
 * what may change in a plan, PlanCheck for the check that nothing else has changed, and Parts for
 * the parts that extend the rule.
 *
 * <p>If anything is unexpected, the plan stays as it was. Janino compiles this source in the
 * driver's JVM; it supports neither lambdas nor type inference for generics.
 */
public class NarrowScans extends Rule {
  private static final String ENCRYPTED = "spark.io.encryption.enabled";

  public final Parts parts = new Parts();
  private final IgnoredSettings ignoredSettings = new IgnoredSettings();

  /**
   * The context of the session, which optimizer.py sets. The rule asks it alone: after the end of
   * the session, SparkContext.getOrCreate() would make a context that no new session can replace.
   */
  public SparkContext context;

  public TreeNode apply(TreeNode plan) {
    LogicalPlan root = (LogicalPlan) plan;
    if (context.isStopped()) {
      return root; // Spark raises its own error
    }
    LogicalPlan narrowed = settled(root, narrowed(root));
    return narrowed == root ? root : withPartsOfPlans(root, narrowed);
  }

  private LogicalPlan narrowed(LogicalPlan root) {
    try {
      if (!isSet(Words.ENABLED, "true")) {
        return root;
      }
      LogicalPlan narrowed = visit(root, root, Need.WHOLE);
      String problem = PlanCheck.ofNarrowed(root, narrowed);
      if (problem.isEmpty()) {
        return narrowed;
      }
      Log.RULE.warn("columns are not pruned, since the narrowed plan is wrong: " + problem);
    } catch (Throwable error) {
      Log.RULE.info("columns are not pruned: " + error);
    }
    return root;
  }

  /** Lets streams read the narrowed schemas, and returns the plan that fits them. */
  private LogicalPlan settled(LogicalPlan root, LogicalPlan narrowed) {
    if (parts.microBatches == null) {
      return narrowed;
    }
    try {
      parts.microBatches.settle(narrowed);
      return narrowed;
    } catch (Throwable error) {
      Log.RULE.info("streams are not narrow: " + error); // the streams are unchanged
      return root;
    }
  }

  /** Applies the parts that need the whole plan. */
  private LogicalPlan withPartsOfPlans(LogicalPlan root, LogicalPlan narrowed) {
    try {
      if (parts.planTogether != null && !(root instanceof Subquery)) {
        parts.planTogether.accept(narrowed); // Spark may still change the plan of a subquery
      }
      if (parts.joinFilters == null) {
        return narrowed;
      }
      LogicalPlan joined = (LogicalPlan) parts.joinFilters.apply(narrowed);
      String problem = PlanCheck.ofJoined(narrowed, joined);
      if (problem.isEmpty()) {
        return joined;
      }
      Log.RULE.warn("scans are not filtered by joins, since the plan would be wrong: " + problem);
    } catch (Throwable error) {
      Log.RULE.info("scans are not filtered by joins: " + error);
    }
    return narrowed;
  }

  private static boolean isSet(String setting, String otherwise) {
    return SQLConf.get().getConfString(setting, otherwise).equals("true");
  }

  /** The plan with narrow scans; `need` is what the nodes above need of its rows. */
  private LogicalPlan visit(LogicalPlan root, LogicalPlan plan, Need need) throws Exception {
    List children = CollectionConverters.asJava(plan.children());
    if (children.isEmpty()) {
      return leaf(root, plan, need);
    }
    LogicalPlan child = (LogicalPlan) children.get(0);
    List none = new ArrayList();
    Need below = null;
    if (plan instanceof Project) {
      below = need.belowProject(plan, parts.nestedFields);
    } else if (plan instanceof Aggregate) {
      below = Need.below(plan, parts.nestedFields);
    } else if (plan instanceof Filter) {
      List conditions = new ArrayList(need.conditions);
      conditions.add(((Filter) plan).condition());
      below = need.and(plan, conditions, -1);
    } else if (plan instanceof LocalLimit || plan instanceof GlobalLimit) {
      // A condition above a limit does not hold below it.
      below = need.and(plan, none, smaller(need.limit, plan));
    } else if (plan instanceof Sort) {
      below = need.and(plan, need.conditions, -1);
    }
    if (below != null) {
      return below.over(plan, visit(root, child, below));
    }
    ArrayList changed = new ArrayList();
    boolean isChanged = false;
    // Spark's columnar results of UDFs support fewer types than its rows, e.g. no collated text.
    Need all = plan.nodeName().endsWith("EvalPython") ? Need.WHOLE_IN_ROWS : Need.WHOLE;
    for (int i = 0; i < children.size(); i++) {
      LogicalPlan visited = visit(root, (LogicalPlan) children.get(i), all);
      isChanged = isChanged || visited != children.get(i);
      changed.add(visited);
    }
    return isChanged ? (LogicalPlan) plan.withNewChildren(Need.seq(changed)) : plan;
  }

  private static int smaller(int limit, LogicalPlan plan) {
    Expression expression =
        plan instanceof LocalLimit
            ? ((LocalLimit) plan).limitExpr()
            : ((GlobalLimit) plan).limitExpr();
    if (!(expression instanceof Literal) || !(((Literal) expression).value() instanceof Integer)) {
      return limit;
    }
    int own = ((Integer) ((Literal) expression).value()).intValue();
    return limit < 0 ? own : Math.min(limit, own);
  }

  private LogicalPlan leaf(LogicalPlan root, LogicalPlan plan, Need need) throws Exception {
    if (plan instanceof DataSourceV2ScanRelation) {
      return narrow((DataSourceV2ScanRelation) plan, need);
    }
    return parts.microBatches == null ? plan : parts.microBatches.narrow(plan, need, root);
  }

  private LogicalPlan narrow(DataSourceV2ScanRelation relation, Need need) throws Exception {
    PythonScan scan = PythonScans.ours(relation.scan());
    if (scan == null) {
      return relation;
    }
    ignoredSettings.check(scan);
    if (PythonScans.hasPushedFilters(scan)) {
      // Spark may have dropped the conditions that it pushed, so the scan must not be replaced.
      return relation;
    }
    StructType stored = scan.readSchema();
    List output = CollectionConverters.asJava(relation.output());
    if (output.size() != stored.length()) {
      return relation;
    }
    Need.Columns columns = need.columnsOf(output, stored);
    Planned before = NarrowedScan.plannedOf(relation.scan());
    PythonDataSourceV2 source =
        before == null ? parts.keptScans.sourceOf(scan) : PythonScans.sourceOf(scan);
    boolean isPinned = before == null ? source != null : before.hints.containsKey(Words.PINNED);
    Map hints = hints(relation, need, isPinned);
    if (columns.isPlaceholder) {
      hints.put(Words.PLACEHOLDER, "true");
    }
    StructType schema = columns.schema();
    boolean isSame = before != null && before.hints.equals(hints);
    if (isSame && schema.json().equals(stored.json())) {
      // A new relation, since this one remembers that Spark's own rule could not filter the scan.
      Object[] same = {relation.scan()};
      return (LogicalPlan) Reflection.copy(relation, new String[] {"scan"}, same);
    }
    Scan narrowed = narrowed(relation.scan(), source, schema, hints, need.isInRows);
    Object[] values = {narrowed, Need.seq(columns.attributes)};
    return (LogicalPlan) Reflection.copy(relation, new String[] {"scan", "output"}, values);
  }

  /** The hints for the planning process. */
  private Map hints(DataSourceV2ScanRelation relation, Need need, boolean isPinned) {
    Map hints = new TreeMap();
    if (isPinned) {
      hints.put(Words.PINNED, "true");
    }
    if (!isSet(ENCRYPTED, "false")) {
      hints.put(Words.KEEPS, "true");
    }
    hints.put(Words.CORES, String.valueOf(context.defaultParallelism()));
    ArrayList own = new ArrayList();
    for (int i = 0; i < need.conditions.size(); i++) {
      Expression condition = (Expression) need.conditions.get(i);
      if (condition.references().subsetOf(relation.outputSet())) {
        own.add(condition); // texts name columns without exprId, so all must be of this relation
      }
    }
    String filters = parts.filterText == null ? "" : (String) parts.filterText.apply(own);
    if (!filters.isEmpty()) {
      hints.put(Words.FILTERS, filters);
    }
    if (need.limit >= 0) {
      hints.put(Words.LIMIT, String.valueOf(need.limit));
    }
    return hints;
  }

  /** The scan of a schema, which each source plans only once. */
  private Scan narrowed(
      Scan scan, PythonDataSourceV2 source, StructType schema, Map hints, boolean isInRows)
      throws Exception {
    Planned before = NarrowedScan.plannedOf(scan);
    PythonScan python = PythonScans.ours(scan);
    PythonDataSourceV2 current =
        source == null ? PythonScans.copy(PythonScans.sourceOf(python)) : source;
    boolean isColumnar =
        parts.columnar != null
            && !isInRows
            && isSet(Words.COLUMNAR, "true")
            && !PythonScans.hasArtifacts(); // then executors lack the jar
    String key = isColumnar + schema.json() + hints;
    Planned planned = parts.keptScans.find(current, key);
    if (planned == null) {
      int width = before == null ? python.readSchema().defaultSize() : before.width;
      Object made = before == null ? PythonScans.made(current, python) : before.made;
      planned = new Planned(python, made, schema, hints, width, parts, isColumnar);
      parts.keptScans.keep(current, key, planned);
    }
    return NarrowedScan.of(planned);
  }
}
