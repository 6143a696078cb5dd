package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Aggregates that the node makes where rows lie: what they are of the same rows in a subquery, which are read one by one. */
class AggregatesTest extends Suite {
  private static final String COLUMNS = "k LONG%s, b BOOL, s SHORT, i INTEGER, f FLOAT, d DOUBLE, t STRING, at TIMESTAMP, bytes BLOB";
  private static final int ROWS = 3_000;

  private final Random random = new Random(9);

  @SafeVarargs
  private <T> T pick(T... from) {
    return from[random.nextInt(from.length)];
  }

  /** A table of random rows, whose sums of real numbers do not round. */
  private String filled(String ending, String key, String options) throws SQLException {
    String bytes = "CASE ? WHEN 0 THEN X'' WHEN 1 THEN X'01' END";
    String table = table(ending, "(" + COLUMNS.formatted(key) + ")" + options);
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, " + bytes + ")")) {
      for (int row = 0; row < ROWS; row++) {
        bind(insert, row, pick(true, false, null), pick(-3, 0, 7, null), pick(Integer.MIN_VALUE, 1, 2, 3, null), pick(0.5f, -2f, null),
            pick(0.25, -1e6, 4096.0, null), pick("", "a", "B", "größe", "10", null), pick(new Timestamp(0), new Timestamp(1_764_000_000_123L), null),
            pick(0, 1, 2));
        insert.addBatch();
        if (row % 500 == 499) {
          insert.executeBatch();
        }
      }
    }
    return table;
  }

  private String term() {
    String value = pick("0", "1", "2.5", "-3", "1e300", "9999999999999");
    return switch (random.nextInt(9)) {
      case 0 -> "k < " + pick("100", "1500", "-1", "2999.5");
      case 1 -> pick("s", "i", "f", "d") + pick(" = ", " < ", " >= ", " <= ") + value;
      case 2 -> value + " < " + pick("s", "i", "d");
      case 3 -> "t " + pick("= ", "> ", "<= ") + pick("'a'", "''", "'größe'", "'10'", "NULL");
      case 4 -> "at >= " + pick("TIMESTAMP('2020-01-01')", "TO_TIMESTAMP_MS(0)", "0", "-5");
      case 5 -> "k BETWEEN 10 AND " + pick("20", "2000");
      case 6 -> "b = " + pick("TRUE", "FALSE", "2");
      case 7 -> pick("i", "t") + " IS NOT NULL";
      default -> "bytes = X'01'";
    };
  }

  private String item() {
    String function = pick("COUNT", "MIN", "MAX", "SUM", "AVG");
    boolean isSum = function.equals("SUM") || function.equals("AVG");
    String column = isSum ? pick("k", "b", "s", "i", "f", "d") : pick("k", "b", "s", "i", "f", "d", "t", "at", "bytes");
    return pick("COUNT(*)", function + "(" + column + ")", function + "(x." + column + ")");
  }

  private List<String> rows(String sql) throws SQLException {
    List<String> rows = new ArrayList<>(List.of(query(sql).split(" ", -1)));
    if (!sql.contains("ORDER BY")) {
      Collections.sort(rows);
    }
    return rows;
  }

  @ParameterizedTest
  @ValueSource(strings = {"rows;;", "keyed; PRIMARY KEY;", "hashed; PRIMARY KEY; PARTITION BY HASH (k) PARTITIONS 4", "ranged; PRIMARY KEY; PARTITION BY RANGE (k) EVERY (1000)"})
  void areThoseOfRowsThatAreRead(String kind) throws SQLException {
    String[] parts = kind.split(";", -1);
    String table = filled(parts[0], parts[1], parts[2]);
    for (int number = 0; number < 80; number++) {
      String groups = pick("", "", "s", "t", "i, b", "at", "d", "bytes", "f");
      String sql = "SELECT " + item() + ", " + item() + (groups.isEmpty() ? "" : ", " + groups) + " FROM %s x";
      if (random.nextInt(3) > 0) {
        sql += " WHERE " + term() + pick("", " AND " + term());
      }
      sql += groups.isEmpty() ? "" : " GROUP BY " + groups;
      sql += random.nextInt(3) == 0 ? " HAVING " + pick("COUNT(*)", "SUM(i)", "MAX(k)", "MIN(at)", "AVG(d)") + " > 1" : "";
      sql += !groups.isEmpty() && random.nextInt(3) == 0 ? " ORDER BY " + groups + " DESC LIMIT 3" : "";
      assertEquals(rows(sql.formatted("(SELECT * FROM " + table + ")")), rows(sql.formatted(table)), sql);
    }
    update("DELETE FROM " + table + " WHERE k >= 100");
    assertEquals("100|4950|49.5|0|99", query("SELECT COUNT(*), SUM(k), AVG(k), MIN(k), MAX(k) FROM " + table));
    assertEquals("0|null|null", query("SELECT COUNT(d), SUM(d), MIN(t) FROM " + table + " WHERE k > 100"));
    assertEquals("3|6", query("SELECT COUNT(*), SUM(k) FROM " + table + " WHERE k <= ? AND k > ?", 3, 0));
  }

  @Test
  void ofATimeSeriesAndManyGroups() throws SQLException {
    String table = table("series", "(at TIMESTAMP PRIMARY KEY, value DOUBLE, big LONG) USING TIMESERIES");
    update("INSERT INTO " + table + " SELECT TO_TIMESTAMP_MS(n * 1000), n % 10, 4611686018427387904 FROM (" + QueriesTest.numbers(25_000) + ")");
    assertEquals("25000|112500.0|0|24999000", query("SELECT COUNT(*), SUM(value), MIN(at), MAX(at) FROM " + table));
    assertEquals("1000|4500.0", query("SELECT COUNT(*), SUM(value) FROM " + table + " WHERE at >= TO_TIMESTAMP_MS(5000000) AND at < TO_TIMESTAMP_MS(6000000)"));
    assertEquals(25_000, query("SELECT at, COUNT(*) FROM " + table + " GROUP BY at").split(" ").length);
    assertEquals("25000|1 24998|1", query("SELECT MAX(value) + at / 1000 - 8, COUNT(*) FROM " + table + " GROUP BY at HAVING at > 24997000 ORDER BY 1 DESC LIMIT 2").replace(".0", ""));
    assertRefused(EXECUTION, () -> query("SELECT SUM(big) FROM " + table));
    assertEquals("true", query("SELECT AVG(big) = 4611686018427387904.0 FROM " + table));
  }
}
