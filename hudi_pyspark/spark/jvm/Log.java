package hudi_pyspark;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where the rule says what it could not do: users know it by the name of the rule. */
public class Log {
  public static final Logger RULE = LoggerFactory.getLogger("hudi_pyspark.NarrowScans");
}
