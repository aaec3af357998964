package hudi_pyspark;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.UnaryOperator;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.ProjectionOverSchema;
import org.apache.spark.sql.catalyst.expressions.SchemaPruning$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.Option;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Gives each scan of this data source only the columns that the query needs above it, and of structs
 * only the fields.
 *
 * <p>Spark asks a Python data source for every column. This rule replaces the scan by one of a
 * narrower schema, as if the user had called .schema(...). A stream keeps its scan, which knows the
 * offsets, but the readers of its batches get the narrower schema. Conditions and limits above the scan are
 * written into the metadata of the schema's first field, where the planning process reads them: they
 * are hints, and Spark still applies both. Where possible the scan has columnar readers; see
 * ArrowReaders. Whatever is unexpected leaves the plan as it was.
 *
 * <p>Compiled in the driver's JVM by Janino, which knows no lambdas and no generic inference.
 */
public class NarrowScans extends Rule {
  public static final String ENABLED = "spark.hudi-py.optimizer.enabled";
  public static final String COLUMNAR = "spark.hudi-py.columnar.enabled";
  public static final String FILTERS = "hudi-py.filters";
  public static final String LIMIT = "hudi-py.limit";
  public static final String PLACEHOLDER = "hudi-py.placeholder";
  public static final String PINNED = "hudi-py.pinned";

  private static final Logger LOG = LoggerFactory.getLogger("hudi_pyspark.NarrowScans");
  private static final String SOURCE = "hudi-py";
  private static final String EXPLAINED = "\0hudi-py\0";
  private static final String[] COMPARISONS = {
    "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"
  };
  private static final String[] SIGNS = {" = ", " <=> ", " < ", " <= ", " > ", " >= "};

  /** Narrowed scans by data source and schema, so that a second action does not plan again. */
  private final Map known = new WeakHashMap();

  /** Gives a batch columnar readers; null where this Spark, or its executors, cannot have them. */
  public UnaryOperator columnar;

  public TreeNode apply(TreeNode plan) {
    try {
      if (!SQLConf.get().getConfString(ENABLED, "true").equals("true")) {
        return plan;
      }
      return visit((LogicalPlan) plan, (LogicalPlan) plan, null, new ArrayList(), -1);
    } catch (Throwable error) {
      LOG.debug("columns are not pruned: " + error);
      return plan;
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
      DataSourceV2ScanRelation relation, List needed, List conditions, int limit)
      throws Exception {
    PythonScan scan = pythonScan(relation.scan());
    if (scan == null || !SOURCE.equals(get(scan, "shortName")) || hasPushedFilters(scan)) {
      return relation; // of pushed filters Spark may have dropped the conditions: plan no second time
    }
    StructType stored = scan.readSchema();
    ArrayList attributes = new ArrayList();
    ArrayList fields = new ArrayList();
    choose(CollectionConverters.asJava(relation.output()), stored, needed, attributes, fields);
    String filters = filtersOf(conditions);
    // Scans of one DataFrame are planned apart, so all of them read the table as it was loaded.
    fields.set(0, marked((StructField) fields.get(0), PINNED, "true"));
    if (!filters.isEmpty()) {
      fields.set(0, marked((StructField) fields.get(0), FILTERS, filters));
    }
    if (limit >= 0) {
      fields.set(0, marked((StructField) fields.get(0), LIMIT, String.valueOf(limit)));
    }
    StructType schema = new StructType((StructField[]) fields.toArray(new StructField[0]));
    if (schema.json().equals(stored.json())) {
      return relation;
    }
    return copy(relation, 1, narrowed(scan, schema), 2, seq(attributes));
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

  private synchronized Scan narrowed(PythonScan scan, StructType schema) throws Exception {
    PythonDataSourceV2 source = (PythonDataSourceV2) get(scan, "ds");
    Map scans = (Map) known.get(source);
    if (scans == null) {
      scans = new HashMap();
      known.put(source, scans);
    }
    // Executors lack the jar where a session has its own artifacts.
    boolean isColumnar =
        columnar != null
            && SQLConf.get().getConfString(COLUMNAR, "true").equals("true")
            && JobArtifactSet.getCurrentJobArtifactState().isEmpty();
    String key = isColumnar + schema.json();
    Scan found = (Scan) scans.get(key);
    if (found == null) {
      found = Explained.of(planAnew(scan, source, schema), isColumnar ? columnar : null);
      scans.put(key, found);
    }
    return found;
  }

  /** The scan of a Python source, also of one that this rule has made; null for others. */
  private static PythonScan pythonScan(Scan scan) {
    if (Proxy.isProxyClass(scan.getClass())) {
      InvocationHandler handler = Proxy.getInvocationHandler(scan);
      return handler instanceof Explained ? ((Explained) handler).scan : null;
    }
    return scan instanceof PythonScan ? (PythonScan) scan : null;
  }

  /** A scan that plans once, and that EXPLAIN FORMATTED shows with what it reads. */
  private static class Explained implements InvocationHandler {
    private final PythonScan scan;
    private final UnaryOperator columnar;
    private Batch batch;

    Explained(PythonScan scan, UnaryOperator columnar) {
      this.scan = scan;
      this.columnar = columnar;
    }

    static Scan of(PythonScan scan, UnaryOperator columnar) {
      ClassLoader loader = PythonScan.class.getClassLoader();
      Class[] interfaces = PythonScan.class.getInterfaces();
      return (Scan) Proxy.newProxyInstance(loader, interfaces, new Explained(scan, columnar));
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      if (method.getName().equals("equals")) {
        return Boolean.valueOf(proxy == arguments[0]);
      }
      if (method.getName().equals("toBatch")) {
        return batch();
      }
      if (method.getName().equals("columnarSupportMode") && columnar != null) {
        return Scan.ColumnarSupportMode.SUPPORTED;
      }
      try {
        Object answer = method.invoke(scan, arguments);
        return method.getName().equals("getMetaData") ? withFacts(answer) : answer;
      } catch (InvocationTargetException error) {
        throw error.getCause();
      }
    }

    private synchronized Batch batch() {
      if (batch == null) {
        batch = columnar == null ? scan.toBatch() : (Batch) columnar.apply(scan.toBatch());
      }
      return batch;
    }

    /** Adds the lines of the explanation, which the first partition carries in its pickle. */
    private Object withFacts(Object metadata) {
      scala.collection.immutable.Map facts = (scala.collection.immutable.Map) metadata;
      try {
        Object first = batch().planInputPartitions()[0];
        String pickle =
            new String(((PythonInputPartition) first).pickedPartition(), StandardCharsets.UTF_8);
        int begin = pickle.indexOf(EXPLAINED) + EXPLAINED.length();
        String[] lines = pickle.substring(begin, pickle.indexOf('\0', begin)).split("\n");
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
    Option translated = DataSourceStrategy$.MODULE$.translateFilter(condition, false);
    String filter = translated.isDefined() ? textOf(translated.get()) : null;
    if (filter != null && filter.indexOf('\n') < 0) {
      text.append(text.length() == 0 ? "" : "\n").append(filter);
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
      return joined(textOf(first), " " + kind.toUpperCase() + " ", textOf(second));
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

  private static String joined(String left, String sign, String right) {
    return left == null || right == null ? null : "(" + left + ")" + sign + "(" + right + ")";
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
    if (value instanceof java.sql.Date || value instanceof java.time.LocalDate) {
      return "DATE '" + value + "'";
    }
    if (value instanceof java.sql.Timestamp) {
      return "TIMESTAMP '" + ((java.sql.Timestamp) value).toInstant() + "'";
    }
    if (value instanceof java.time.Instant || value instanceof java.time.LocalDateTime) {
      return "TIMESTAMP '" + value + "'";
    }
    return null;
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
