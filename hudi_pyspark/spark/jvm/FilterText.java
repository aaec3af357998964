package hudi_pyspark;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Product;
import scala.runtime.AbstractFunction0;

/**
 * Writes conditions as texts of filters; conditions outside the grammar of filters are left out.
 *
 * <p>Applied to a list of catalyst conditions over one scan, it returns a text with a line for each
 * condition. Applied to a predicate of a join, it returns a text or null.
 */
public class FilterText implements Function {
  private static final String[] COMPARISONS = {
    "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"
  };
  private static final String[] SIGNS = {" = ", " <=> ", " < ", " <= ", " > ", " >= "};

  /**
   * Translates with dates and times of java.time. Spark's default, java.sql, uses the Julian
   * calendar before 1582, and local mean time before 1900.
   */
  public Object apply(Object conditions) {
    SQLConf exact = SQLConf.get().clone();
    exact.setConfString("spark.sql.datetime.java8API.enabled", "true");
    return SQLConf.withExistingConf(exact, new Translation(conditions));
  }

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
      return; // Spark adds it for each compared field, and it would need the whole struct
    }
    try {
      Option translated = DataSourceStrategy$.MODULE$.translateFilter(condition, false);
      String filter = translated.isDefined() ? textOf(translated.get()) : null;
      if (filter != null && filter.indexOf('\n') < 0) {
        text.append(text.length() == 0 ? "" : "\n").append(filter);
      }
    } catch (Throwable error) { // e.g. a condition that is too deep for the stack
      Log.RULE.info("a condition does not reach the scan: " + error);
    }
  }

  /** The text of a filter, which is a case class; null if the grammar cannot express it. */
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

  /** The text of a chain of one operator, in order, without recursion: the tree may be deep. */
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

  /** A literal in the grammar of filters; null if the grammar lacks its type. */
  private static String literal(Object value) {
    if (value instanceof String) {
      return quoted((String) value);
    }
    if (value instanceof BigDecimal) {
      return ((BigDecimal) value).toPlainString();
    }
    if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      return Double.isNaN(number) || Double.isInfinite(number) ? null : String.valueOf(number);
    }
    if (value instanceof Number || value instanceof Boolean) {
      return value.toString();
    }
    if (value instanceof LocalDate) {
      return inCalendar("DATE", value, (LocalDate) value);
    }
    if (value instanceof LocalDateTime) {
      return inCalendar("TIMESTAMP", value, ((LocalDateTime) value).toLocalDate());
    }
    if (value instanceof Instant) {
      ZoneOffset utc = ZoneOffset.UTC;
      return inCalendar("TIMESTAMP", value, ((Instant) value).atOffset(utc).toLocalDate());
    }
    return null;
  }

  /** A date or a time as a literal; null unless its year is between 1 and 9999. */
  private static String inCalendar(String kind, Object value, LocalDate day) {
    return day.getYear() < 1 || day.getYear() > 9999 ? null : kind + " '" + value + "'";
  }

  private static String pattern(String text) {
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_");
  }

  private static String quoted(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }
}
