package hudi_pyspark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ProjectionOverSchema;
import org.apache.spark.sql.catalyst.expressions.SchemaPruning$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/** Removes the fields of structs that a query does not need. */
public class NestedFields implements Parts.Nested {
  public StructType pruned(StructType stored, List expressions) {
    Set names = new HashSet();
    for (int i = 0; i < stored.length(); i++) {
      names.add(stored.fields()[i].name().toLowerCase());
    }
    // Spark finds the fields by name, and may ignore case: then the names must differ without case.
    if (!SQLConf.get().nestedSchemaPruningEnabled() || names.size() < stored.length()) {
      return stored;
    }
    scala.collection.immutable.Seq none = Need.seq(new ArrayList());
    scala.collection.immutable.Seq roots =
        SchemaPruning$.MODULE$.identifyRootFields(none, Need.seq(expressions));
    return roots.isEmpty() ? stored : SchemaPruning$.MODULE$.pruneSchema(stored, roots);
  }

  public AbstractPartialFunction over(StructType schema, List attributes) {
    return new Over(
        new ProjectionOverSchema(schema, AttributeSet$.MODULE$.apply(Need.seq(attributes))));
  }

  private static class Over extends AbstractPartialFunction {
    private final ProjectionOverSchema projection;

    Over(ProjectionOverSchema projection) {
      this.projection = projection;
    }

    public boolean isDefinedAt(Object expression) {
      return projection.unapply((Expression) expression).isDefined();
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      Option found = projection.unapply((Expression) expression);
      return found.isDefined() ? found.get() : otherwise.apply(expression);
    }
  }
}
