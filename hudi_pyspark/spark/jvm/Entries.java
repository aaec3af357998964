package hudi_pyspark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** The entries of a metastore: which are of Apache Hudi, and what they say. */
public final class Entries {
  private static final String FORMATS = "org.apache.hudi.";

  private Entries() {}

  public static boolean isHudi(Object provider) {
    String name = String.valueOf(provider);
    return name.equalsIgnoreCase(Words.HUDI) || name.equalsIgnoreCase(Words.SOURCE);
  }

  /** Whether Apache Hudi's sync or SQL, or this package, made an entry. */
  public static boolean isHudi(CatalogTable entry) {
    return isHive(entry) ? formatOf(entry).startsWith(FORMATS) : isHudi(entry.provider().get());
  }

  private static boolean isHive(CatalogTable entry) {
    return entry.provider().isEmpty() || "hive".equals(entry.provider().get());
  }

  private static String formatOf(CatalogTable entry) {
    Option format = entry.storage().inputFormat();
    return format.isDefined() ? (String) format.get() : "";
  }

  /** The options that say which columns an entry has. */
  public static Map columnsOf(CatalogTable entry) {
    Map options = new HashMap();
    options.put(Words.COLUMNS, entry.schema().json());
    List partitions = CollectionConverters.asJava(entry.partitionColumnNames());
    options.put(Words.PARTITIONS, String.join("\0", partitions));
    return options;
  }

  /** The options of a read of an entry's table, as sql_options.py expects them. */
  public static Map optionsOf(CatalogTable entry) {
    Map stored = CollectionConverters.asJava(entry.storage().properties());
    Map options = new HashMap();
    for (Object name : stored.keySet()) {
      options.put(Words.STORED + name, stored.get(name));
    }
    if (isHive(entry)) {
      options.put(Words.FORMAT, formatOf(entry));
    }
    options.put("path", entry.location().toString());
    return options;
  }
}
