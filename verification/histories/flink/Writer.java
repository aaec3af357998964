import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.restartstrategy.RestartStrategies;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.client.deployment.executors.RemoteExecutor;
import org.apache.flink.client.program.StreamContextEnvironment;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.DeploymentOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.core.execution.DefaultExecutorServiceLoader;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.runtime.typeutils.ExternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/**
 * Runs jobs of Apache Flink, one JSON object per line of its input, one answer per line of its
 * output: {"error": "", "message": ""}, with the class of the innermost cause where a job failed.
 *
 * <p>A job is {"main": CLASS, "arguments": [...]}, or an insert: {"ddl": "CREATE TABLE t ...",
 * "insert": "INSERT INTO t SELECT * FROM changes", "mode": "stream", "batch" or "fail", "commits":
 * [[[KIND, VALUE, ...], ...], ...]}. KIND is the short form of a RowKind: +I, -U, +U or -D. Each
 * list of rows becomes a commit. The mode "fail" ends the job after its rows were flushed and
 * before they are committed.
 */
public final class Writer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int CHECKPOINT_MILLIS = 150;
  private static final int NEVER_MILLIS = 3_600_000;
  private static final int FLUSH_MILLIS = 2_500;

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // jobs print there, too
    BufferedReader jobs =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    useOneCluster();
    answers.println("{}");
    for (String line = jobs.readLine(); line != null; line = jobs.readLine()) {
      Map<String, String> answer = new HashMap<>(Map.of("error", "", "message", ""));
      try {
        run(JSON.readTree(line));
      } catch (Throwable failure) {
        failure.printStackTrace();
        Throwable cause = failure;
        StringBuilder text = new StringBuilder();
        for (Throwable next = failure; next != null; next = next.getCause()) {
          text.append(next).append('\n');
          cause = next;
        }
        answer.put("error", cause.getClass().getSimpleName());
        answer.put("message", text.toString());
      }
      answers.println(JSON.writeValueAsString(answer));
    }
    System.exit(0); // threads of the table services may live on
  }

  private static void run(JsonNode job) throws Throwable {
    if (job.has("main")) {
      String[] arguments = JSON.convertValue(job.get("arguments"), String[].class);
      try {
        Class.forName(job.get("main").asText())
            .getMethod("main", String[].class)
            .invoke(null, (Object) arguments);
      } catch (InvocationTargetException failure) {
        throw failure.getCause();
      }
    } else {
      insert(job);
    }
  }

  private static void insert(JsonNode job) throws Exception {
    String mode = job.get("mode").asText();
    boolean isBatch = mode.equals("batch");
    StreamExecutionEnvironment environment = environment(mode);
    StreamTableEnvironment tables =
        StreamTableEnvironment.create(
            environment,
            isBatch ? EnvironmentSettings.inBatchMode() : EnvironmentSettings.inStreamingMode());
    tables.getConfig().set("table.exec.sink.upsert-materialize", "NONE");
    tables.getConfig().set("table.local-time-zone", "UTC");
    tables.executeSql(job.get("ddl").asText());
    DataType type = tables.from("t").getResolvedSchema().toPhysicalRowDataType();
    List<List<Row>> commits = new ArrayList<>();
    for (JsonNode rows : job.get("commits")) {
      List<Row> commit = new ArrayList<>();
      rows.forEach(row -> commit.add(row(type, row)));
      commits.add(commit);
    }
    @SuppressWarnings("unchecked")
    TypeInformation<Row> external = (TypeInformation<Row>) (Object) ExternalTypeInfo.of(type);
    Schema schema = Schema.newBuilder().fromRowDataType(type).build();
    if (isBatch) {
      DataStream<Row> rows = environment.fromCollection(commits.get(0), external);
      tables.createTemporaryView("changes", tables.fromDataStream(rows, schema));
    } else {
      DataStream<Row> rows =
          environment.addSource(new Commits(commits, mode.equals("fail"))).returns(external);
      tables.createTemporaryView(
          "changes", tables.fromChangelogStream(rows, schema, ChangelogMode.all()));
    }
    tables.executeSql(job.get("insert").asText()).await();
  }

  /** Runs all jobs in one cluster of this process, which takes a second or two to start. */
  private static void useOneCluster() throws Exception {
    Configuration settings = new Configuration();
    settings.set(RestOptions.ADDRESS, "localhost");
    settings.set(RestOptions.BIND_PORT, "0");
    settings.setString("taskmanager.memory.managed.size", "64m");
    settings.setString("taskmanager.memory.network.min", "64m");
    settings.setString("taskmanager.memory.network.max", "64m");
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumSlotsPerTaskManager(4)
                .build());
    cluster.start();
    Configuration client = new Configuration();
    client.set(DeploymentOptions.TARGET, RemoteExecutor.NAME);
    client.set(DeploymentOptions.ATTACHED, true); // a compaction ends before its job does
    client.set(RestOptions.ADDRESS, cluster.getRestAddress().get().getHost());
    client.set(RestOptions.PORT, cluster.getRestAddress().get().getPort());
    client.setString("execution.checkpointing.checkpoints-after-tasks-finish.enabled", "true");
    StreamContextEnvironment.setAsContext(
        new DefaultExecutorServiceLoader(),
        client,
        Thread.currentThread().getContextClassLoader(),
        false,
        true);
  }

  private static StreamExecutionEnvironment environment(String mode) {
    StreamExecutionEnvironment found = StreamExecutionEnvironment.getExecutionEnvironment();
    found.setParallelism(2);
    found.setRestartStrategy(RestartStrategies.noRestart());
    if (mode.equals("batch")) {
      found.setRuntimeMode(RuntimeExecutionMode.BATCH);
    } else {
      found.enableCheckpointing(mode.equals("fail") ? NEVER_MILLIS : CHECKPOINT_MILLIS);
    }
    return found;
  }

  private static Row row(DataType type, JsonNode kindAndValues) {
    Row found = new Row(kind(kindAndValues.get(0).asText()), type.getChildren().size());
    for (int i = 0; i < found.getArity(); i++) {
      found.setField(i, value(type.getChildren().get(i), kindAndValues.get(i + 1)));
    }
    return found;
  }

  private static RowKind kind(String text) {
    for (RowKind kind : RowKind.values()) {
      if (kind.shortString().equals(text)) {
        return kind;
      }
    }
    throw new IllegalArgumentException("no kind of row: " + text);
  }

  private static Object value(DataType type, JsonNode node) {
    if (node.isNull()) {
      return null;
    }
    LogicalType logical = type.getLogicalType();
    switch (logical.getTypeRoot()) {
      case CHAR:
      case VARCHAR:
        return node.asText();
      case BOOLEAN:
        return node.asBoolean();
      case TINYINT:
        return (byte) node.asInt();
      case SMALLINT:
        return (short) node.asInt();
      case INTEGER:
        return node.asInt();
      case BIGINT:
        return node.asLong();
      case FLOAT:
        return (float) node.asDouble();
      case DOUBLE:
        return node.asDouble();
      case DECIMAL:
        return new BigDecimal(node.asText());
      case BINARY:
      case VARBINARY:
        return HexFormat.of().parseHex(node.asText());
      case DATE:
        return LocalDate.parse(node.asText());
      case TIMESTAMP_WITHOUT_TIME_ZONE:
        return LocalDateTime.parse(node.asText());
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return LocalDateTime.parse(node.asText()).toInstant(ZoneOffset.UTC);
      case ARRAY:
        return array(type.getChildren().get(0), node);
      case MAP:
        Map<Object, Object> map = new HashMap<>();
        DataType valueType = type.getChildren().get(1);
        node.fields().forEachRemaining(e -> map.put(e.getKey(), value(valueType, e.getValue())));
        return map;
      case ROW:
        List<String> names = ((RowType) logical).getFieldNames();
        Row row = new Row(names.size());
        for (int i = 0; i < names.size(); i++) {
          row.setField(i, value(type.getChildren().get(i), node.get(names.get(i))));
        }
        return row;
      default:
        throw new IllegalArgumentException("no value of " + logical);
    }
  }

  private static Object array(DataType type, JsonNode node) {
    Object found = Array.newInstance(type.getConversionClass(), node.size());
    for (int i = 0; i < node.size(); i++) {
      Array.set(found, i, value(type, node.get(i)));
    }
    return found;
  }

  /** Emits the rows of each commit, and goes on after the checkpoint that commits them. */
  public static final class Commits implements SourceFunction<Row>, CheckpointListener {
    private final List<List<Row>> commits;
    private final boolean fails;
    private volatile boolean isRunning = true;
    private volatile long checkpoints = 0;

    Commits(List<List<Row>> commits, boolean fails) {
      this.commits = commits;
      this.fails = fails;
    }

    @Override
    public void run(SourceContext<Row> context) throws Exception {
      for (List<Row> rows : commits) {
        synchronized (context.getCheckpointLock()) {
          rows.forEach(context::collect);
        }
        if (fails) {
          Thread.sleep(FLUSH_MILLIS);
          throw new IllegalStateException("failed on purpose");
        }
        // The first may have begun before the rows came.
        for (long last = checkpoints + 2; isRunning && checkpoints < last; ) {
          Thread.sleep(10);
        }
      }
    }

    @Override
    public void notifyCheckpointComplete(long id) {
      checkpoints++;
    }

    @Override
    public void cancel() {
      isRunning = false;
    }
  }
}
