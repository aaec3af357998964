package hudi_pyspark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** A table function of Apache Hudi, whose arguments Python makes options of. */
public class TableFunction extends AbstractFunction1 {
  public String name;

  /** The relation that a call reads; the first argument is a path, or the name of a table. */
  public Object apply(Object arguments) {
    List expressions = CollectionConverters.asJava((Seq) arguments);
    List texts = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) {
      String label = name + ": argument " + (i + 1);
      texts.add(Arguments.text(label, (Expression) expressions.get(i)));
    }
    // Python refuses a call without arguments, once it has a path.
    String table = texts.isEmpty() ? "/" : (String) texts.get(0);
    Map call = new TreeMap();
    call.put("name", name);
    call.put("arguments", texts);
    Map options = new HashMap(optionsOf(table));
    options.put(Words.FUNCTION, Json.write(call));
    ReadTable read = ReadTable.open(name + " " + table, options, null);
    return DataSourceV2Relation.create(read, Option.empty(), Option.empty());
  }

  private Map optionsOf(String table) {
    Object[] names = {name, table, ""};
    try {
      if (table.indexOf('/') < 0) {
        return Names.find(table);
      }
    } catch (Exception error) {
      names[2] = error.getMessage();
      throw new IllegalArgumentException(String.format(Words.NO_TABLE, names));
    }
    if (!SQLConf.get().runSQLonFile()) {
      throw new IllegalArgumentException(String.format(Words.NO_FILES, names));
    }
    Map options = new HashMap();
    options.put("path", table);
    return options;
  }
}
