package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** EXPLAIN ANALYZE. Tables: `staff` has 3,000 rows and two indexes, `team` ten, `parts` 30,000 in four data partitions. */
class AnalyzeTest extends Suite {
  private String staff;
  private String team;
  private String parts;

  @BeforeAll
  void fill() throws SQLException {
    staff = table("staff", "(id INTEGER PRIMARY KEY, name STRING, team LONG, pay DOUBLE)");
    team = table("team", "(id LONG PRIMARY KEY, name STRING NOT NULL)");
    parts = table("parts", "(id INTEGER PRIMARY KEY, v LONG) PARTITION BY HASH (id) PARTITIONS 4");
    update("CREATE INDEX analyzed ON " + staff + " (team)");
    update("INSERT INTO " + staff + " SELECT n, 'n' || n, n % 10, n FROM (" + QueriesTest.numbers(3_000) + ")");
    update("INSERT INTO " + team + " SELECT n, 't' || n FROM (" + QueriesTest.numbers(10) + ")");
    update("INSERT INTO " + parts + " SELECT n, n FROM (" + QueriesTest.numbers(30_000) + ")");
    update("CREATE OR REPLACE VIEW " + name("view") + " AS SELECT name FROM " + staff + " WHERE id < 10");
  }

  @AfterAll
  void dropView() throws SQLException {
    update("DROP VIEW " + name("view"));
  }

  private String named(String sql) {
    return sql.replace("STAFF", staff).replace("TEAM", team).replace("PARTS", parts).replace("VIEW", name("view"));
  }

  /** What is told of how rows were read, and of all: without the plan, and without times, which have to be there. */
  private static String told(ResultSet rows) throws SQLException {
    List<String> all = new ArrayList<>();
    double read = 0;
    while (rows.next()) {
      if (rows.getString("STEP").equals("PLAN")) {
        continue;
      }
      double time = rows.getDouble("TIME_MS");
      assertTrue(!rows.wasNull() && time >= 0);
      List<String> row = new ArrayList<>();
      for (int column = 1; column < 8; column++) {
        row.add(rows.getString(column) == null ? "" : rows.getString(column));
      }
      all.add(String.join("|", row));
      if (rows.getString("STEP").equals("TOTAL")) {
        assertTrue(time >= read, time + " of " + read);
      } else if (rows.getLong("TIMES") == 1) {
        read += time;
      }
    }
    return String.join(" + ", all).replace(AnalyzeTest.class.getSimpleName() + "_", "");
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', quoteCharacter = '`', value = {
    "SELECT * FROM STAFF; READ||staff|SCAN|1|3000|3000 + TOTAL|||||3000|3000",
    "SELECT * FROM STAFF WHERE id BETWEEN 10 AND 20 AND name = 'n15';"
        + " READ|WHERE \"name\" = 'n15' AND \"id\" >= 10 AND \"id\" <= 20|staff|ROW KEY|1|11|1 + TOTAL|||||11|1",
    "SELECT * FROM STAFF WHERE pay = 7; READ||staff|SCAN|1|3000|3000 + TOTAL|||||3000|1",
    "SELECT name FROM STAFF WHERE team = 3 ORDER BY id DESC;"
        + " READ|WHERE \"team\" = 3 ORDER BY \"id\" DESC|staff|INDEX analyzed|1|300|300 + TOTAL|||||300|300",
    "SELECT s.name, t.name FROM STAFF s JOIN TEAM t ON s.team = t.id WHERE s.id < 100;"
        + " READ|WHERE \"id\" < 100|staff|ROW KEY|1|100|100 + READ|WHERE \"id\" = ?|team|ROW KEY|100|100|100 + TOTAL|||||200|100",
    "SELECT team, COUNT(*) FROM STAFF WHERE id >= 100 GROUP BY team;"
        + " AGGREGATE|WHERE \"id\" >= 100|staff|ROW KEY|1|2900|10 + TOTAL|||||2900|10",
    "SELECT COUNT(v) FROM PARTS; AGGREGATE||parts|SCAN|4|30000|4 + TOTAL|||||30000|1",
    "SELECT * FROM PARTS WHERE id = 5 OR v = 7;"
        + " READ|WHERE \"id\" = 5|parts|ROW KEY|1|1|1 + READ|WHERE \"v\" = 7|parts|SCAN|4|30000|1 + TOTAL|||||30001|2",
    "SELECT * FROM PARTS; READ||parts|SCAN|4|30000|30000 + TOTAL|||||30000|30000",
    "SELECT UPPER(name) FROM VIEW; READ|WHERE \"id\" < 10|staff|ROW KEY|1|10|10 + TOTAL|||||10|10",
    "WITH few AS (SELECT id FROM TEAM WHERE id > 7) SELECT * FROM few; READ|WHERE \"id\" > 7|team|ROW KEY|1|2|2 + TOTAL|||||2|2",
    "SELECT 1; TOTAL|||||0|1",
    "SELECT * FROM STAFF WHERE id > 5 AND id < 5; READ|WHERE \"id\" > 5 AND \"id\" < 5|staff|ROW KEY|1|0|0 + TOTAL|||||0|0"
  })
  void tellsHowRowsWereRead(String sql, String expected) throws SQLException {
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("EXPLAIN ANALYZE " + named(sql))) {
      assertEquals(expected, told(rows), sql);
    }
  }

  @Test
  void aPlanIsSqlites() throws SQLException {
    String sql = named("SELECT id FROM TEAM WHERE id IN (SELECT team FROM STAFF WHERE pay > ?) GROUP BY id");
    List<String> steps = new ArrayList<>();
    try (PreparedStatement statement = connection.prepareStatement("EXPLAIN ANALYZE " + sql)) {
      bind(statement, 2_990.0);
      try (ResultSet rows = statement.executeQuery()) {
        ResultSetMetaData metaData = rows.getMetaData();
        List<String> columns = new ArrayList<>();
        for (int column = 1; column <= metaData.getColumnCount(); column++) {
          columns.add(metaData.getColumnLabel(column) + " " + metaData.getColumnTypeName(column));
        }
        assertEquals(List.of("STEP STRING", "DETAIL STRING", "TABLE_NAME STRING", "ACCESS STRING", "TIMES LONG", "ROWS_READ LONG", "ROWS_GIVEN LONG", "TIME_MS DOUBLE"), columns);
        while (rows.next() && rows.getString(1).equals("PLAN")) {
          assertEquals(null, rows.getString(3));
          steps.add(rows.getString(2));
        }
      }
    }
    List<String> plan = new ArrayList<>();
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("EXPLAIN QUERY PLAN " + sql.replace("?", "2990.0"))) {
      while (rows.next()) {
        plan.add(rows.getString(4));
      }
    }
    assertEquals(plan, steps.stream().map(String::strip).toList());
    assertTrue(steps.stream().anyMatch(step -> step.startsWith("  ")), steps.toString());
  }

  @Test
  void parametersRangesAndLimitsAreThoseOfTheStatement() throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("EXPLAIN ANALYZE SELECT * FROM " + staff + " WHERE id < ?")) {
      assertEquals(1, statement.getParameterMetaData().getParameterCount());
      for (int below : new int[] {10, 20}) {
        bind(statement, below);
        try (ResultSet rows = statement.executeQuery()) {
          assertEquals(String.format("READ|WHERE \"id\" < %1$d|staff|ROW KEY|1|%1$d|%1$d + TOTAL|||||%1$d|%1$d", below), told(rows));
        }
      }
    }
    try (Statement statement = connection.createStatement()) {
      statement.setMaxRows(3);
      statement.setFetchSize(1);
      ResultSet rows = statement.executeQuery("EXPLAIN ANALYZE SELECT * FROM " + staff);
      assertEquals("READ||staff|SCAN|1|3000|3000 + TOTAL|||||3000|3", told(rows), "the statement gives no more");
    }
    String series = table("series", "(at TIMESTAMP PRIMARY KEY, v DOUBLE) USING TIMESERIES");
    update("INSERT INTO " + series + " SELECT TO_TIMESTAMP_MS(n * 60000), n FROM (" + QueriesTest.numbers(60) + ")");
    String grouped = " WHERE at >= TO_TIMESTAMP_MS(600000) AND at < TO_TIMESTAMP_MS(1800000) GROUP BY RANGE (at) EVERY (10, MINUTE)";
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("EXPLAIN ANALYZE SELECT at, AVG(v) FROM " + series + grouped)) {
      String told = told(rows);
      assertTrue(told.contains("|series|ROW KEY|1|20|20 + TOTAL|||||20|2"), told);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "DELETE FROM STAFF", "INSERT INTO TEAM VALUES (1, 'x')", "EXPLAIN SELECT 1", "SELECT * FROM nowhere", "SELECT nothing FROM TEAM", "SELECT 1; SELECT 2"})
  void refusesWhatDoesNotRead(String sql) throws SQLException {
    assertRefused(SYNTAX, () -> query("EXPLAIN ANALYZE " + named(sql)));
    assertRefused(SYNTAX, () -> update("EXPLAIN ANALYZE " + named("SELECT * FROM TEAM")));
    assertEquals("3000|10", query(named("SELECT (SELECT COUNT(*) FROM STAFF), COUNT(*) FROM TEAM")), "nothing was changed");
  }

  @Test
  void failsAsTheStatementDoes() throws SQLException {
    assertRefused(EXECUTION, () -> query("EXPLAIN ANALYZE SELECT 1 / (id - id) FROM " + team));
    try (Statement statement = connection.createStatement()) {
      statement.setQueryTimeout(1);
      String endless = "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c) SELECT COUNT(*) FROM c";
      assertRefused(CANCELLED, () -> statement.executeQuery("EXPLAIN ANALYZE " + endless));
    }
    assertEquals("1", query("SELECT 1"), "the connection goes on");
  }
}
