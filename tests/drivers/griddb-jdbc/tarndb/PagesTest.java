package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Results that come in pages, and statements that end before they are done. */
class PagesTest extends Suite {
  private static final int ROWS = 50_000;
  /** Counts for minutes. */
  private static final String ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT MAX(n) FROM c WHERE n < 0";

  @BeforeAll
  void fill() throws SQLException {
    update("DROP TABLE IF EXISTS paged");
    update("CREATE TABLE paged (id INTEGER PRIMARY KEY, v STRING)");
    update("INSERT OR REPLACE INTO paged SELECT n, 'value ' || n FROM (" + QueriesTest.numbers(ROWS) + ")");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1_000, 9_999, 50_000, 100_000})
  void allRowsCome(int fetchSize) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(fetchSize);
      try (ResultSet rows = statement.executeQuery("SELECT id, v FROM paged")) {
        int id = 0;
        for (; rows.next(); id++) {
          assertEquals(id, rows.getInt(1));
          assertEquals("value " + id, rows.getString(2));
        }
        assertEquals(ROWS, id);
      }
    }
  }

  @Test
  void aPageMayHaveOneRow() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(1);
      try (ResultSet rows = statement.executeQuery("SELECT id FROM paged WHERE id < 5")) {
        assertEquals("0 1 2 3 4", text(rows));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 10_000, 10_001})
  void atMostSoManyRowsCome(int most) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setMaxRows(most);
      try (ResultSet rows = statement.executeQuery("SELECT id FROM paged")) {
        int count = 0;
        while (rows.next()) {
          count++;
        }
        assertEquals(most, count);
      }
    }
  }

  @Test
  void severalResultsAreOpenAtOnce() throws SQLException {
    List<Statement> statements = new ArrayList<>();
    List<ResultSet> results = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      Statement statement = connection.createStatement();
      statement.setFetchSize(10);
      statements.add(statement);
      results.add(statement.executeQuery("SELECT id FROM paged WHERE id >= " + i));
    }
    for (int row = 0; row < 200; row++) {
      for (int i = 0; i < results.size(); i++) {
        assertTrue(results.get(i).next());
        assertEquals(i + row, results.get(i).getInt(1));
      }
    }
    for (Statement statement : statements) {
      statement.close();
    }
    assertEquals("1", query("SELECT 1"));
  }

  @Test
  void rowsThatAreWrittenMeanwhileAreNoTrouble() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(1_000);
      try (ResultSet rows = statement.executeQuery("SELECT id FROM paged")) {
        for (int id = 0; rows.next(); id++) {
          assertEquals(id, rows.getInt(1));
          if (id % 10_000 == 0) {
            update("UPDATE paged SET v = v WHERE id = " + id);
          }
        }
      }
    }
  }

  @Test
  void aResultWithoutRowsHasColumns() throws SQLException {
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT id, v FROM paged WHERE id < 0")) {
      assertFalse(rows.next());
      assertEquals("STRING", rows.getMetaData().getColumnTypeName(2));
    }
  }

  @Test
  void largeValuesCome() throws SQLException {
    String table = table("large", "(id INTEGER PRIMARY KEY, v STRING)");
    String value = "größe".repeat(100_000);
    for (int id = 0; id < 8; id++) {
      update("INSERT INTO " + table + " VALUES (?, ?)", id, value + id);
    }
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT v FROM " + table)) {
      for (int id = 0; id < 8; id++) {
        assertTrue(rows.next());
        assertEquals(value + id, rows.getString(1));
      }
      assertFalse(rows.next());
    }
  }

  @Test
  void aStatementIsCancelled() throws Exception {
    try (Statement statement = connection.createStatement()) {
      Thread canceller = new Thread(() -> {
        try {
          // A cancellation that comes before the statement does nothing: again until it has ended.
          while (!Thread.interrupted()) {
            statement.cancel();
            Thread.sleep(20);
          }
        } catch (SQLException | InterruptedException ended) {
          Thread.currentThread().interrupt();
        }
      });
      canceller.start();
      assertRefused(CANCELLED, () -> statement.executeQuery(ENDLESS));
      canceller.interrupt();
      canceller.join();
    }
    assertEquals("1", query("SELECT 1"), "the connection goes on");
  }

  @Test
  void aStatementHasATimeout() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setQueryTimeout(1);
      assertRefused(CANCELLED, () -> statement.executeQuery(ENDLESS));
      assertRefused(CANCELLED, () -> statement.executeQuery("SELECT COUNT(*) FROM paged a, paged b, paged c"));
      statement.setQueryTimeout(120);
      try (ResultSet rows = statement.executeQuery("SELECT 1")) {
        assertEquals("1", text(rows));
      }
    }
  }

  @Test
  void aStatementHasNoMoreThanItsMemory() throws SQLException {
    String sql = "SELECT MAX(LENGTH(v)) FROM (SELECT a.id, a.v || HEX(ZEROBLOB(2000000)) v FROM paged a ORDER BY v)";
    assertRefused(1_001, () -> query(sql));
    assertEquals("1", query("SELECT 1"));
  }
}
