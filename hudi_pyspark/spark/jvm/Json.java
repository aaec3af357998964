package hudi_pyspark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

/** JSON, in which Python and the JVM exchange values. */
public final class Json {
  private Json() {}

  public static JsonNode read(String text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }

  /** The text of a map, a list, a node or a plain value; null is null. */
  public static String write(Object value) {
    try {
      return new ObjectMapper().writeValueAsString(value);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }
}
