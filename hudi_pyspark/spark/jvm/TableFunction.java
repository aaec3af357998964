package hudi_pyspark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** A table function of Apache Hudi, whose arguments Python makes options of. */
public class TableFunction extends AbstractFunction1 {
  public String name;
  public SessionTables tables;

  /** The relation that a call reads; the first argument is a path, or the name of a table. */
  public Object apply(Object arguments) {
    List expressions = CollectionConverters.asJava((Seq) arguments);
    Map options = new HashMap();
    for (int i = 0; i < expressions.size(); i++) {
      Object value = ((Expression) expressions.get(i)).eval(null);
      options.put(Words.ARGUMENT + i, String.valueOf(value));
    }
    // Python refuses a call without arguments, once it has a path.
    String table = (String) options.getOrDefault(Words.ARGUMENT + 0, "/");
    options.put(Words.FUNCTION, name);
    options.put("path", table);
    try {
      if (table.indexOf('/') < 0) {
        options.putAll(tables.optionsOf(table));
      }
    } catch (Exception error) {
      throw new IllegalArgumentException(
          String.format(Words.NO_TABLE, new Object[] {name, table, error.getMessage()}));
    }
    ReadTable read = ReadTable.open(name + " " + table, options, null);
    return DataSourceV2Relation.create(read, Option.empty(), Option.empty());
  }
}
