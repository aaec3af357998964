package hudi_pyspark;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime$;
import org.apache.spark.sql.catalyst.optimizer.ReplaceCurrentLike;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The arguments of table functions as texts: constants of types whose text has one meaning.
 *
 * <p>A day or a time becomes the instant that TIMESTAMP AS OF makes of it. Numbers are texts, as
 * those of VERSION AS OF are. Everything else is refused.
 */
public final class Arguments {
  private Arguments() {}

  /**
   * The text of an argument.
   *
   * @param label of the function and the argument, for the error
   */
  public static String text(String label, Expression argument) {
    if (argument instanceof NamedArgumentExpression) {
      throw refused(label, "it has a name, " + ((NamedArgumentExpression) argument).key());
    }
    Expression constant = constant(argument);
    if (!isConstant(constant)) {
      throw refused(label, "it is not a constant");
    }
    Object value;
    try {
      value = constant.eval(null);
    } catch (Exception error) {
      throw refused(label, String.valueOf(error.getMessage()));
    }
    if (value == null) {
      throw refused(label, "it is NULL");
    }
    return text(label, value, constant.dataType());
  }

  private static String text(String label, Object value, DataType type) {
    ZoneId zone = Instants.zone();
    if (type instanceof StringType || type instanceof BooleanType || isNumber(type)) {
      return String.valueOf(value);
    }
    if (type instanceof TimestampType) {
      return Instants.text(((Long) value).longValue());
    }
    if (type instanceof TimestampNTZType) {
      long micros = ((Long) value).longValue();
      long second = Math.floorDiv(micros, 1000000L);
      int nanos = (int) Math.floorMod(micros, 1000000L) * 1000;
      LocalDateTime time = LocalDateTime.ofEpochSecond(second, nanos, ZoneOffset.UTC);
      return Instants.text(time.atZone(zone));
    }
    if (type instanceof DateType) {
      return Instants.text(LocalDate.ofEpochDay(((Integer) value).longValue()).atStartOfDay(zone));
    }
    throw refused(label, "it is of type " + type.sql());
  }

  private static boolean isNumber(DataType type) {
    return type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof DecimalType && ((DecimalType) type).scale() == 0;
  }

  /** An expression after the rules by which Spark makes a constant of the time, the user, … */
  private static Expression constant(Expression argument) {
    LogicalPlan plan = new Filter(argument, new OneRowRelation());
    plan = ReplaceExpressions$.MODULE$.apply(plan);
    plan = ComputeCurrentTime$.MODULE$.apply(plan);
    plan = new ReplaceCurrentLike(Names.session().catalogManager()).apply(plan);
    return ((Filter) plan).condition();
  }

  private static boolean isConstant(Expression expression) {
    if (expression instanceof Unevaluable
        || expression instanceof PlanExpression
        || !expression.deterministic()) {
      return false;
    }
    List children = CollectionConverters.asJava(expression.children());
    for (int i = 0; i < children.size(); i++) {
      if (!isConstant((Expression) children.get(i))) {
        return false;
      }
    }
    return true;
  }

  private static IllegalArgumentException refused(String label, String why) {
    return new IllegalArgumentException(String.format(Words.NO_TEXT, new Object[] {label, why}));
  }
}
