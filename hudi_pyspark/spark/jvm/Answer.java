package hudi_pyspark;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;

/** What the planning process answers: one JSON object, which hints.py writes. */
public final class Answer {
  private Answer() {}

  /**
   * Plans a scan in Python and returns what its first partition says; no text of a table precedes
   * that in the pickle.
   */
  public static JsonNode of(Batch batch) throws Exception {
    Object first = batch.planInputPartitions()[0];
    String pickle =
        new String(((PythonInputPartition) first).pickedPartition(), StandardCharsets.UTF_8);
    int begin = pickle.indexOf(Words.ANSWER) + Words.ANSWER.length();
    int end = pickle.indexOf(Words.END, begin); // which no JSON contains
    return Json.read(pickle.substring(begin, end));
  }
}
