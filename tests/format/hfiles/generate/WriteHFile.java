import java.io.*;
import java.nio.charset.StandardCharsets;
import org.apache.hudi.common.bloom.BloomFilter;
import org.apache.hudi.common.bloom.BloomFilterFactory;
import org.apache.hudi.io.compress.CompressionCodec;
import org.apache.hudi.io.hfile.*;

/**
 * Writes an HFile by Apache Hudi's own writer: PATH CODEC CHECKSUM BLOCK_SIZE, entries on stdin.
 */
public class WriteHFile {
  public static void main(String[] args) throws Exception {
    HFileContext context =
        HFileContext.builder()
            .compressionCodec(CompressionCodec.valueOf(args[1]))
            .checksumType(ChecksumType.valueOf(args[2]))
            .blockSize(Integer.parseInt(args[3]))
            .fileCreationTime(0)
            .build();
    BloomFilter filter = BloomFilterFactory.createBloomFilter(500, 0.001, -1, "SIMPLE");
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (OutputStream out = new BufferedOutputStream(new FileOutputStream(args[0]));
        HFileWriter writer = new HFileWriterImpl(context, out)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] pair = line.split("\t", 2);
        filter.add(pair[0]);
        writer.append(pair[0], pair[1].getBytes(StandardCharsets.UTF_8));
      }
      // As HoodieAvroHFileWriter does.
      writer.appendMetaInfo(
          "bloomFilter", filter.serializeToString().getBytes(StandardCharsets.UTF_8));
      writer.appendFileInfo(
          "bloomFilterTypeCode",
          filter.getBloomFilterTypeCode().name().getBytes(StandardCharsets.UTF_8));
      writer.appendFileInfo("schema", "\"string\"".getBytes(StandardCharsets.UTF_8));
    }
  }
}
