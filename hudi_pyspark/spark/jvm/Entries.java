package hudi_pyspark;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.types.StructType;
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

  /** The options of a read of an entry's table. */
  public static Map optionsOf(CatalogTable entry) {
    Map stored = CollectionConverters.asJava(entry.storage().properties());
    List partitions = CollectionConverters.asJava(entry.partitionColumnNames());
    String format = isHive(entry) ? formatOf(entry) : "";
    Map options = new HashMap();
    options.put(Words.ENTRY, text(stored, format, entry.schema(), partitions, false));
    options.put("path", entry.location().toString());
    return options;
  }

  /** The option of an entry that CREATE TABLE is about to make. */
  public static Map optionOfNew(Map stored, StructType declared) {
    String text = text(stored, "", declared, Collections.emptyList(), true);
    return Collections.singletonMap(Words.ENTRY, text);
  }

  /** An entry as sql_options.py reads it. */
  private static String text(
      Map stored, String format, StructType schema, List partitions, boolean isNew) {
    Map entry = new TreeMap();
    entry.put("stored", new TreeMap(stored));
    entry.put("hive_format", format);
    entry.put("schema", Json.read(schema.json()));
    entry.put("partitions", partitions);
    entry.put("is_new", Boolean.valueOf(isNew));
    return Json.write(entry);
  }
}
