package hudi_pyspark;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.QueryPlanningTracker$;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.ProjectionOverSchema;
import org.apache.spark.sql.catalyst.expressions.SchemaPruning$;
import org.apache.spark.sql.catalyst.optimizer.PruneFilters$;
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$;
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
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.dynamicpruning.CleanupDynamicPruningFilters$;
import org.apache.spark.sql.execution.dynamicpruning.PartitionPruning$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.Option;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractPartialFunction;

/**
 * Gives each scan of this data source only the columns that the query needs above it, and of
 * structs only the fields.
 *
 * <p>Spark asks a Python data source for every column. This rule replaces the scan by one of a
 * narrower schema, as if the user had called .schema(...). A stream keeps its scan, which knows the
 * offsets, but the readers of its batches get the narrower schema. Conditions and limits above the
 * scan are written into the metadata of the schema's first field, where the planning process reads
 * them: they are hints, and Spark still applies both. For joins, a scan knows the bytes of its
 * rows, and the keys of a broadcast side become one more condition of the other. Where possible the
 * scan has columnar readers; see ArrowReaders. Whatever is unexpected leaves the plan as it was.
 *
 * <p>Compiled in the driver's JVM by Janino, which knows no lambdas and no generic inference.
 */
public class NarrowScans extends Rule {
  public static final String ENABLED = "spark.hudi-py.optimizer.enabled";
  /** Bytes of a scan's rows from which the keys of joins filter it: see leastBytes. */
  public static final String JOINED = "spark.hudi-py.optimizer.joins.leastBytes";
  public static final String COLUMNAR = "spark.hudi-py.columnar.enabled";
  public static final String FILTERS = "hudi-py.filters";
  public static final String LIMIT = "hudi-py.limit";
  public static final String PLACEHOLDER = "hudi-py.placeholder";
  public static final String PINNED = "hudi-py.pinned";
  public static final String KEEPS = "hudi-py.keeps";
  public static final String CORES = "hudi-py.cores";
  public static final String STATE = "hudi-py.state";

  private static final Logger LOG = LoggerFactory.getLogger("hudi_pyspark.NarrowScans");
  private static final String SOURCE = "hudi-py";
  private static final String ENCRYPTED = "spark.io.encryption.enabled";
  private static final String EXPLAINED = "\0hudi-py\0";
  private static final int MOST_SCANS = 100; // that are kept for each DataFrame
  private static final int MOST_KEYS = 10000; // of a join, which filter a scan
  // Spark estimates rows by bytes of files, before conditions.
  private static final int LIKELY_KEYS = 5 * MOST_KEYS;
  private static final String[] COMPARISONS = {
    "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"
  };
  private static final String[] SIGNS = {" = ", " <=> ", " < ", " <= ", " > ", " >= "};

  /** Set while joins may filter scans: Spark's own rule would see scans of subqueries alone. */
  private static final ThreadLocal JOINS = new ThreadLocal();

  /** Narrowed scans by data source and schema, so that a second action does not plan again. */
  private final Map known = new WeakHashMap();

  /** Sources with the newest known state of their table, by the source of a DataFrame or a view. */
  private final Map newest = new WeakHashMap();

  /** How many slices awaited their merge when a scan was read, by the source that came after. */
  private final Map awaited = new WeakHashMap();

  /** The sources that a query reads: all its scans of a table read one state. */
  private final Map queries = new WeakHashMap();

  /** Gives a batch columnar readers; null where this Spark, or its executors, cannot have them. */
  public UnaryOperator columnar;

  public TreeNode apply(TreeNode plan) {
    try {
      if (!SQLConf.get().getConfString(ENABLED, "true").equals("true")) {
        return plan;
      }
      LogicalPlan root = (LogicalPlan) plan;
      LogicalPlan narrowed = visit(root, root, null, new ArrayList(), -1);
      if (!(root instanceof Subquery)) { // what becomes of that is not known yet
        planTogether(narrowed);
      }
      return withRuntimeFilters(narrowed);
    } catch (Throwable error) {
      LOG.info("columns are not pruned: " + error);
      return plan;
    }
  }

  /**
   * Has Spark filter a scan by the keys of what it is joined with, once these are broadcast. Its
   * own rule for that runs before the scans here can be filtered.
   */
  private static LogicalPlan withRuntimeFilters(LogicalPlan plan) {
    if (plan.containsPattern(TreePattern$.MODULE$.DYNAMIC_PRUNING_SUBQUERY())) {
      return plan; // it has been here already
    }
    try {
      JOINS.set(Boolean.TRUE);
      LogicalPlan joined = PartitionPruning$.MODULE$.apply(plan);
      if (!joined.containsPattern(TreePattern$.MODULE$.DYNAMIC_PRUNING_SUBQUERY())) {
        return plan;
      }
      joined = (LogicalPlan) joined.transformAllExpressions(new WithoutManyKeys());
      joined = (LogicalPlan) PushDownPredicates$.MODULE$.apply(joined);
      joined = (LogicalPlan) CleanupDynamicPruningFilters$.MODULE$.apply(joined);
      return (LogicalPlan) PruneFilters$.MODULE$.apply(joined);
    } catch (Throwable error) {
      LOG.info("scans are not filtered by joins: " + error);
      return plan;
    } finally {
      JOINS.remove();
    }
  }

  /** Less is read sooner than keys are collected and the scan is planned again. */
  private static long leastBytes() {
    return Long.parseLong(SQLConf.get().getConfString(JOINED, "8388608"));
  }

  /** Drops conditions whose keys are likely too many: Spark collects all of them for the driver. */
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

  /** Plans the scans of a query at the same time, each in a Python process. */
  private static void planTogether(LogicalPlan plan) {
    ConcurrentLinkedQueue waiting = new ConcurrentLinkedQueue();
    List leaves = CollectionConverters.asJava(plan.collectLeaves());
    for (int i = 0; i < leaves.size(); i++) {
      if (leaves.get(i) instanceof DataSourceV2ScanRelation) {
        Planned planned = plannedOf(((DataSourceV2ScanRelation) leaves.get(i)).scan());
        if (planned != null && !waiting.contains(planned) && !planned.isStarted) {
          waiting.add(planned);
        }
      }
    }
    // A scan alone is planned when its size or its files are asked for.
    int cores = Runtime.getRuntime().availableProcessors();
    boolean isTogether =
        waiting.size() > 1 && JobArtifactSet.getCurrentJobArtifactState().isEmpty();
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
          next.explained();
        } catch (Throwable error) {
          LOG.debug("a scan is not planned: " + error); // reading raises what is wrong
        }
      }
    }
  }

  /**
   * @param root the whole plan
   * @param needed expressions above that look at the rows; null where all columns are needed whole
   * @param conditions catalyst conditions above, which the plan above applies to every row
   * @param limit rows that the plan above takes at most; -1 for all
   */
  private LogicalPlan visit(
      LogicalPlan root, LogicalPlan plan, List needed, List conditions, int limit)
      throws Exception {
    if (plan instanceof DataSourceV2ScanRelation) {
      return narrow((DataSourceV2ScanRelation) plan, needed, conditions, limit);
    }
    if (plan instanceof StreamingDataSourceV2ScanRelation) {
      return narrow((StreamingDataSourceV2ScanRelation) plan, needed, root);
    }
    List children = CollectionConverters.asJava(plan.children());
    LogicalPlan child = children.size() == 1 ? (LogicalPlan) children.get(0) : null;
    List none = new ArrayList();
    if (plan instanceof Project || plan instanceof Aggregate) {
      List own = CollectionConverters.asJava(plan.expressions());
      return with(plan, visit(root, child, own, none, plan instanceof Project ? limit : -1));
    }
    if (plan instanceof Filter) {
      List more = new ArrayList(conditions);
      more.add(((Filter) plan).condition());
      return with(plan, visit(root, child, and(needed, plan), more, -1));
    }
    if (plan instanceof LocalLimit || plan instanceof GlobalLimit) {
      // What is filtered above a limit must not be left out below it.
      return with(plan, visit(root, child, and(needed, plan), none, smaller(limit, plan)));
    }
    if (plan instanceof Sort) {
      return with(plan, visit(root, child, and(needed, plan), conditions, -1));
    }
    ArrayList changed = new ArrayList();
    boolean isChanged = false;
    for (int i = 0; i < children.size(); i++) {
      LogicalPlan visited = visit(root, (LogicalPlan) children.get(i), null, none, -1);
      isChanged = isChanged || visited != children.get(i);
      changed.add(visited);
    }
    return isChanged ? (LogicalPlan) plan.withNewChildren(seq(changed)) : plan;
  }

  private static List and(List needed, LogicalPlan plan) {
    if (needed == null) {
      return null;
    }
    ArrayList more = new ArrayList(needed);
    more.addAll(CollectionConverters.asJava(plan.expressions()));
    return more;
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

  private LogicalPlan narrow(
      DataSourceV2ScanRelation relation, List needed, List conditions, int limit) throws Exception {
    PythonScan scan = pythonScan(relation.scan());
    if (scan == null || !SOURCE.equals(get(scan, "shortName")) || hasPushedFilters(scan)) {
      // Spark may have dropped the conditions of pushed filters: it must not plan a second time.
      return relation;
    }
    StructType stored = scan.readSchema();
    ArrayList attributes = new ArrayList();
    ArrayList fields = new ArrayList();
    choose(CollectionConverters.asJava(relation.output()), stored, needed, attributes, fields);
    String filters = (String) exactly(new Translation(conditions));
    boolean isFirst = plannedOf(relation.scan()) == null;
    PythonDataSourceV2 source = isFirst ? sourceOf(scan) : (PythonDataSourceV2) get(scan, "ds");
    if (isFirst ? source != null : stored.apply(0).metadata().contains(PINNED)) {
      fields.set(0, marked((StructField) fields.get(0), PINNED, "true"));
    }
    if (!SQLConf.get().getConfString(ENCRYPTED, "false").equals("true")) {
      fields.set(0, marked((StructField) fields.get(0), KEEPS, "true"));
    }
    String cores = String.valueOf(SparkContext.getOrCreate().defaultParallelism());
    fields.set(0, marked((StructField) fields.get(0), CORES, cores));
    if (!filters.isEmpty()) {
      fields.set(0, marked((StructField) fields.get(0), FILTERS, filters));
    }
    if (limit >= 0) {
      fields.set(0, marked((StructField) fields.get(0), LIMIT, String.valueOf(limit)));
    }
    StructType schema = new StructType((StructField[]) fields.toArray(new StructField[0]));
    if (schema.json().equals(stored.json())) {
      // A new relation does not remember that Spark's own rule could not filter this scan.
      return copy(relation, 1, relation.scan(), -1, null);
    }
    return copy(relation, 1, narrowed(relation.scan(), source, schema), 2, seq(attributes));
  }

  /** The relation of a batch; its stream stays, since it counts rows and knows the offsets. */
  private static LogicalPlan narrow(
      StreamingDataSourceV2ScanRelation relation, List needed, LogicalPlan root) throws Exception {
    if (!(relation.scan() instanceof PythonScan)
        || !SOURCE.equals(get(relation.scan(), "shortName"))
        || relation.startOffset().isEmpty()
        || scansOf(relation.stream(), root) != 1) {
      return relation;
    }
    Object stream = relation.stream();
    StructType stored = relation.scan().readSchema();
    ArrayList attributes = new ArrayList();
    ArrayList fields = new ArrayList();
    choose(CollectionConverters.asJava(relation.output()), stored, needed, attributes, fields);
    StructType schema = new StructType((StructField[]) fields.toArray(new StructField[0]));
    StructType current = (StructType) get(stream, "outputSchema");
    if (!schema.json().equals(current.json())) {
      // The reader is made anew. The data source keeps one, and other streams may share it.
      // The schema comes last: where another Spark lacks a field, the stream is as it was.
      set(stream, "bitmap$0", Boolean.FALSE);
      set(stream, "ds", copy((PythonDataSourceV2) get(stream, "ds")));
      set(stream, "outputSchema", schema);
    }
    return copy(relation, 2, seq(attributes), -1, null);
  }

  private static int scansOf(Object stream, LogicalPlan root) {
    List leaves = CollectionConverters.asJava(root.collectLeaves());
    int count = 0;
    for (int i = 0; i < leaves.size(); i++) {
      if (leaves.get(i) instanceof StreamingDataSourceV2ScanRelation
          && ((StreamingDataSourceV2ScanRelation) leaves.get(i)).stream() == stream) {
        count++;
      }
    }
    return count;
  }

  /** Adds the attributes that are needed, and their fields, without nested fields that are not. */
  private static void choose(
      List output, StructType stored, List needed, List attributes, List fields) {
    StructType pruned = needed == null ? stored : withoutUnusedFields(stored, needed);
    for (int i = 0; i < output.size(); i++) {
      AttributeReference attribute = (AttributeReference) output.get(i);
      if (needed == null || isReferenced(attribute, needed)) {
        StructField field = stored.apply(attribute.name());
        DataType type = pruned.apply(attribute.name()).dataType();
        attributes.add(type.equals(attribute.dataType()) ? attribute : typed(attribute, type));
        fields.add(new StructField(field.name(), type, field.nullable(), field.metadata()));
      }
    }
    if (attributes.isEmpty()) {
      // No query of Spark is without columns: the smallest comes along, as nulls that nobody reads.
      AttributeReference smallest = smallest(output);
      attributes.add(smallest);
      fields.add(marked(stored.apply(smallest.name()), PLACEHOLDER, "true"));
    }
  }

  private static boolean isReferenced(AttributeReference attribute, List expressions) {
    for (int i = 0; i < expressions.size(); i++) {
      if (((Expression) expressions.get(i)).references().contains(attribute)) {
        return true;
      }
    }
    return false;
  }

  private static StructType withoutUnusedFields(StructType stored, List expressions) {
    if (!SQLConf.get().nestedSchemaPruningEnabled()) {
      return stored;
    }
    scala.collection.immutable.Seq none = seq(new ArrayList());
    scala.collection.immutable.Seq roots =
        SchemaPruning$.MODULE$.identifyRootFields(none, seq(expressions));
    return roots.isEmpty() ? stored : SchemaPruning$.MODULE$.pruneSchema(stored, roots);
  }

  private static AttributeReference typed(AttributeReference attribute, DataType type) {
    return new AttributeReference(
        attribute.name(),
        type,
        attribute.nullable(),
        attribute.metadata(),
        attribute.exprId(),
        attribute.qualifier());
  }

  private static boolean hasPushedFilters(PythonScan scan) throws Exception {
    Object[] pushed = (Object[]) get(scan, "supportedFilters");
    return pushed != null && pushed.length > 0;
  }

  private static StructField marked(StructField field, String key, String value) {
    MetadataBuilder metadata = new MetadataBuilder().withMetadata(field.metadata());
    metadata.putString(key, value);
    return new StructField(field.name(), field.dataType(), field.nullable(), metadata.build());
  }

  private static AttributeReference smallest(List output) {
    AttributeReference best = (AttributeReference) output.get(0);
    for (int i = 1; i < output.size(); i++) {
      AttributeReference other = (AttributeReference) output.get(i);
      best = other.dataType().defaultSize() < best.dataType().defaultSize() ? other : best;
    }
    return best;
  }

  /**
   * The source with the state that this query reads: the newest one, and the same for all its scans
   * of a table. Null if that cannot be found out: then planning does, and raises what is wrong.
   */
  private synchronized PythonDataSourceV2 sourceOf(PythonScan scan) throws Exception {
    PythonDataSourceV2 loaded = (PythonDataSourceV2) get(scan, "ds");
    // Of a subquery, too, which is optimized by itself.
    Option tracker = QueryPlanningTracker$.MODULE$.get();
    Map sources = tracker.isDefined() ? (Map) queries.get(tracker.get()) : null;
    if (sources == null) {
      sources = new HashMap();
      if (tracker.isDefined()) {
        queries.put(tracker.get(), sources);
      }
    }
    PythonDataSourceV2 chosen = (PythonDataSourceV2) sources.get(loaded);
    if (chosen == null) {
      CaseInsensitiveStringMap options = (CaseInsensitiveStringMap) get(scan, "options");
      String path = String.valueOf(options.get("path"));
      try {
        chosen = newest(loaded, scan, options, (PythonDataSourceV2) sources.get(path));
      } catch (Throwable error) {
        LOG.info("the newest state of a table is unknown: " + error);
        return null;
      }
      sources.put(loaded, chosen);
      if (!sources.containsKey(path)) {
        sources.put(path, chosen);
      }
    }
    return chosen;
  }

  /** Asks the source for the newest state of its table, or gives it that of another one. */
  private PythonDataSourceV2 newest(
      PythonDataSourceV2 loaded,
      PythonScan scan,
      CaseInsensitiveStringMap options,
      PythonDataSourceV2 shared)
      throws Exception {
    loaded.getOrCreateDataSourceInPython(SOURCE, options, Option.apply(scan.readSchema()));
    PythonDataSourceV2 last = (PythonDataSourceV2) newest.get(loaded);
    last = last == null ? loaded : last;
    String state = shared == null ? "" : Base64.getEncoder().encodeToString(bytesOf(shared));
    StructField[] question = {marked(scan.readSchema().apply(0), STATE, state)};
    PythonScan asked = planAnew(scan, last, new StructType(question));
    String answer = explained(asked.toBatch())[0];
    if (answer.isEmpty() && !isBetterPlanned(last)) {
      return last; // with the scans that are planned already
    }
    PythonDataSourceV2 fresh = copy(last);
    if (answer.isEmpty()) {
      awaited.put(fresh, awaitedWhenRead(last));
    } else {
      Object opened = get(last, "dataSourceInPython");
      Object schema = opened.getClass().getMethod("schema").invoke(opened);
      set(
          fresh,
          "dataSourceInPython",
          opened
              .getClass()
              .getConstructors()[0]
              .newInstance(Base64.getDecoder().decode(answer), schema));
    }
    newest.put(loaded, fresh);
    return fresh;
  }

  /**
   * Whether a scan awaits merges of slices that have been merged since, maybe. Not where it was read
   * twice while the same number awaited theirs: these merges are too large to be kept.
   */
  private boolean isBetterPlanned(PythonDataSourceV2 source) {
    Map before = valuesOf(awaited, source);
    Map scans = valuesOf(known, source);
    Object[] keys = scans.keySet().toArray();
    for (int i = 0; i < keys.length; i++) {
      Planned planned = (Planned) scans.get(keys[i]);
      String slices = planned.awaitingMerges();
      boolean isAsBefore = planned.isRead && slices.equals(before.get(keys[i]));
      if (!slices.equals("0") && !isAsBefore) {
        return true;
      }
    }
    return false;
  }

  /** How many slices await their merge in each scan that was read, by its schema. */
  private Map awaitedWhenRead(PythonDataSourceV2 source) {
    Map before = valuesOf(awaited, source);
    Map scans = valuesOf(known, source);
    Map all = before.size() >= MOST_SCANS ? new HashMap() : new HashMap(before);
    Object[] keys = scans.keySet().toArray();
    for (int i = 0; i < keys.length; i++) {
      Planned planned = (Planned) scans.get(keys[i]);
      if (planned.isRead) {
        all.put(keys[i], planned.awaitingMerges());
      }
    }
    return all;
  }

  /** What a map has for a source, by schema; an empty map at first. */
  private static Map valuesOf(Map sources, PythonDataSourceV2 source) {
    Map values = (Map) sources.get(source);
    if (values == null) {
      values = new HashMap();
      sources.put(source, values);
    }
    return values;
  }

  private static byte[] bytesOf(PythonDataSourceV2 source) throws Exception {
    Object inPython = get(source, "dataSourceInPython");
    return (byte[]) inPython.getClass().getMethod("dataSource").invoke(inPython);
  }

  private synchronized Scan narrowed(Scan scan, PythonDataSourceV2 current, StructType schema)
      throws Exception {
    Planned before = plannedOf(scan);
    PythonScan python = pythonScan(scan);
    PythonDataSourceV2 source =
        current == null ? copy((PythonDataSourceV2) get(python, "ds")) : current;
    Map scans = valuesOf(known, source);
    // Executors lack the jar where a session has its own artifacts.
    boolean isColumnar =
        columnar != null
            && SQLConf.get().getConfString(COLUMNAR, "true").equals("true")
            && JobArtifactSet.getCurrentJobArtifactState().isEmpty();
    String key = isColumnar + schema.json();
    Planned found = (Planned) scans.get(key);
    if (found == null) {
      int width = before == null ? scan.readSchema().defaultSize() : before.width;
      found = new Planned(python, source, schema, width, isColumnar ? columnar : null);
      if (scans.size() == MOST_SCANS) {
        scans.clear(); // of a DataFrame that is asked for many keys, one after the other
      }
      scans.put(key, found);
    }
    return Narrowed.of(found);
  }

  /** The scan of a Python source, also of one that this rule has made; null for others. */
  private static PythonScan pythonScan(Scan scan) {
    Planned planned = plannedOf(scan);
    if (planned != null) {
      return planned.scan;
    }
    return scan instanceof PythonScan ? (PythonScan) scan : null;
  }

  /** What is shared by scans that this rule has made; null for others. */
  private static Planned plannedOf(Scan scan) {
    if (!Proxy.isProxyClass(scan.getClass())) {
      return null;
    }
    InvocationHandler handler = Proxy.getInvocationHandler(scan);
    return handler instanceof Narrowed ? ((Narrowed) handler).planned : null;
  }

  /** A scan of a schema, which plans once. */
  private static class Planned {
    final PythonScan scan;
    final int width; // of a row with all columns, as Spark estimates it
    private final UnaryOperator columnar;
    volatile boolean isStarted;
    volatile boolean isRead;
    private Batch batch;
    private String[] explained;

    Planned(
        PythonScan scan,
        PythonDataSourceV2 source,
        StructType schema,
        int width,
        UnaryOperator columnar)
        throws Exception {
      this.scan = planAnew(scan, source, schema);
      this.width = width;
      this.columnar = columnar;
    }

    synchronized Batch batch() {
      isStarted = true;
      if (batch == null) {
        batch = columnar == null ? scan.toBatch() : (Batch) columnar.apply(scan.toBatch());
      }
      return batch;
    }

    /** The same scan with one more condition. */
    Planned where(String filter) throws Exception {
      StructField[] fields = (StructField[]) scan.readSchema().fields().clone();
      boolean isFirst = !fields[0].metadata().contains(FILTERS);
      String before = isFirst ? "" : fields[0].metadata().getString(FILTERS) + "\n";
      fields[0] = marked(fields[0], FILTERS, before + filter);
      PythonDataSourceV2 source = (PythonDataSourceV2) get(scan, "ds");
      return new Planned(scan, source, new StructType(fields), width, columnar);
    }

    /** How many slices await their merge: with fewer, another plan may be better. */
    String awaitingMerges() {
      try {
        return isStarted ? explained()[2] : "0";
      } catch (Exception error) {
        LOG.debug("a scan is not planned: " + error); // reading raises what is wrong
        return "0";
      }
    }

    /** The row bytes, explanation and awaited merges, which the first partition carries. */
    synchronized String[] explained() throws Exception {
      explained = explained == null ? NarrowScans.explained(batch()) : explained;
      return explained;
    }

    /** The bytes of the rows with all columns; -1 where they are unknown. */
    long bytes() {
      try {
        return Long.parseLong(explained()[0]);
      } catch (Exception error) {
        LOG.debug("the size of the scan is unknown: " + error); // reading raises what is wrong
        return -1;
      }
    }

    OptionalLong size() {
      // As Spark's file sources do, which read some columns of files.
      double share = Math.min(1, (double) scan.readSchema().defaultSize() / width);
      double factor = SQLConf.get().fileCompressionFactor() * share;
      return bytes() < 0 ? OptionalLong.empty() : OptionalLong.of((long) (bytes() * factor));
    }

    /** Adds the lines of the explanation. */
    Object withFacts(Object metadata) {
      scala.collection.immutable.Map facts = (scala.collection.immutable.Map) metadata;
      try {
        String[] lines = explained()[1].split("\n");
        for (int i = 0; i < lines.length; i++) {
          String label = Character.toUpperCase(lines[i].charAt(0)) + lines[i].substring(1, 10);
          String fact = lines[i].substring(10).trim();
          facts = (scala.collection.immutable.Map) facts.updated(label.trim(), fact);
        }
      } catch (Exception error) {
        LOG.debug("the scan is not explained: " + error); // reading raises what is wrong
      }
      return facts;
    }
  }

  /**
   * A scan that EXPLAIN FORMATTED shows with what it reads, whose size Spark knows when it chooses
   * joins, and which the keys of a join filter.
   */
  private static class Narrowed
      implements InvocationHandler,
          Batch,
          Statistics,
          SupportsReportStatistics,
          SupportsRuntimeV2Filtering {
    final Planned planned;
    private Planned filtered; // by the keys of joins

    Narrowed(Planned planned) {
      this.planned = planned;
      this.filtered = planned;
    }

    static Scan of(Planned planned) {
      ArrayList interfaces = new ArrayList(Arrays.asList(PythonScan.class.getInterfaces()));
      interfaces.add(SupportsReportStatistics.class);
      interfaces.add(SupportsRuntimeV2Filtering.class);
      return (Scan)
          Proxy.newProxyInstance(
              PythonScan.class.getClassLoader(),
              (Class[]) interfaces.toArray(new Class[0]),
              new Narrowed(planned));
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      String name = method.getName();
      if (name.equals("equals")) {
        return Boolean.valueOf(proxy == arguments[0]);
      }
      if (name.equals("columnarSupportMode") && planned.columnar != null) {
        return Scan.ColumnarSupportMode.SUPPORTED;
      }
      try {
        Class declaring = method.getDeclaringClass();
        if (declaring.isInstance(this) && !declaring.isInstance(planned.scan)) {
          return method.invoke(this, arguments);
        }
        if (name.equals("toBatch")) {
          return this;
        }
        Object answer = method.invoke(planned.scan, arguments);
        return name.equals("getMetaData") ? planned.withFacts(answer) : answer;
      } catch (InvocationTargetException error) {
        throw error.getCause();
      }
    }

    public StructType readSchema() {
      return planned.scan.readSchema();
    }

    public Statistics estimateStatistics() {
      return this;
    }

    public OptionalLong sizeInBytes() {
      return planned.size();
    }

    public OptionalLong numRows() {
      return OptionalLong.empty();
    }

    public NamedReference[] filterAttributes() {
      StructField[] fields = readSchema().fields();
      ArrayList columns = new ArrayList();
      boolean isFiltered = JOINS.get() != null && planned.bytes() >= leastBytes();
      for (int i = 0; i < fields.length && isFiltered; i++) {
        DataType type = fields[i].dataType();
        // A join takes 0.0 for -0.0, which a filter does not.
        boolean isFloat = type instanceof DoubleType || type instanceof FloatType;
        if (type instanceof AtomicType && !isFloat) {
          columns.add(FieldReference.column(fields[i].name()));
        }
      }
      return (NamedReference[]) columns.toArray(new NamedReference[0]);
    }

    public void filter(Predicate[] predicates) {
      try {
        Planned chosen = planned;
        for (int i = 0; i < predicates.length; i++) {
          boolean isShort = predicates[i].children().length <= MOST_KEYS;
          String text = isShort ? (String) exactly(new Translation(predicates[i])) : null;
          chosen = text == null || text.indexOf('\n') >= 0 ? chosen : chosen.where(text);
        }
        filtered = chosen;
      } catch (Throwable error) {
        LOG.info("a scan is not filtered by a join: " + error);
      }
    }

    // Spark plans the partitions once the keys are known, and only then asks for the reader.
    public InputPartition[] planInputPartitions() {
      return filtered.batch().planInputPartitions();
    }

    public PartitionReaderFactory createReaderFactory() {
      planned.isRead = true; // also where the keys of a join filter it
      return filtered.batch().createReaderFactory();
    }

    /** Two scans that were planned as one are the same to Spark, which compares their filters. */
    public boolean equals(Object other) {
      return other instanceof Narrowed && ((Narrowed) other).planned == planned;
    }

    public int hashCode() {
      return planned.hashCode();
    }
  }

  /** The texts that the first partition carries. */
  private static String[] explained(Batch batch) {
    Object first = batch.planInputPartitions()[0];
    String pickle =
        new String(((PythonInputPartition) first).pickedPartition(), StandardCharsets.UTF_8);
    int begin = pickle.indexOf(EXPLAINED) + EXPLAINED.length();
    return pickle.substring(begin).split("\0", 4);
  }

  /** A source that has not planned yet, and no reader. */
  private static PythonDataSourceV2 copy(PythonDataSourceV2 source) throws Exception {
    PythonDataSourceV2 fresh = new PythonDataSourceV2();
    fresh.setShortName(SOURCE);
    set(fresh, "dataSourceInPython", get(source, "dataSourceInPython"));
    return fresh;
  }

  /** The same scan over a separate source. */
  private static PythonScan planAnew(PythonScan scan, PythonDataSourceV2 source, StructType schema)
      throws Exception {
    Constructor constructor = PythonScan.class.getDeclaredConstructors()[0];
    Class[] types = constructor.getParameterTypes();
    Object[] arguments = new Object[types.length];
    arguments[0] = copy(source);
    arguments[1] = SOURCE;
    arguments[2] = schema;
    arguments[3] = get(scan, "options");
    for (int i = 4; i < types.length; i++) {
      if (!types[i].isArray()) {
        throw new IllegalStateException("PythonScan has an unknown parameter: " + types[i]);
      }
      arguments[i] = get(scan, "supportedFilters");
    }
    return (PythonScan) constructor.newInstance(arguments);
  }

  /** A copy of a relation; its other parameters differ between releases. */
  private static LogicalPlan copy(
      LogicalPlan relation, int first, Object firstValue, int second, Object secondValue)
      throws Exception {
    Method[] methods = relation.getClass().getMethods();
    for (int m = 0; m < methods.length; m++) {
      Method method = methods[m];
      if (!method.getName().equals("copy")) {
        continue;
      }
      Object[] arguments = new Object[method.getParameterTypes().length];
      for (int i = 0; i < arguments.length; i++) {
        Method current = relation.getClass().getMethod("copy$default$" + (i + 1));
        arguments[i] = current.invoke(relation);
      }
      arguments[first] = firstValue;
      if (second >= 0) {
        arguments[second] = secondValue;
      }
      return (LogicalPlan) method.invoke(relation, arguments);
    }
    throw new IllegalStateException(relation.getClass() + " has no copy");
  }

  /**
   * What a function returns where dates and times are java.time's. Those of java.sql, the default,
   * count in the calendar of Julius Caesar before 1582, and in local mean time before 1900.
   */
  private static Object exactly(AbstractFunction0 function) {
    SQLConf exact = SQLConf.get().clone();
    exact.setConfString("spark.sql.datetime.java8API.enabled", "true");
    return SQLConf.withExistingConf(exact, function);
  }

  /** The texts of catalyst conditions, or the text of a predicate of a join. */
  private static class Translation extends AbstractFunction0 {
    private final Object of;

    Translation(Object of) {
      this.of = of;
    }

    public Object apply() {
      if (of instanceof List) {
        return filtersOf((List) of);
      }
      Option filter = PredicateUtils.toV1((Predicate) of);
      return filter.isDefined() ? textOf(filter.get()) : null;
    }
  }

  /** Conditions as texts of filters, one on each line, without those that have no such text. */
  private static String filtersOf(List conditions) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < conditions.size(); i++) {
      addFilters((Expression) conditions.get(i), text);
    }
    return text.toString();
  }

  private static void addFilters(Expression condition, StringBuilder text) {
    if (condition instanceof And) {
      addFilters(((And) condition).left(), text);
      addFilters(((And) condition).right(), text);
      return;
    }
    if (condition instanceof IsNotNull
        && ((IsNotNull) condition).child().dataType() instanceof StructType) {
      return; // Spark adds it for each field that a condition compares; it needs no whole struct
    }
    try {
      Option translated = DataSourceStrategy$.MODULE$.translateFilter(condition, false);
      String filter = translated.isDefined() ? textOf(translated.get()) : null;
      if (filter != null && filter.indexOf('\n') < 0) {
        text.append(text.length() == 0 ? "" : "\n").append(filter);
      }
    } catch (Throwable error) { // one may be too deep for the stack
      LOG.info("a condition does not reach the scan: " + error);
    }
  }

  /** The text of a filter, which is a case class; null where the grammar has none. */
  private static String textOf(Object filter) {
    Product parts = (Product) filter;
    if (parts.productArity() == 0) {
      return null;
    }
    String kind = parts.productPrefix();
    Object first = parts.productElement(0);
    if (kind.equals("Not")) {
      String inner = textOf(first);
      return inner == null ? null : "NOT (" + inner + ")";
    }
    if (kind.equals("IsNull") || kind.equals("IsNotNull")) {
      return name(first) + (kind.equals("IsNull") ? " IS NULL" : " IS NOT NULL");
    }
    if (parts.productArity() < 2) {
      return null;
    }
    Object second = parts.productElement(1);
    if (kind.equals("And") || kind.equals("Or")) {
      return chained(filter, kind);
    }
    if (kind.equals("In")) {
      return listed(first, (Object[]) second);
    }
    if (kind.equals("StringStartsWith")) {
      return name(first) + " LIKE " + quoted(pattern((String) second) + "%");
    }
    if (kind.equals("EqualNullSafe") && second == null) {
      return name(first) + " IS NULL";
    }
    int comparison = Arrays.asList(COMPARISONS).indexOf(kind);
    String literal = literal(second);
    return comparison < 0 || literal == null ? null : name(first) + SIGNS[comparison] + literal;
  }

  /** The parts that one operator joins, in order: a chain of conditions is a deep tree. */
  private static String chained(Object filter, String kind) {
    StringBuilder text = new StringBuilder();
    ArrayDeque<Object> waiting = new ArrayDeque<>();
    waiting.push(filter);
    while (!waiting.isEmpty()) {
      Product next = (Product) waiting.pop();
      if (next.productPrefix().equals(kind)) {
        waiting.push(next.productElement(1));
        waiting.push(next.productElement(0));
        continue;
      }
      String part = textOf(next);
      if (part == null) {
        return null;
      }
      text.append(text.length() == 0 ? "" : " " + kind.toUpperCase() + " ");
      text.append("(").append(part).append(")");
    }
    return text.toString();
  }

  private static String listed(Object attribute, Object[] values) {
    StringBuilder text = new StringBuilder(name(attribute)).append(" IN (");
    for (int i = 0; i < values.length; i++) {
      String literal = literal(values[i]);
      if (literal == null) {
        return null;
      }
      text.append(i == 0 ? "" : ", ").append(literal);
    }
    return values.length == 0 ? null : text.append(")").toString();
  }

  private static String name(Object attribute) {
    return "`" + ((String) attribute).replace("`", "``") + "`";
  }

  /** A literal as the filter's grammar has it; null for a type that it does not have. */
  private static String literal(Object value) {
    if (value instanceof String) {
      return quoted((String) value);
    }
    if (value instanceof java.math.BigDecimal) {
      return ((java.math.BigDecimal) value).toPlainString();
    }
    if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      return Double.isNaN(number) || Double.isInfinite(number) ? null : String.valueOf(number);
    }
    if (value instanceof Number || value instanceof Boolean) {
      return value.toString();
    }
    if (value instanceof java.time.LocalDate) {
      return inCalendar("DATE", value, (java.time.LocalDate) value);
    }
    if (value instanceof java.time.LocalDateTime) {
      return inCalendar("TIMESTAMP", value, ((java.time.LocalDateTime) value).toLocalDate());
    }
    if (value instanceof java.time.Instant) {
      java.time.ZoneOffset utc = java.time.ZoneOffset.UTC;
      return inCalendar(
          "TIMESTAMP", value, ((java.time.Instant) value).atOffset(utc).toLocalDate());
    }
    return null;
  }

  /** A date or a time as a literal; null outside of the years that have four digits. */
  private static String inCalendar(String kind, Object value, java.time.LocalDate day) {
    return day.getYear() < 1 || day.getYear() > 9999 ? null : kind + " '" + value + "'";
  }

  private static String pattern(String text) {
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_");
  }

  private static String quoted(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private static LogicalPlan with(LogicalPlan plan, LogicalPlan child) {
    LogicalPlan before = (LogicalPlan) plan.children().head();
    if (child == before) {
      return plan;
    }
    ArrayList only = new ArrayList();
    only.add(child);
    LogicalPlan changed = (LogicalPlan) plan.withNewChildren(seq(only));
    StructType now = child.schema();
    if (hasSameTypes(now, before.schema())) {
      return changed;
    }
    return (LogicalPlan) changed.transformExpressions(new OverFields(now, child.outputSet()));
  }

  /** Whether each column has the type that it had. */
  private static boolean hasSameTypes(StructType now, StructType before) {
    StructField[] fields = now.fields();
    for (int i = 0; i < fields.length; i++) {
      if (!before.apply(fields[i].name()).dataType().equals(fields[i].dataType())) {
        return false;
      }
    }
    return true;
  }

  /** Rewrites expressions over structs that have fewer fields now. */
  private static class OverFields extends AbstractPartialFunction {
    private final ProjectionOverSchema projection;

    OverFields(StructType schema, AttributeSet output) {
      this.projection = new ProjectionOverSchema(schema, output);
    }

    public boolean isDefinedAt(Object expression) {
      return projection.unapply((Expression) expression).isDefined();
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      Option found = projection.unapply((Expression) expression);
      return found.isDefined() ? found.get() : otherwise.apply(expression);
    }
  }

  private static scala.collection.immutable.Seq seq(List items) {
    return CollectionConverters.asScala(items).toList();
  }

  private static Object get(Object of, String name) throws Exception {
    Field field = field(of.getClass(), name);
    return field == null ? null : field.get(of);
  }

  private static void set(Object of, String name, Object value) throws Exception {
    field(of.getClass(), name).set(of, value);
  }

  /** A field of a class, or of the nearest superclass that has it; null if there is none. */
  private static Field field(Class type, String name) {
    for (Class at = type; at != null; at = at.getSuperclass()) {
      Field[] fields = at.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getName().equals(name)) {
          fields[i].setAccessible(true);
          return fields[i];
        }
      }
    }
    return null;
  }
}
