package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** TIMESTAMP(3), TIMESTAMP(6) and TIMESTAMP(9). */
class PreciseTimesTest extends Suite {
  /** 2024-01-31T12:00:00. */
  private static final long SECOND = 1_706_702_400;
  private static final long LAST_SECOND = 253_402_300_799L;

  private static Timestamp time(long second, int nanos) {
    Timestamp time = new Timestamp(second * 1_000);
    time.setNanos(nanos);
    return time;
  }

  /** Times of a column as seconds and nanoseconds. */
  private List<String> times(String sql, Object... parameters) throws SQLException {
    List<String> times = new ArrayList<>();
    try (PreparedStatement select = connection.prepareStatement(sql)) {
      bind(select, parameters);
      try (ResultSet rows = select.executeQuery()) {
        while (rows.next()) {
          Timestamp time = rows.getTimestamp(1);
          times.add(time == null ? "null" : time.getTime() / 1_000 + "." + String.format("%09d", time.getNanos()));
        }
      }
    }
    return times;
  }

  /** A table of rows 1 to 4: 123456789 nanoseconds of a second, one more, a microsecond more, the last time of all; and 5, which is null. */
  private String events(String ending) throws SQLException {
    String table = table(ending, "(id INTEGER PRIMARY KEY, ms TIMESTAMP(3), us TIMESTAMP(6), ns TIMESTAMP(9), n LONG)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?, ?, ?, ?)")) {
      Timestamp[] times = {time(SECOND, 123_456_789), time(SECOND, 123_456_790), time(SECOND, 123_457_789), time(LAST_SECOND, 999_999_999), null};
      for (int i = 0; i < times.length; i++) {
        insert.setInt(1, i + 1);
        for (int column = 2; column <= 4; column++) {
          insert.setTimestamp(column, times[i]);
        }
        insert.setLong(5, i);
        insert.addBatch();
      }
      assertEquals(5, insert.executeBatch().length);
    }
    return table;
  }

  @Test
  void theyComeBackAtTheirPrecision() throws SQLException {
    String table = events("back");
    assertEquals(List.of(SECOND + ".123456789", SECOND + ".123456790", SECOND + ".123457789", LAST_SECOND + ".999999999", "null"),
        times("SELECT ns FROM " + table + " ORDER BY id"));
    assertEquals(List.of(SECOND + ".123456000", SECOND + ".123456000", SECOND + ".123457000", LAST_SECOND + ".999999000", "null"),
        times("SELECT us FROM " + table + " ORDER BY id"));
    assertEquals(List.of(SECOND + ".123000000", SECOND + ".123000000", SECOND + ".123000000", LAST_SECOND + ".999000000", "null"),
        times("SELECT ms FROM " + table + " ORDER BY id"));
    assertEquals(List.of(LAST_SECOND + ".999999999"), times("SELECT MAX(ns) FROM " + table));
    assertEquals(List.of(SECOND + ".123456000"), times("SELECT MIN(us) FROM " + table));
    assertEquals(List.of(SECOND + ".123456790"), times("SELECT TIMESTAMP_ADD(NANOSECOND, ns, 1) FROM " + table + " WHERE id = 1"));
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT ms, us, ns FROM " + table)) {
      for (int column = 1; column <= 3; column++) {
        assertEquals(Types.TIMESTAMP, rows.getMetaData().getColumnType(column));
      }
      assertTrue(rows.next());
      assertEquals(Timestamp.class, rows.getObject(3).getClass());
      assertEquals(java.util.Date.class, rows.getObject(1).getClass());
    }
  }

  @Test
  void timesOfAllPrecisionsCompare() throws SQLException {
    String table = events("compared");
    for (String index : List.of("", "us", "ns")) {
      if (!index.isEmpty()) {
        update("CREATE INDEX PreciseTimesTest_" + index + " ON " + table + " (" + index + ")");
      }
      assertEquals("1", query("SELECT id FROM " + table + " WHERE ns = TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z')"));
      assertEquals("1 2", query("SELECT id FROM " + table + " WHERE us = TIMESTAMP_US('2024-01-31T12:00:00.123456Z') ORDER BY id"));
      assertEquals("3 4", query("SELECT id FROM " + table + " WHERE us > TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z') ORDER BY id"));
      assertEquals("1 2 3", query("SELECT id FROM " + table + " WHERE ns < TIMESTAMP('2024-01-31T12:00:00.124Z') ORDER BY id"));
      assertEquals("1 2 3", query("SELECT id FROM " + table + " WHERE ms = TIMESTAMP('2024-01-31T12:00:00.123Z') ORDER BY id"));
      assertEquals("2", query("SELECT id FROM " + table + " WHERE ns = ?", time(SECOND, 123_456_790)));
      assertEquals("2 3 4", query("SELECT id FROM " + table + " WHERE ns > ? ORDER BY id", time(SECOND, 123_456_789)));
      assertEquals("1 2 3 4", query("SELECT id FROM " + table + " WHERE ns > us ORDER BY id"));
      assertEquals("1 2 3", query("SELECT id FROM " + table + " WHERE ms <= ns AND ms < ? ORDER BY id", new java.util.Date(SECOND * 1_000 + 200)));
    }
    assertEquals("1|1|1000", query("SELECT TIMESTAMP_DIFF(NANOSECOND, b.ns, a.ns), EXTRACT(NANOSECOND, b.ns) - EXTRACT(NANOSECOND, a.ns), "
        + "TIMESTAMP_DIFF(NANOSECOND, c.ns, a.ns) FROM " + table + " a, " + table + " b, " + table + " c WHERE a.id = 1 AND b.id = 2 AND c.id = 3"));
    assertEquals("1|3", query("SELECT COUNT(*), SUM(n) FROM " + table + " WHERE ns = TIMESTAMP_NS('9999-12-31T23:59:59.999999999Z')"));
  }

  @Test
  void parametersFinerThanTheirColumnCompare() throws SQLException {
    String table = table("finer", "(id INTEGER PRIMARY KEY, ms TIMESTAMP(3))");
    update("INSERT INTO " + table + " VALUES (1, TIMESTAMP('2024-01-31T12:00:00.123Z')), (2, TIMESTAMP('2024-01-31T12:00:00.124Z'))");
    Timestamp between = time(SECOND, 123_000_001);
    assertEquals("", query("SELECT id FROM " + table + " WHERE ms = ?", between));
    assertEquals("1", query("SELECT id FROM " + table + " WHERE ms < ?", between));
    assertEquals("2", query("SELECT id FROM " + table + " WHERE ms >= ?", between));
    assertEquals(List.of(SECOND + ".120000000"), times("SELECT ms, COUNT(*) FROM " + table
        + " WHERE ms BETWEEN TIMESTAMP('2024-01-31T12:00:00Z') AND ? GROUP BY RANGE ms EVERY (10, MILLISECOND)", between));
    String precise = events("years");
    assertRefused(60_046, () -> update("INSERT INTO " + precise + " (id, ns) VALUES (9, 4611686018427388)"));
    assertRefused(EXECUTION, () -> query("SELECT id FROM " + precise + " WHERE ns > 5"));
  }

  @Test
  void theyAreWrittenByTexts() throws SQLException {
    String table = table("texts", "(id INTEGER PRIMARY KEY, us TIMESTAMP(6) NOT NULL, ns TIMESTAMP(9))");
    update("INSERT INTO " + table + " VALUES (1, TIMESTAMP_US('2024-01-31T12:00:00.123456Z'), TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z'))");
    update("INSERT INTO " + table + " VALUES (2, TIMESTAMP('2024-01-31T12:00:00.123Z'), NULL)");
    assertEquals(List.of(SECOND + ".123456000", SECOND + ".123000000"), times("SELECT us FROM " + table + " ORDER BY id"));
    assertEquals(1, update("UPDATE " + table + " SET ns = TIMESTAMP_ADD(NANOSECOND, ns, 211), us = us WHERE id = 1"));
    assertEquals(List.of(SECOND + ".123457000"), times("SELECT ns FROM " + table + " WHERE id = 1"));
    assertEquals(1, update("UPDATE " + table + " SET ns = ? WHERE us < TIMESTAMP_NS('2024-01-31T12:00:00.123000001Z')", time(5, 5)));
    assertEquals(List.of("5.000000005"), times("SELECT ns FROM " + table + " WHERE id = 2"));
    assertEquals(1, update("DELETE FROM " + table + " WHERE ns = TIMESTAMP_NS('2024-01-31T12:00:00.123457Z')"));
    assertEquals("1", query("SELECT COUNT(*) FROM " + table));
    assertRefused(60_046, () -> update("INSERT INTO " + table + " VALUES (3, NULL, NULL)"));
    assertRefused(SYNTAX, () -> update("CREATE TABLE " + name("wrong") + " (id INTEGER PRIMARY KEY, at TIMESTAMP(4))"));
  }

  @Test
  void theyAreRowKeys() throws SQLException {
    String table = table("keys", "(at TIMESTAMP(9) PRIMARY KEY, v LONG)");
    for (int i = 0; i < 100; i++) {
      assertEquals(1, update("INSERT INTO " + table + " VALUES (?, ?)", time(SECOND, i * 7_777_777), (long) i));
    }
    assertRefused(60_049, () -> update("INSERT INTO " + table + " VALUES (?, 0)", time(SECOND, 7_777_777)));
    assertEquals("1", query("SELECT v FROM " + table + " WHERE at = ?", time(SECOND, 7_777_777)));
    assertEquals("99 98", query("SELECT v FROM " + table + " ORDER BY at DESC LIMIT 2"));
    assertEquals("0 1 2", query("SELECT v FROM " + table + " WHERE at BETWEEN ? AND ?", time(SECOND, 0), time(SECOND, 15_555_554)));
    assertEquals(1, update("UPDATE " + table + " SET v = -1 WHERE at = TIMESTAMP_NS('2024-01-31T12:00:00.007777777Z')"));
    assertEquals("-1", query("SELECT v FROM " + table + " WHERE at = ?", time(SECOND, 7_777_777)));
    assertEquals("100", query("SELECT COUNT(*) FROM " + table + " a JOIN " + table + " b ON a.at = b.at"));
  }

  @Test
  void rowsWithoutAKeyAreChanged() throws SQLException {
    String table = table("unkeyed", "(at TIMESTAMP(6), v LONG)");
    update("INSERT INTO " + table + " VALUES (?, 1), (?, 2)", time(SECOND, 1_000), time(SECOND, 2_000));
    assertEquals(1, update("UPDATE " + table + " SET at = TIMESTAMP_ADD(MICROSECOND, at, 10) WHERE at > TIMESTAMP_US('2024-01-31T12:00:00.000001Z')"));
    assertEquals(List.of(SECOND + ".000001000", SECOND + ".000012000"), times("SELECT at FROM " + table + " ORDER BY at"));
    assertEquals(1, update("DELETE FROM " + table + " WHERE at = ?", time(SECOND, 12_000)));
    assertEquals("1", query("SELECT v FROM " + table));
  }

  @Test
  void theyAreGroupedByRanges() throws SQLException {
    String table = events("ranges");
    assertEquals(List.of(SECOND + ".000000000"), times("SELECT ns, COUNT(*) FROM " + table
        + " WHERE ns BETWEEN TIMESTAMP('2024-01-31T12:00:00Z') AND TIMESTAMP('2024-01-31T12:00:09Z') GROUP BY RANGE ns EVERY (10, SECOND)"));
  }

  @Test
  void metadataTellThem() throws SQLException {
    events("metadata");
    List<String> told = new ArrayList<>();
    try (ResultSet columns = connection.getMetaData().getColumns(null, null, name("metadata"), null)) {
      while (columns.next()) {
        told.add(columns.getString("COLUMN_NAME") + " " + columns.getInt("DATA_TYPE") + " " + columns.getString("TYPE_NAME") + " "
            + columns.getString("DECIMAL_DIGITS") + " " + columns.getInt("CHAR_OCTET_LENGTH"));
      }
    }
    assertEquals(List.of("id 4 INTEGER null 2000000000", "ms 93 TIMESTAMP 3 30", "us 93 TIMESTAMP(6) 6 33", "ns 93 TIMESTAMP(9) 9 36",
        "n -5 LONG null 2000000000"), told);
    assertEquals("INTEGER TIMESTAMP TIMESTAMP(6) TIMESTAMP(9) LONG",
        query("SELECT type_name FROM \"#columns\" WHERE table_name = '" + name("metadata") + "' ORDER BY ordinal_position"));
  }
}
