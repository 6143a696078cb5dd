package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Row;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Conditions, order and aggregations over columns of each type. */
class TqlTypesTest extends Suite {
  /** A number as a column of a type holds it. */
  private static Object number(GSType type, int value) {
    return switch (type) {
      case BYTE -> (byte) value;
      case SHORT -> (short) value;
      case INTEGER -> value;
      case LONG -> (long) value;
      case FLOAT -> (float) value;
      default -> (double) value;
    };
  }

  private Collection<Integer, Row> numbers(GSType type) throws Exception {
    Collection<Integer, Row> mine = collection("n" + type, keyed(column("id", GSType.INTEGER), column("v", type), column("w", type)));
    int[] values = {-128, 5, 0, 127, 5};
    for (int i = 0; i < values.length; i++) {
      mine.put(row(mine, i, number(type, values[i]), null));
    }
    mine.put(row(mine, 5, null, number(type, 1)));
    return mine;
  }

  @ParameterizedTest
  @EnumSource(value = GSType.class, names = {"BYTE", "SHORT", "INTEGER", "LONG", "FLOAT", "DOUBLE"})
  void numbersCompareAndSort(GSType type) throws Exception {
    Collection<Integer, Row> mine = numbers(type);
    assertEquals(List.of(1, 4), keys(mine, "SELECT * WHERE v = 5"));
    assertEquals(List.of(1, 3, 4), keys(mine, "SELECT * WHERE v > 0"));
    assertEquals(List.of(0, 2), keys(mine, "SELECT * WHERE v <= 0"));
    assertEquals(List.of(0, 1, 2, 4), keys(mine, "SELECT * WHERE v < 126.5"));
    assertEquals(List.of(0), keys(mine, "SELECT * WHERE v = -128"));
    assertEquals(List.of(0), keys(mine, "SELECT * WHERE v + 128 = 0"));
    assertEquals(List.of(3), keys(mine, "SELECT * WHERE v * 10 > 1000"));
    assertEquals(List.of(5), keys(mine, "SELECT * WHERE v IS NULL"));
    assertEquals(List.of(0, 2, 1, 4, 3), keys(mine, "SELECT * WHERE v IS NOT NULL ORDER BY v, id"));
    assertEquals(List.of(3, 4, 1, 2, 0), keys(mine, "SELECT * WHERE v IS NOT NULL ORDER BY v DESC, id DESC"));
  }

  @ParameterizedTest
  @EnumSource(value = GSType.class, names = {"BYTE", "SHORT", "INTEGER", "LONG", "FLOAT", "DOUBLE"})
  void numbersAggregate(GSType type) throws Exception {
    Collection<Integer, Row> mine = numbers(type);
    assertEquals(9.0, aggregate(mine, "SELECT SUM(v)").getDouble());
    assertEquals(1.8, aggregate(mine, "SELECT AVG(v)").getDouble(), 1e-9);
    assertEquals(-128.0, aggregate(mine, "SELECT MIN(v)").getDouble());
    assertEquals(127.0, aggregate(mine, "SELECT MAX(v)").getDouble());
    assertEquals(1.0, aggregate(mine, "SELECT SUM(w)").getDouble());
    assertEquals(6L, aggregate(mine, "SELECT COUNT(*)").getLong());
    assertEquals(0.0, aggregate(mine, "SELECT VARIANCE(v) WHERE v = 5").getDouble());
    assertNull(aggregate(mine, "SELECT SUM(w) WHERE id < 5"));
    assertEquals(List.of(3), keys(mine, "SELECT MAX_ROWS(v)"));
    assertEquals(List.of(0), keys(mine, "SELECT MIN_ROWS(v)"));
  }

  @Test
  void largeIntegersAreExact() throws Exception {
    Collection<Long, Row> mine = collection("exact", keyed(column("id", GSType.LONG), column("v", GSType.LONG)));
    long large = (1L << 53) + 1;
    mine.put(List.of(row(mine, large, large), row(mine, large + 1, large + 1), row(mine, Long.MAX_VALUE, Long.MAX_VALUE), row(mine, Long.MIN_VALUE, 0L)));
    assertEquals(List.of(large), keys(mine, "SELECT * WHERE v = " + large));
    assertEquals(List.of(large + 1, Long.MAX_VALUE), keys(mine, "SELECT * WHERE v > " + large));
    assertEquals(List.of(large), keys(mine, "SELECT * WHERE id = " + large));
    assertEquals(List.of(Long.MAX_VALUE), keys(mine, "SELECT * WHERE id >= " + Long.MAX_VALUE));
    assertEquals(List.of(Long.MIN_VALUE), keys(mine, "SELECT * WHERE id < 0"));
    assertEquals(Long.MAX_VALUE, aggregate(mine, "SELECT MAX(v)").getLong());
  }

  @Test
  void floatsCompareAsDoubles() throws Exception {
    Collection<Integer, Row> mine = collection("floats", keyed(column("id", GSType.INTEGER), column("v", GSType.FLOAT)));
    mine.put(List.of(row(mine, 1, 0.5f), row(mine, 2, 0.1f), row(mine, 3, Float.POSITIVE_INFINITY)));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE v = 0.5"));
    assertEquals(List.of(1, 2), keys(mine, "SELECT * WHERE v < 1e30"));
    assertEquals(List.of(2), keys(mine, "SELECT * WHERE v > 0.09 AND v < 0.11"));
  }

  @Test
  void textsSortByTheirBytes() throws Exception {
    Collection<Integer, Row> mine = collection("texts", keyed(column("id", GSType.INTEGER), column("v", GSType.STRING)));
    List<String> values = List.of("b", "a", "B", "", "größe", "aa");
    for (int i = 0; i < values.size(); i++) {
      mine.put(row(mine, i, values.get(i)));
    }
    assertEquals(List.of(3, 2, 1, 5, 0, 4), keys(mine, "SELECT * ORDER BY v"));
    assertEquals(List.of(3), keys(mine, "SELECT * WHERE v = ''"));
    assertEquals(List.of(3), keys(mine, "SELECT * WHERE CHAR_LENGTH(v) = 0"));
    assertEquals(List.of(1, 5), keys(mine, "SELECT * WHERE v LIKE 'a%'"));
  }

  @Test
  void timesCompareAndSort() throws Exception {
    Collection<Integer, Row> mine = collection("times", keyed(column("id", GSType.INTEGER), column("v", GSType.TIMESTAMP)));
    mine.put(List.of(row(mine, 1, at(2000)), row(mine, 2, at(0)), row(mine, 3, at(1000)), row(mine, 4, new Object[] {null}[0])));
    assertEquals(List.of(2, 3, 1), keys(mine, "SELECT * WHERE v IS NOT NULL ORDER BY v"));
    assertEquals(List.of(1, 3), keys(mine, "SELECT * WHERE v >= TO_TIMESTAMP_MS(1000)"));
    assertEquals(List.of(3), keys(mine, "SELECT * WHERE v = TIMESTAMP('1970-01-01T00:00:01.000Z')"));
    assertEquals(at(2000), aggregate(mine, "SELECT MAX(v)").getTimestamp());
    assertRefused(150_020, () -> mine.query("SELECT SUM(v)").fetch());
  }

  @Test
  void boolsAreConditions() throws Exception {
    Collection<Integer, Row> mine = collection("bools", keyed(column("id", GSType.INTEGER), column("v", GSType.BOOL)));
    mine.put(List.of(row(mine, 1, true), row(mine, 2, false), row(mine, 3, new Object[] {null}[0])));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE v"));
    assertEquals(List.of(2), keys(mine, "SELECT * WHERE NOT v"));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE v = TRUE AND v <> FALSE"));
    assertEquals(List.of(3), keys(mine, "SELECT * WHERE v IS NULL"));
  }

  @ParameterizedTest
  @EnumSource(value = GSType.class, names = {"BOOL_ARRAY", "SHORT_ARRAY", "LONG_ARRAY", "DOUBLE_ARRAY", "STRING_ARRAY", "TIMESTAMP_ARRAY"})
  void arraysHaveLengthsAndElements(GSType type) throws Exception {
    Object two =
        switch (type) {
          case BOOL_ARRAY -> new boolean[] {false, true};
          case SHORT_ARRAY -> new short[] {1, 2};
          case LONG_ARRAY -> new long[] {1, 2};
          case DOUBLE_ARRAY -> new double[] {1, 2};
          case STRING_ARRAY -> new String[] {"1", "2"};
          default -> new java.util.Date[] {at(1), at(2)};
        };
    String second =
        switch (type) {
          case BOOL_ARRAY -> "TRUE";
          case STRING_ARRAY -> "'2'";
          case TIMESTAMP_ARRAY -> "TO_TIMESTAMP_MS(2)";
          default -> "2";
        };
    Collection<Integer, Row> mine = collection("a" + type, keyed(column("id", GSType.INTEGER), column("v", type)));
    mine.put(List.of(row(mine, 1, two), row(mine, 2, new Object[] {null}[0])));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE ARRAY_LENGTH(v) = 2"));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE ELEMENT(1, v) = " + second));
    assertRefused(152_009, () -> mine.query("SELECT * WHERE ELEMENT(2, v) = " + second).fetch());
  }

  @Test
  void conditionsOnRowKeysBoundWhatIsRead() throws Exception {
    Collection<Row.Key, Row> mine = collection("pairs", composite(2, column("a", GSType.STRING), column("b", GSType.INTEGER), column("v", GSType.INTEGER)));
    for (int i = 0; i < 60; i++) {
      mine.put(row(mine, "k" + i % 3, i / 3, i));
    }
    assertEquals(20, mine.query("SELECT * WHERE a = 'k1'").fetch().size());
    assertEquals(List.of(16), values(mine.query("SELECT * WHERE a = 'k1' AND b = 5"), 2));
    assertEquals(List.of(16, 19), values(mine.query("SELECT * WHERE a = 'k1' AND b >= 5 AND b < 7"), 2));
    assertEquals(List.of(15, 16, 17), values(mine.query("SELECT * WHERE b = 5"), 2));
    assertEquals(40, mine.query("SELECT * WHERE a > 'k0'").fetch().size());
    assertEquals(List.of(59, 58), values(mine.query("SELECT * ORDER BY v DESC LIMIT 2"), 2));
    assertEquals(List.of("k2", "k2"), keys(mine, "SELECT * ORDER BY a DESC, b DESC LIMIT 2"));
    assertEquals(List.of("k0", "k0"), keys(mine, "SELECT * ORDER BY a, b DESC LIMIT 2"));
  }
}
