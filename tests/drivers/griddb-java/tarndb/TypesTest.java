package tarndb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Row;
import java.sql.Blob;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every type: its limits come back, and null does where it is allowed. */
class TypesTest extends Suite {
  /** The last moment that a TIMESTAMP may be: 9999-12-31T23:59:59.999Z. */
  private static final long LAST_MS = 253_402_300_799_999L;

  static Stream<Arguments> values() {
    return Stream.of(
        Arguments.of(GSType.BOOL, List.of(true, false)),
        Arguments.of(GSType.BYTE, List.of(Byte.MIN_VALUE, (byte) -1, (byte) 0, Byte.MAX_VALUE)),
        Arguments.of(GSType.SHORT, List.of(Short.MIN_VALUE, (short) -1, (short) 0, Short.MAX_VALUE)),
        Arguments.of(GSType.INTEGER, List.of(Integer.MIN_VALUE, -1, 0, Integer.MAX_VALUE)),
        Arguments.of(GSType.LONG, List.of(Long.MIN_VALUE, -1L, 0L, Long.MAX_VALUE)),
        Arguments.of(GSType.FLOAT, List.of(-0.0f, Float.MIN_VALUE, Float.MAX_VALUE, Float.NEGATIVE_INFINITY, Float.NaN)),
        Arguments.of(GSType.DOUBLE, List.of(-0.0, Double.MIN_VALUE, Double.MAX_VALUE, Double.POSITIVE_INFINITY, Double.NaN)),
        Arguments.of(GSType.STRING, List.of("", " ", "it's", "größe", "日本語", "\uD83D\uDE00", "line\nline\ttab", "x".repeat(31_000))),
        Arguments.of(GSType.TIMESTAMP, List.of(at(0), at(1), at(1_234_567_890_123L), at(LAST_MS))),
        Arguments.of(GSType.BOOL_ARRAY, List.of(new boolean[0], new boolean[] {true, false, true})),
        Arguments.of(GSType.BYTE_ARRAY, List.of(new byte[0], new byte[] {Byte.MIN_VALUE, 0, Byte.MAX_VALUE})),
        Arguments.of(GSType.SHORT_ARRAY, List.of(new short[0], new short[] {Short.MIN_VALUE, 0, Short.MAX_VALUE})),
        Arguments.of(GSType.INTEGER_ARRAY, List.of(new int[0], new int[] {Integer.MIN_VALUE, 0, Integer.MAX_VALUE}, new int[4000])),
        Arguments.of(GSType.LONG_ARRAY, List.of(new long[0], new long[] {Long.MIN_VALUE, 0, Long.MAX_VALUE})),
        Arguments.of(GSType.FLOAT_ARRAY, List.of(new float[0], new float[] {Float.NaN, -0.0f, Float.MAX_VALUE})),
        Arguments.of(GSType.DOUBLE_ARRAY, List.of(new double[0], new double[] {Double.NaN, -0.0, Double.MAX_VALUE})),
        Arguments.of(GSType.STRING_ARRAY, List.of(new String[0], new String[] {"", "größe", "x".repeat(1000)}, new String[] {"one"})),
        Arguments.of(GSType.TIMESTAMP_ARRAY, List.of(new Date[0], new Date[] {at(0), at(LAST_MS)})));
  }

  @ParameterizedTest
  @MethodSource("values")
  void valuesComeBack(GSType type, List<Object> values) throws Exception {
    Collection<Integer, Row> mine = collection("of" + type, keyed(column("id", GSType.INTEGER), column("v", type), column("after", GSType.STRING)));
    for (int i = 0; i < values.size(); i++) {
      mine.put(row(mine, i, values.get(i), "after" + i));
    }
    for (int i = 0; i < values.size(); i++) {
      Row row = mine.get(i);
      assertTrue(Arrays.deepEquals(new Object[] {values.get(i)}, new Object[] {row.getValue(1)}), type + " " + i);
      assertFalse(row.isNull(1));
      assertEquals("after" + i, row.getString(2));
    }
    List<Object> queried = values(mine.query("SELECT * ORDER BY id"), 1);
    assertTrue(Arrays.deepEquals(values.toArray(), queried.toArray()), type + " by a query");
  }

  @ParameterizedTest
  @MethodSource("values")
  void nullComesBackAndIsNoZero(GSType type, List<Object> values) throws Exception {
    Collection<Integer, Row> mine = collection("null" + type, keyed(column("id", GSType.INTEGER), column("v", type), column("after", GSType.LONG)));
    mine.put(row(mine, 1, null, 5L));
    mine.put(row(mine, 2, values.get(0), null));
    assertTrue(mine.get(1).isNull(1));
    assertEquals(5L, mine.get(1).getLong(2));
    assertFalse(mine.get(2).isNull(1));
    assertTrue(mine.get(2).isNull(2));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE v IS NULL"));
    assertEquals(List.of(2), keys(mine, "SELECT * WHERE v IS NOT NULL"));
  }

  @ParameterizedTest
  @MethodSource("values")
  void aRequiredColumnTakesNoNull(GSType type, List<Object> values) throws Exception {
    Collection<Integer, Row> mine = collection("required" + type, keyed(column("id", GSType.INTEGER), required("v", type)));
    Row wrong = mine.createRow();
    wrong.setInteger(0, 1);
    assertThrows(GSException.class, () -> {
      wrong.setNull(1);
      mine.put(wrong);
    });
    mine.put(row(mine, 1, values.get(0)));
    assertEquals(1, count(mine));
  }

  @Test
  void blobsComeBack() throws Exception {
    Collection<Integer, Row> mine = collection("blob", keyed(column("id", GSType.INTEGER), column("v", GSType.BLOB), column("w", GSType.BLOB)));
    byte[] large = new byte[300_000];
    for (int i = 0; i < large.length; i++) {
      large[i] = (byte) (i * 31);
    }
    Blob filled = mine.createBlob();
    filled.setBytes(1, large);
    mine.put(row(mine, 1, filled, blob("")));
    mine.put(row(mine, 2, blob("small"), null));
    Row row = mine.get(1);
    assertArrayEquals(large, row.getBlob(1).getBytes(1, large.length));
    assertEquals(0, row.getBlob(2).length());
    assertArrayEquals("small".getBytes("UTF-8"), mine.get(2).getBlob(1).getBytes(1, 5));
    assertTrue(mine.get(2).isNull(2));
  }

  @Test
  void negativeTimesAreRefused() throws Exception {
    Collection<Integer, Row> mine = collection("negative", keyed(column("id", GSType.INTEGER), column("at", GSType.TIMESTAMP)));
    assertThrows(GSException.class, () -> mine.put(row(mine, 1, at(-1))));
    assertThrows(GSException.class, () -> mine.put(row(mine, 1, at(LAST_MS + 1))));
    assertEquals(0, count(mine));
  }

  @Test
  void allTypesInOneRow() throws Exception {
    List<Arguments> types = values().toList();
    ColumnInfo[] columns = new ColumnInfo[types.size() + 1];
    Object[] some = new Object[columns.length];
    columns[0] = column("id", GSType.INTEGER);
    for (int i = 1; i < columns.length; i++) {
      Object[] pair = types.get(i - 1).get();
      columns[i] = column("c" + pair[0], (GSType) pair[0]);
      some[i] = ((List<?>) pair[1]).get(1);
    }
    Collection<Integer, Row> mine = collection("all", keyed(columns));
    some[0] = 1;
    mine.put(row(mine, some));
    Object[] none = new Object[columns.length];
    none[0] = 2;
    mine.put(row(mine, none));
    for (int i = 1; i < columns.length; i++) {
      assertTrue(Arrays.deepEquals(new Object[] {some[i]}, new Object[] {mine.get(1).getValue(i)}), columns[i].getName());
      assertTrue(mine.get(2).isNull(i), columns[i].getName());
    }
  }
}
