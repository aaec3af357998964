package hudi_pyspark;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The log of the rule, under the rule's name. */
public class Log {
  public static final Logger RULE = LoggerFactory.getLogger("hudi_pyspark.NarrowScans");
}
