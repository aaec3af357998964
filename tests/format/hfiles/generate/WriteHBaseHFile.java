import java.io.*;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.*;
import org.apache.hudi.org.apache.hadoop.hbase.*;
import org.apache.hudi.org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hudi.org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.*;
import org.apache.hudi.org.apache.hadoop.hbase.util.ChecksumType;

/**
 * Writes an HFile by HBase's writer, as releases of Apache Hudi up to 1.0 do: PATH CODEC CHECKSUM
 * BLOCK_SIZE INDEX_BLOCK_SIZE ENCODING, entries on stdin.
 */
public class WriteHBaseHFile {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setInt("hfile.index.block.max.size", Integer.parseInt(args[4]));
    conf.setInt("hfile.index.block.min.entries", 4);
    HFileContext context =
        new HFileContextBuilder()
            .withCompression(Compression.Algorithm.valueOf(args[1]))
            .withChecksumType(ChecksumType.valueOf(args[2]))
            .withBlockSize(Integer.parseInt(args[3]))
            .withDataBlockEncoding(DataBlockEncoding.valueOf(args[5]))
            .withCellComparator(new org.apache.hudi.io.storage.HoodieHBaseKVComparator())
            .build();
    Path path = new Path(args[0]);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (HFile.Writer writer =
        HFile.getWriterFactory(conf, new CacheConfig(conf))
            .withPath(path.getFileSystem(conf), path)
            .withFileContext(context)
            .create()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] pair = line.split("\t", 2);
        writer.append(
            new KeyValue(
                pair[0].getBytes(StandardCharsets.UTF_8),
                null,
                null,
                pair[1].getBytes(StandardCharsets.UTF_8)));
      }
      writer.appendFileInfo("schema".getBytes(), "\"string\"".getBytes());
    }
  }
}
