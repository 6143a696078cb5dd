package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Statements that write rows, and those that make tables. */
class WritesTest extends Suite {
  private static final int INVALID_ROW = 60_046;
  private static final int INVALID_KEY = 60_049;

  @Test
  void rowsAreInsertedUpdatedAndDeleted() throws SQLException {
    String table = table("rows", "(id INTEGER PRIMARY KEY, name STRING, v DOUBLE)");
    assertEquals(2, update("INSERT INTO " + table + " VALUES (1, 'a', 1), (2, 'b', NULL)"));
    assertEquals(1, update("INSERT INTO " + table + " (v, id) VALUES (3.5, 3)"));
    assertEquals("1|a|1.0 2|b|null 3|null|3.5", query("SELECT * FROM " + table));
    assertEquals(2, update("UPDATE " + table + " SET v = v * 2, name = name || '!' WHERE v IS NOT NULL"));
    assertEquals("1|a!|2.0 2|b|null 3|null|7.0", query("SELECT * FROM " + table));
    assertEquals(0, update("UPDATE " + table + " SET v = 0 WHERE id = 9"));
    assertEquals(1, update("DELETE FROM " + table + " WHERE name = 'b'"));
    assertEquals(2, update("DELETE FROM " + table));
    assertEquals("", query("SELECT * FROM " + table));
  }

  @Test
  void aKeyIsInsertedOnce() throws SQLException {
    String table = table("once", "(id INTEGER PRIMARY KEY, v INTEGER)");
    update("INSERT INTO " + table + " VALUES (1, 1)");
    assertRefused(INVALID_KEY, () -> update("INSERT INTO " + table + " VALUES (2, 2), (1, 2)"));
    assertEquals("1|1", query("SELECT * FROM " + table), "all or nothing");
    assertRefused(INVALID_KEY, () -> update("INSERT INTO " + table + " VALUES (3, 3), (3, 4)"));
    assertEquals(2, update("INSERT OR REPLACE INTO " + table + " VALUES (1, 9), (2, 2)"));
    assertEquals(1, update("REPLACE INTO " + table + " VALUES (2, 8)"));
    assertEquals("1|9 2|8", query("SELECT * FROM " + table));
  }

  @Test
  void rowsComeFromAQuery() throws SQLException {
    String table = table("copied", "(id INTEGER PRIMARY KEY, v INTEGER)");
    assertEquals(3_000, update("INSERT INTO " + table + " SELECT n, n * n FROM (" + QueriesTest.numbers(3_000) + ")"));
    assertEquals("3000|8994001", query("SELECT COUNT(*), MAX(v) FROM " + table));
    assertEquals(3_000, update("INSERT INTO " + table + " SELECT id + 3000, v FROM " + table));
    assertEquals(6_000, update("UPDATE " + table + " SET v = id"));
    assertEquals("6000|17997000", query("SELECT COUNT(*), SUM(v) FROM " + table));
    assertEquals(5_990, update("DELETE FROM " + table + " WHERE v >= 10"));
  }

  @Test
  void aTableWithoutAKeyHasEqualRows() throws SQLException {
    String table = table("unkeyed", "(a INTEGER, b STRING)");
    assertEquals(3, update("INSERT INTO " + table + " VALUES (1, 'x'), (1, 'x'), (2, 'y')"));
    assertEquals(2, update("UPDATE " + table + " SET b = b || a WHERE a = 1"));
    assertEquals("1|x1 1|x1 2|y", query("SELECT * FROM " + table));
    update("CREATE INDEX by_a ON " + table + " (a)");
    update("CREATE INDEX by_b ON " + table + " (b)");
    assertEquals("3", query("SELECT COUNT(*) FROM " + table + " WHERE a = 1 OR b = 'x1' OR b = 'y'"));
    assertEquals(2, update("DELETE FROM " + table + " WHERE b = 'x1'"));
    assertEquals("2|y", query("SELECT * FROM " + table));
  }

  @Test
  void aKeyHasSeveralColumns() throws SQLException {
    String table = table("composite", "(a STRING, b INTEGER, v LONG, PRIMARY KEY (a, b))");
    update("INSERT INTO " + table + " VALUES ('x', 2, 1), ('x', 1, 2), ('w', 5, 3)");
    assertEquals("w|5|3 x|1|2 x|2|1", query("SELECT * FROM " + table));
    assertEquals("x|1|2", query("SELECT * FROM " + table + " WHERE a = 'x' AND b = 1"));
    assertEquals("x|2|1 x|1|2 w|5|3", query("SELECT * FROM " + table + " ORDER BY a DESC, b DESC"));
    assertEquals(2, update("UPDATE " + table + " SET v = -v WHERE a = 'x'"));
    assertEquals(1, update("DELETE FROM " + table + " WHERE b = 5"));
    assertEquals("x|1|-2 x|2|-1", query("SELECT * FROM " + table));
  }

  @Test
  void everyTypeComesBack() throws SQLException {
    String columns = "(k STRING PRIMARY KEY, b BOOL, y BYTE, s SHORT, i INTEGER, l LONG, f FLOAT, d DOUBLE, t TIMESTAMP, x BLOB)";
    String table = table("types", columns);
    update("INSERT INTO " + table + " VALUES ('least', FALSE, -128, -32768, -2147483648, -9223372036854775807, -1.5, -1e300, 0, X'')");
    update("INSERT INTO " + table + " VALUES ('most', TRUE, 127, 32767, 2147483647, 9223372036854775807, 1.5, 1e300,"
        + " '9999-12-31T23:59:59.999Z', X'00ff')");
    update("INSERT INTO " + table + " (k) VALUES ('none')");
    assertEquals("least|false|-128|-32768|-2147483648|-9223372036854775807|-1.5|-1.0E300|0|", query("SELECT * FROM " + table + " WHERE k = 'least'"));
    assertEquals("most|true|127|32767|2147483647|9223372036854775807|1.5|1.0E300|253402300799999|00ff",
        query("SELECT * FROM " + table + " WHERE k = 'most'"));
    assertEquals("none|null|null|null|null|null|null|null|null|null", query("SELECT * FROM " + table + " WHERE k = 'none'"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', quoteCharacter = '`', value = {
    "INSERT INTO T VALUES (1); 240001",
    "INSERT INTO T (id, id) VALUES (1, 1); 240001",
    "INSERT INTO T (other) VALUES (1); 240001",
    "INSERT INTO T VALUES (NULL, 1, 'x'); 60046",
    "INSERT INTO T VALUES (1, NULL, 'x'); 60046",
    "INSERT INTO T VALUES (1, 'word', 'x'); 60046",
    "INSERT INTO T VALUES (1, 300, 'x'); 60046",
    "INSERT INTO T VALUES (1, 1.5, 'x'); 60046",
    "INSERT INTO T VALUES (1, 1, X'00'); 60046",
    "INSERT INTO T SELECT * FROM nowhere; 240001",
    "UPDATE T SET id = 2; 60049",
    "UPDATE T SET other = 2; 240001",
    "UPDATE T SET y = NULL; 60046",
    "UPDATE T SET y = y + 200; 60046",
    "DELETE FROM T WHERE other = 1; 240001",
    "DELETE FROM nowhere; 240001",
    "INSERT INTO nowhere VALUES (1); 240001",
    "CREATE TABLE T (id INTEGER); 240001",
    "CREATE TABLE N (id INTEGER, v WORD); 240001",
    "CREATE TABLE N (v BLOB PRIMARY KEY); 60015",
    "CREATE TABLE N (id INTEGER, v LONG, PRIMARY KEY (v)); 240001",
    "CREATE TABLE N (id INTEGER PRIMARY KEY) USING TIMESERIES; 60015",
    "CREATE INDEX i ON T (other); 240001",
    "CREATE INDEX i ON nowhere (id); 240001",
    "DROP INDEX i ON T; 240001",
    "DROP TABLE nowhere; 240001",
    "ALTER TABLE T DROP COLUMN other; 240001",
  })
  void refusesWhatIsWrong(String sql, int code) throws SQLException {
    String table = table("wrong", "(id INTEGER PRIMARY KEY, y BYTE NOT NULL, name STRING)");
    update("INSERT INTO " + table + " VALUES (0, 0, 'kept')");
    assertRefused(code, () -> update(sql.replaceFirst(" T\\b", " " + table).replaceFirst(" N\\b", " " + name("new"))));
    assertEquals("0|0|kept", query("SELECT * FROM " + table));
  }

  @Test
  void aStatementIsExecutedAsWhatItIs() throws SQLException {
    String table = table("kinds", "(id INTEGER PRIMARY KEY)");
    try (Statement statement = connection.createStatement()) {
      assertThrows(SQLException.class, () -> statement.executeQuery("INSERT INTO " + table + " VALUES (1)"));
      assertThrows(SQLException.class, () -> statement.executeUpdate("SELECT * FROM " + table));
      assertTrue(statement.execute("SELECT * FROM " + table));
      assertTrue(!statement.execute("INSERT INTO " + table + " VALUES (2)"));
      assertEquals(1, statement.getUpdateCount());
      assertNull(statement.getResultSet());
    }
    assertEquals("2", query("SELECT * FROM " + table), "what was refused has not been done");
  }

  @Test
  void tablesChange() throws SQLException {
    String table = table("changed", "(id INTEGER PRIMARY KEY, a STRING)");
    update("CREATE TABLE IF NOT EXISTS " + table + " (id INTEGER PRIMARY KEY, a STRING)");
    update("INSERT INTO " + table + " VALUES (1, 'x')");
    update("ALTER TABLE " + table + " ADD COLUMN b LONG");
    assertEquals("1|x|null", query("SELECT * FROM " + table));
    update("UPDATE " + table + " SET b = 7");
    update("ALTER TABLE " + table + " DROP COLUMN a");
    assertEquals("1|7", query("SELECT * FROM " + table));
    update("ALTER TABLE " + table + " ADD COLUMN c BIGINTEGER, ADD d LONGTEXT NOT NULL");
    assertEquals("1|7|null|", query("SELECT * FROM " + table));
    assertEquals("NULL|STRING", query("SELECT TYPEOF(c), TYPEOF(d) FROM " + table));
    assertRefused(SYNTAX, () -> update("ALTER TABLE " + table + " ADD e LONG, ADD b LONG"));
    update("ALTER TABLE " + table + " DROP COLUMN c");
    update("ALTER TABLE " + table + " DROP COLUMN d");
    update("CREATE INDEX by_b ON " + table + " (b)");
    update("CREATE INDEX IF NOT EXISTS by_b ON " + table + " (b)");
    assertEquals("1|7", query("SELECT * FROM " + table + " WHERE b = 7"));
    update("DROP INDEX by_b ON " + table);
    update("DROP INDEX IF EXISTS by_b ON " + table);
    update("DROP TABLE " + table);
    assertRefused(SYNTAX, () -> query("SELECT * FROM " + table));
    update("DROP TABLE IF EXISTS " + table);
  }

  @ParameterizedTest
  @ValueSource(strings = {"(id INTEGER PRIMARY KEY, v LONG)", "(id INTEGER, v LONG)"})
  void noUpdateIsLost(String columns) throws Exception {
    String table = table("counted", columns);
    update("INSERT INTO " + table + " VALUES (1, 0)");
    AtomicReference<Exception> error = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Thread thread = new Thread(() -> {
        try (Connection own = Server.connect(); PreparedStatement add = own.prepareStatement("UPDATE " + table + " SET v = v + ? WHERE id = 1")) {
          for (int n = 0; n < 50; n++) {
            add.setInt(1, 1);
            assertEquals(1, add.executeUpdate());
          }
        } catch (SQLException failure) {
          error.set(failure);
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertNull(error.get());
    assertEquals("1|200", query("SELECT * FROM " + table));
  }

  @Test
  void oneOfManyInsertsAKey() throws Exception {
    String table = table("raced", "(id INTEGER PRIMARY KEY, who INTEGER)");
    List<Integer> inserted = java.util.Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      int who = i;
      Thread thread = new Thread(() -> {
        try (Connection own = Server.connect(); PreparedStatement insert = own.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)")) {
          for (int id = 0; id < 50; id++) {
            insert.setInt(1, id);
            insert.setInt(2, who);
            try {
              insert.executeUpdate();
              inserted.add(id);
            } catch (SQLException taken) {
              assertEquals(INVALID_KEY, taken.getErrorCode(), taken.getMessage());
            }
          }
        } catch (SQLException failure) {
          inserted.add(-1);
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    inserted.sort(null);
    assertEquals(50, inserted.size());
    assertEquals("50|50", query("SELECT COUNT(*), COUNT(DISTINCT id) FROM " + table));
  }
}
