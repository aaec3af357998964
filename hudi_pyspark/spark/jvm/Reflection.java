package hudi_pyspark;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import scala.Product;

/** Reads and writes private fields of Spark's objects, and copies its case classes. */
public final class Reflection {
  private Reflection() {}

  /** The value of a field of an object; throws if its class has no such field. */
  public static Object get(Object of, String name) throws Exception {
    return field(of.getClass(), name).get(of);
  }

  public static void set(Object of, String name, Object value) throws Exception {
    field(of.getClass(), name).set(of, value);
  }

  /** A field of a class, or of the nearest superclass that has it. */
  private static Field field(Class type, String name) throws NoSuchFieldException {
    for (Class at = type; at != null; at = at.getSuperclass()) {
      for (Field field : at.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          field.setAccessible(true);
          return field;
        }
      }
    }
    throw new NoSuchFieldException(type.getName() + " has no field " + name);
  }

  /**
   * A copy of an object with new values for some parameters of its case class. All other parameters
   * keep their values; they differ between releases of Spark.
   */
  public static Object copy(Product original, String[] parameters, Object[] values)
      throws Exception {
    for (Method method : original.getClass().getMethods()) {
      if (!method.getName().equals("copy")) {
        continue;
      }
      Object[] arguments = new Object[method.getParameterTypes().length];
      for (int i = 0; i < arguments.length; i++) {
        Method current = original.getClass().getMethod("copy$default$" + (i + 1));
        arguments[i] = current.invoke(original);
      }
      for (int i = 0; i < parameters.length; i++) {
        int place = 0;
        while (!original.productElementName(place).equals(parameters[i])) {
          place++;
        }
        arguments[place] = values[i];
      }
      return method.invoke(original, arguments);
    }
    throw new IllegalStateException(original.getClass() + " has no copy");
  }
}
