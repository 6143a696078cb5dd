package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Statements that read. */
class QueriesTest extends Suite {
  @BeforeAll
  void fill() throws SQLException {
    update("DROP TABLE IF EXISTS staff");
    update("DROP TABLE IF EXISTS team");
    update("DROP TABLE IF EXISTS reading");
    update("CREATE TABLE staff (id INTEGER PRIMARY KEY, name STRING, team LONG, pay DOUBLE, active BOOL, since TIMESTAMP)");
    update("CREATE TABLE team (id LONG PRIMARY KEY, name STRING NOT NULL)");
    update("CREATE TABLE reading (at TIMESTAMP PRIMARY KEY, sensor STRING, value DOUBLE) USING TIMESERIES");
    update("CREATE INDEX by_team ON staff (team)");
    update("INSERT INTO team VALUES (1, 'red'), (2, 'blue'), (3, 'none')");
    update(
        "INSERT INTO staff VALUES (1, 'ann', 1, 10.5, TRUE, TIMESTAMP('2020-01-01T00:00:00Z')), (2, 'bob', 1, 20, FALSE, NULL),"
            + " (3, 'cid', 2, NULL, TRUE, TIMESTAMP('2021-06-01T12:00:00Z')), (4, 'dan', NULL, 40, FALSE, TIMESTAMP('2022-02-28T23:59:59.999Z')),"
            + " (5, 'o''hara', 2, -1.25, TRUE, TIMESTAMP('2023-01-01'))");
    update("INSERT INTO reading SELECT TIMESTAMP('2024-01-01') + n * 60000, 's' || (n % 3), n FROM (" + numbers(100) + ")");
  }

  /** The numbers below this one. */
  static String numbers(int count) {
    return "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < " + (count - 1) + ") SELECT n FROM c";
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', quoteCharacter = '`', value = {
    "SELECT 1; 1",
    "SELECT 1 + 1, 'a', 2.5, NULL, X'00ff'; 2|a|2.5|null|00ff",
    "VALUES (1, 'a'), (2, 'b'); 1|a 2|b",
    "SELECT * FROM team ORDER BY id; 1|red 2|blue 3|none",
    "SELECT * FROM Team WHERE ID = 2; 2|blue",
    "SELECT \"name\" FROM [team] WHERE id = 1; red",
    "SELECT id FROM staff; 1 2 3 4 5",
    "SELECT id FROM staff WHERE id > 1 AND id <= 3; 2 3",
    "SELECT id FROM staff WHERE id = 2 OR name = 'dan'; 2 4",
    "SELECT id FROM staff WHERE name = 'o''hara'; 5",
    "SELECT id FROM staff WHERE team = 2; 3 5",
    "SELECT id FROM staff WHERE team IS NULL; 4",
    "SELECT id FROM staff WHERE team IN (1, 2) AND id NOT IN (1); 2 3 5",
    "SELECT id FROM staff WHERE id IN (1, 3, 9); 1 3",
    "SELECT id FROM staff WHERE pay BETWEEN 10 AND 30; 1 2",
    "SELECT id FROM staff WHERE active AND pay < 0; 5",
    "SELECT id FROM staff WHERE active = FALSE; 2 4",
    "SELECT id FROM staff WHERE name LIKE '_a%'; 4",
    "SELECT id FROM staff WHERE id > 2.5; 3 4 5",
    "SELECT id FROM staff WHERE id > 99999999999; ``",
    "SELECT id FROM staff ORDER BY id DESC; 5 4 3 2 1",
    "SELECT id FROM staff ORDER BY id DESC LIMIT 2; 5 4",
    "SELECT id FROM staff ORDER BY id LIMIT 2 OFFSET 1; 2 3",
    "SELECT name FROM staff ORDER BY name DESC LIMIT 1; o'hara",
    "SELECT id FROM staff ORDER BY team NULLS FIRST, pay DESC; 4 2 1 3 5",
    "SELECT DISTINCT team FROM staff ORDER BY team; 1 2 null",
    "SELECT DISTINCT team FROM staff ORDER BY team DESC; null 2 1",
    "SELECT COUNT(*), COUNT(pay), SUM(pay), MIN(id), MAX(name) FROM staff; 5|4|69.25|1|o'hara",
    "SELECT AVG(pay) FROM staff; 17.3125",
    "SELECT COUNT(*) FROM staff WHERE id > 100; 0",
    "SELECT SUM(pay) FROM staff WHERE id > 100; null",
    "SELECT team, COUNT(*) FROM staff GROUP BY team ORDER BY team; 1|2 2|2 null|1",
    "SELECT team, COUNT(*) n FROM staff GROUP BY team HAVING n > 1 ORDER BY 1; 1|2 2|2",
    "SELECT GROUP_CONCAT(name, '+') FROM staff WHERE team = 1; ann+bob",
    "SELECT s.name, t.name FROM staff s JOIN team t ON s.team = t.id ORDER BY s.id; ann|red bob|red cid|blue o'hara|blue",
    "SELECT s.id, t.id FROM staff s LEFT JOIN team t ON t.id = s.team ORDER BY s.id; 1|1 2|1 3|2 4|null 5|2",
    "SELECT t.name, COUNT(s.id) FROM team t LEFT JOIN staff s ON s.team = t.id GROUP BY t.id ORDER BY t.id; red|2 blue|2 none|0",
    "SELECT a.id, b.id FROM staff a JOIN staff b ON a.team = b.team AND a.id < b.id ORDER BY 1; 1|2 3|5",
    "SELECT COUNT(*) FROM staff, team; 15",
    "SELECT a.id FROM staff a, staff b WHERE a.name = b.name ORDER BY 1; 1 2 3 4 5",
    "SELECT name FROM team WHERE id = (SELECT MAX(team) FROM staff); blue",
    "SELECT name FROM team t WHERE NOT EXISTS (SELECT 1 FROM staff s WHERE s.team = t.id); none",
    "SELECT id FROM team UNION SELECT team FROM staff WHERE team > 1 ORDER BY id; 1 2 3",
    "SELECT id FROM team EXCEPT SELECT team FROM staff; 3",
    "SELECT id FROM team INTERSECT SELECT team FROM staff; 1 2",
    "WITH t AS (SELECT team, SUM(pay) p FROM staff GROUP BY team) SELECT * FROM t WHERE p > 0 ORDER BY p; 1|30.5 null|40.0",
    "WITH RECURSIVE f(n, v) AS (SELECT 1, 1 UNION ALL SELECT n + 1, v * (n + 1) FROM f WHERE n < 5) SELECT v FROM f; 1 2 6 24 120",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY team ORDER BY id DESC) FROM staff ORDER BY id; 1|2 2|1 3|2 4|1 5|1",
    "SELECT id, SUM(id) OVER (ORDER BY id ROWS 1 PRECEDING) FROM staff; 1|1 2|3 3|5 4|7 5|9",
    "SELECT id, LAG(id) OVER (ORDER BY id), LEAD(name) OVER (ORDER BY id) FROM staff WHERE id < 3; 1|null|bob 2|1|null",
    "SELECT CASE WHEN pay > 15 THEN 'much' WHEN pay IS NULL THEN 'none' ELSE 'less' END FROM staff; less much none much less",
    "SELECT COALESCE(team, -1), IFNULL(pay, 0), NULLIF(id, 1) FROM staff WHERE id IN (1, 4); 1|10.5|null -1|40.0|4",
    "SELECT UPPER(name), LENGTH(name), SUBSTR(name, 2), REPLACE(name, 'n', 'N'), name || '!' FROM staff WHERE id = 1; ANN|3|nn|aNN|ann!",
    "SELECT ABS(-2), ROUND(2.567, 1), FLOOR(2.7), CEIL(2.1), POWER(2, 10), SQRT(16), 7 % 4; 2|2.6|2.0|3.0|1024.0|4.0|3",
    "SELECT CAST('12' AS INTEGER) + 1, CAST(1.9 AS INTEGER), CAST(5 AS TEXT), TYPEOF(1.0); 13|1|5|DOUBLE",
    "SELECT CHAR_LENGTH('größe'), TRIM('  a '), CONCAT('a', 1, NULL, 'b'), INSTR('abc', 'c'); 5|a|a1b|3",
    "SELECT VAR_POP(id), STDDEV_SAMP(id) FROM staff WHERE id < 4; 0.6666666666666666|1.0",
    "SELECT since FROM staff ORDER BY id LIMIT 1; 1577836800000",
    "SELECT MAX(since), MIN(since) FROM staff; 1672531200000|1577836800000",
    "SELECT id FROM staff WHERE since >= TIMESTAMP('2022-01-01T00:00:00Z') ORDER BY id; 4 5",
    "SELECT EXTRACT(YEAR, since), EXTRACT(MONTH, since), EXTRACT(MILLISECOND, since) FROM staff WHERE id = 4; 2022|2|999",
    "SELECT TIMESTAMP_ADD(MONTH, TIMESTAMP('2024-01-31T01:00:00Z'), 1); 1709168400000",
    "SELECT TIMESTAMP_TRUNC(DAY, since) FROM staff WHERE id = 3; 1622505600000",
    "SELECT TIMESTAMP_DIFF(DAY, TIMESTAMP('2024-03-01'), TIMESTAMP('2024-02-01')); 29",
    "SELECT TO_EPOCH_MS(TO_TIMESTAMP_MS(5)), STRFTIME('%Y-%m-%d %H:%M:%S', TO_TIMESTAMP_MS(0)); 5|1970-01-01 00:00:00",
    "SELECT CAST('2018-12-01T10:30:00+09:00' AS TIMESTAMP), CAST(10.5 AS LONG), CAST('true' AS BOOL), CAST(1 AS STRING); 1543627800000|10|true|1",
    "SELECT CAST(since AS STRING), since || '!', CAST(active AS STRING), TYPEOF(since) FROM staff WHERE id = 1;"
        + " 2020-01-01T00:00:00.000Z|2020-01-01T00:00:00.000Z!|true|TIMESTAMP",
    "SELECT id FROM staff WHERE since > CAST('2021-06-01T12:00:00Z' AS TIMESTAMP); 4 5",
    "SELECT STRFTIME('%c %H:%M:%S%z %3f %w %W %j %%', TIMESTAMP('2019-06-19T14:15:01.123Z'), '+09:00');"
        + " 2019-06-19T23:15:01.123+09:00 23:15:01+09:00 123 3 24 170 %",
    "SELECT EXTRACT(HOUR, TIMESTAMP('2018-12-01T10:30:02.392Z'), '+09:00'), TIMESTAMP_TRUNC(DAY, MAKE_TIMESTAMP(2019, 5, 15), '-01:00'); 19|1557795600000",
    "SELECT team, COALESCE(active, FALSE), MAX(since, TIMESTAMP('2021-01-01')) FROM staff WHERE id < 3; 1|true|1609459200000 1|false|null",
    "SELECT COUNT(*) FROM reading WHERE at >= TIMESTAMP('2024-01-01T00:10:00Z') AND at < TIMESTAMP('2024-01-01T00:20:00Z'); 10",
    "SELECT sensor, MAX(value) FROM reading GROUP BY sensor ORDER BY sensor; s0|99.0 s1|97.0 s2|98.0",
    "SELECT value FROM reading ORDER BY at DESC LIMIT 3; 99.0 98.0 97.0",
    "SELECT EXTRACT(HOUR, at) h, AVG(value) FROM reading GROUP BY h ORDER BY h; 0|29.5 1|79.5",
    "SELECT value FROM reading r JOIN team t ON t.id = r.value ORDER BY 1; 1.0 2.0 3.0",
    "SELECT 1 WHERE 1 = 0; ``",
    "/* a comment */ SELECT 1 -- another; 1",
  })
  void selects(String sql, String expected) throws SQLException {
    assertEquals(expected, query(sql), sql);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "SELEC 1", "SELECT", "SELECT * FROM nowhere", "SELECT nothing FROM team", "SELECT 1; SELECT 2", "SELECT unknown(1)", "SELECT COUNT(*, 1)",
    "SELECT * FROM team WHERE", "SELECT 'a", "SELECT (1", "ATTACH DATABASE '/etc/passwd' AS x", "PRAGMA table_info(team)", "VACUUM",
    "SELECT load_extension('x')", "CREATE VIEW v AS SELECT 1", "EXPLAIN", "", "SELECT ?", "SELECT * FROM sqlite_master",
    "SELECT * FROM \"#databases\"", "SELECT * FROM \"#sqls\"",
  })
  void refusesWhatIsWrong(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      assertRefused(SYNTAX, () -> statement.executeQuery(sql));
    }
    assertEquals("1", query("SELECT 1"), "the connection goes on");
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "SELECT id FROM staff WHERE since > '2020-01-01'", "SELECT id FROM staff WHERE id = '1'", "SELECT \"nam\" FROM staff", "SELECT id FROM staff WHERE \"nam\" = 'ann'",
    "SELECT CAST(since AS LONG) FROM staff", "SELECT CAST(1 AS DECIMAL)", "DELETE FROM staff WHERE \"nam\" = 'ann'",
    "UPDATE staff SET pay = \"pai\"", "DELETE FROM staff WHERE since = '2020-01-01'",
  })
  void mindsNamesAndTypes(String sql) {
    assertRefused(SYNTAX, () -> update(sql));
    assertRefused(SYNTAX, () -> query(sql.replace("DELETE FROM", "SELECT * FROM").replace("UPDATE staff SET pay =", "SELECT * FROM staff WHERE pay =")));
  }

  @Test
  void mindsTypesOfParametersAndValues() throws SQLException {
    assertRefused(SYNTAX, () -> query("SELECT id FROM staff WHERE since > ?", "2020-01-01T00:00:00Z"));
    assertRefused(SYNTAX, () -> query("SELECT id FROM staff WHERE id = ?", "1"));
    assertRefused(SYNTAX, () -> query("SELECT id FROM staff WHERE name = ?", 1));
    assertRefused(SYNTAX, () -> update("DELETE FROM staff WHERE since > ?", "2020-01-01T00:00:00Z"));
    assertEquals("4 5", query("SELECT id FROM staff WHERE since > ?", new Timestamp(1_640_000_000_000L)));
    for (String wrong : List.of("1 / 0", "id % 0", "pay / (id - id)", "CAST(128 AS BYTE)", "CAST('abc' AS INTEGER)", "CAST('soon' AS TIMESTAMP)")) {
      assertRefused(EXECUTION, () -> query("SELECT " + wrong + " FROM staff"));
    }
    assertEquals("5", query("SELECT COUNT(*) FROM staff"), "nothing was deleted");
  }

  @Test
  void explainsWithItsOwnTypes() throws SQLException {
    assertTrue(query("EXPLAIN QUERY PLAN SELECT 'a', name FROM staff").contains("SCAN staff"));
    String program = query("EXPLAIN SELECT 'a', name FROM staff");
    assertTrue(program.contains("|vtab|") && !program.contains("vtab:"), program);
  }

  @Test
  void aConnectionHasATimeZone() throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("user", "admin");
    properties.setProperty("password", "admin");
    properties.setProperty("timeZone", "+09:00");
    String sql = "SELECT CAST(since AS STRING), EXTRACT(HOUR, since), TO_EPOCH_MS(TIMESTAMP('1970-01-01T09:00:00')), EXTRACT(HOUR, since, 'Z') FROM staff WHERE id = 3";
    try (Connection east = DriverManager.getConnection("jdbc:gs://" + Server.SQL + "/TarnDB/public", properties);
        Statement statement = east.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      assertEquals("2021-06-01T21:00:00.000+09:00|21|0|12", text(rows));
    }
    assertEquals("2021-06-01T12:00:00.000Z|12|32400000|12", query(sql));
  }

  @Test
  void rangesOfTimeAreGroupedAndFilled() throws SQLException {
    long start = 1_704_067_200_000L;
    String between = "at BETWEEN TIMESTAMP('2024-01-01T00:00:00Z') AND TIMESTAMP('2024-01-01T00:59:59Z')";
    assertEquals(start + "|9.5|20 " + (start + 1_200_000) + "|29.5|20 " + (start + 2_400_000) + "|49.5|20",
        query("SELECT at, AVG(value), COUNT(*) FROM reading WHERE " + between + " GROUP BY RANGE(at) EVERY(20, MINUTE)"));
    String every15 = "SELECT at, sensor, value FROM reading WHERE at >= ? AND at < ? AND value IN (0, 1, 60) GROUP BY RANGE at EVERY (15, MINUTE) FILL (";
    Timestamp from = new Timestamp(start);
    Timestamp to = new Timestamp(start + 75 * 60_000);
    List<String> steps = List.of("0|s0|0.0", "900000|s0|15.0", "1800000|s0|30.0", "2700000|s0|45.0", "3600000|s0|60.0");
    List<String> linear = steps.stream().map(step -> start + Long.parseLong(step.split("\\|")[0]) + step.substring(step.indexOf('|'))).toList();
    assertEquals(String.join(" ", linear), query(every15.replace("IN (0, 1, 60)", "IN (0, 60)") + "LINEAR)", from, to));
    assertEquals(5, query(every15 + "NULL)", from, to).split(" ").length);
    assertEquals(2, query(every15 + "NONE)", from, to).split(" ").length);
    assertTrue(query(every15 + "PREVIOUS)", from, to).startsWith(start + "|s"));
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT * FROM reading WHERE " + between + " GROUP BY RANGE at EVERY (1, HOUR)")) {
      assertEquals("TIMESTAMP STRING DOUBLE", String.join(" ",
          List.of(rows.getMetaData().getColumnTypeName(1), rows.getMetaData().getColumnTypeName(2), rows.getMetaData().getColumnTypeName(3))));
      assertEquals("at", rows.getMetaData().getColumnLabel(1));
    }
    assertRefused(SYNTAX, () -> query("SELECT * FROM reading GROUP BY RANGE at EVERY (1, HOUR)"));
    assertRefused(SYNTAX, () -> query("SELECT * FROM reading WHERE " + between + " GROUP BY RANGE value EVERY (1, HOUR)"));
    assertRefused(EXECUTION, () -> query("SELECT * FROM reading WHERE at > TIMESTAMP('1970-01-02') AND at < NOW() GROUP BY RANGE at EVERY (1, SECOND) FILL (NULL)"));
  }

  @Test
  void refusesWhatCannotBeComputed() throws SQLException {
    assertRefused(EXECUTION, () -> query("SELECT TIMESTAMP('no time')"));
    assertRefused(EXECUTION, () -> query("SELECT SUM(9223372036854775807) FROM staff"));
    assertRefused(EXECUTION, () -> query("SELECT ZEROBLOB(1000000000)"));
  }

  @Test
  void resultsHaveTheTypesOfTheirColumns() throws SQLException {
    String sql = "SELECT id, name, team, pay, active, since, COUNT(*), AVG(pay), MIN(since), MAX(id), 'x' AS label FROM staff";
    List<String> types = new ArrayList<>();
    List<String> labels = new ArrayList<>();
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
      ResultSetMetaData metaData = rows.getMetaData();
      for (int column = 1; column <= metaData.getColumnCount(); column++) {
        types.add(metaData.getColumnTypeName(column));
        labels.add(metaData.getColumnLabel(column));
      }
    }
    assertEquals("INTEGER STRING LONG DOUBLE BOOL TIMESTAMP LONG DOUBLE TIMESTAMP INTEGER STRING", String.join(" ", types));
    assertEquals(List.of("id", "name", "team", "pay", "active", "since"), labels.subList(0, 6));
    assertEquals("label", labels.get(10));
  }

  @Test
  void valuesAreReadInTheirTypes() throws SQLException {
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT * FROM staff WHERE id = 1")) {
      assertTrue(rows.next());
      assertEquals(1, rows.getInt("id"));
      assertEquals("ann", rows.getString("name"));
      assertEquals(1L, rows.getLong("team"));
      assertEquals(10.5, rows.getDouble("pay"));
      assertTrue(rows.getBoolean("active"));
      assertEquals(1_577_836_800_000L, rows.getTimestamp("since").getTime());
    }
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT pay FROM staff WHERE id = 3")) {
      assertTrue(rows.next());
      assertEquals(0.0, rows.getDouble(1));
      assertTrue(rows.wasNull());
    }
  }
}
