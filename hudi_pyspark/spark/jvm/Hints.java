package hudi_pyspark;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

/**
 * Gives hints to the planning process, as a part of the pickled source that Spark sends to it.
 *
 * <p>A pickle is a program that ends with STOP. Before its STOP, the program of a source goes on to
 * set the source's hints. Schemas and options are only values in this program, so nothing that they
 * say is ever taken for a hint.
 */
public final class Hints {
  // The opcodes of pickle, as Python's module pickletools describes them.
  private static final int EMPTY_DICT = '}';
  private static final int UNICODE = 'X';
  private static final int BYTES = 'B';
  private static final int SET_ITEM = 's';
  private static final int BUILD = 'b';
  private static final int STOP = '.';

  private Hints() {}

  /**
   * A pickled source with hints, which replace all earlier hints of the source.
   *
   * @param hints texts, or the bytes of a pickle, by the words for hints
   */
  public static byte[] added(byte[] pickle, Map hints) {
    if (pickle[pickle.length - 1] != STOP) {
      throw new IllegalStateException("a source is not pickled as Python does it");
    }
    byte[] instructions = instructions(hints);
    byte[] all = Arrays.copyOf(pickle, pickle.length - 1 + instructions.length);
    System.arraycopy(instructions, 0, all, pickle.length - 1, instructions.length);
    return all;
  }

  /** Whether these hints are the last ones that a pickled source got. */
  public static boolean areIn(byte[] pickle, Map hints) {
    byte[] instructions = instructions(hints);
    int begin = pickle.length - instructions.length;
    return begin > 0
        && Arrays.equals(Arrays.copyOfRange(pickle, begin, pickle.length), instructions);
  }

  /** Sets the attribute of the source, which is on the top of the stack, and stops. */
  private static byte[] instructions(Map hints) {
    ByteArrayOutputStream pickle = new ByteArrayOutputStream();
    pickle.write(EMPTY_DICT); // of attributes
    write(pickle, Words.ATTRIBUTE);
    pickle.write(EMPTY_DICT); // of hints
    for (Object entry : hints.entrySet()) {
      write(pickle, ((Map.Entry) entry).getKey());
      write(pickle, ((Map.Entry) entry).getValue());
      pickle.write(SET_ITEM);
    }
    pickle.write(SET_ITEM);
    pickle.write(BUILD);
    pickle.write(STOP);
    return pickle.toByteArray();
  }

  private static void write(ByteArrayOutputStream pickle, Object value) {
    boolean isText = value instanceof String;
    byte[] bytes = isText ? ((String) value).getBytes(StandardCharsets.UTF_8) : (byte[]) value;
    pickle.write(isText ? UNICODE : BYTES);
    for (int shift = 0; shift < 32; shift += 8) {
      pickle.write(bytes.length >>> shift); // its lowest byte
    }
    pickle.write(bytes, 0, bytes.length);
  }
}
