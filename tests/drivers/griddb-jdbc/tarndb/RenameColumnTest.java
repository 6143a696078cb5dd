package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Row;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** ALTER TABLE … RENAME COLUMN, and who knows the column by its former name. */
class RenameColumnTest extends Suite {
  private static final int SCHEMA_UNMATCH = 10_017;
  private static final int NO_TABLE = 280_005;
  private static final int NO_CONTAINER = 280_010;
  private static final int INVALID_COLUMN = 280_016;

  private GridStore store;

  @BeforeAll
  void open() throws GSException {
    store = Server.store(Server.MEMBER, "admin", "admin");
  }

  @AfterAll
  void closeStore() throws GSException {
    store.close();
  }

  private void rename(String table, String from, String to) throws SQLException {
    assertEquals(0, update("ALTER TABLE " + table + " RENAME COLUMN " + from + " TO " + to));
  }

  private static List<String> columns(ContainerInfo info) {
    List<String> names = new ArrayList<>();
    for (int column = 0; column < info.getColumnCount(); column++) {
      names.add(info.getColumnInfo(column).getName());
    }
    return names;
  }

  private static void assertMismatch(Executable request) {
    GSException refusal = assertThrows(GSException.class, request);
    assertEquals(SCHEMA_UNMATCH, refusal.getErrorCode(), refusal.getMessage());
  }

  @Test
  void valuesAndIndexesStay() throws SQLException {
    String table = table("stay", "(id INTEGER PRIMARY KEY, name STRING NOT NULL, v DOUBLE, n LONG)");
    update("CREATE INDEX by_v ON " + table + " (v)");
    update("INSERT INTO " + table + " SELECT n, 'n' || n, n, n FROM (" + QueriesTest.numbers(100) + ")");
    rename(table, "V", "Wage");
    rename(table, "id", "key_of");
    assertEquals("7|n7|7.0|7", query("SELECT key_of, name, wage, n FROM " + table + " WHERE wage = 7"));
    assertEquals("7", query("SELECT n FROM " + table + " WHERE key_of = 7"));
    assertEquals("key_of|INTEGER|false name|STRING|false Wage|DOUBLE|true n|LONG|true",
        query("SELECT COLUMN_NAME, TYPE_NAME, NULLABLE FROM \"#columns\" WHERE TABLE_NAME = '" + table + "'"));
    assertEquals("by_v|Wage", query("SELECT INDEX_NAME, COLUMN_NAME FROM \"#index_info\" WHERE TABLE_NAME = '" + table + "' AND INDEX_NAME = 'by_v'"));
    assertEquals("key_of", query("SELECT COLUMN_NAME FROM \"#primary_keys\" WHERE TABLE_NAME = '" + table + "'"));
    assertEquals(1, update("UPDATE " + table + " SET wage = wage + 0.5 WHERE key_of = 7"));
    assertEquals(1, update("INSERT INTO " + table + " (key_of, name, wage) VALUES (100, 'new', 100)"));
    assertEquals("7.5 100.0", query("SELECT wage FROM " + table + " WHERE wage IN (7.5, 100) ORDER BY 1"));
    assertRefused(SYNTAX, () -> query("SELECT v FROM " + table));
    update("ALTER TABLE " + table + " ADD COLUMN v STRING");
    assertEquals("101|0", query("SELECT COUNT(*), COUNT(v) FROM " + table), "a column of the former name has no values");
    update("ALTER TABLE " + table + " DROP COLUMN wage");
    assertEquals("0", query("SELECT COUNT(*) FROM \"#index_info\" WHERE TABLE_NAME = '" + table + "' AND INDEX_NAME = 'by_v'"));
  }

  @Test
  void whatCannotBeIsRefused() throws SQLException {
    String table = table("refused", "(id INTEGER PRIMARY KEY, name STRING, v DOUBLE)");
    String view = name("view");
    update("CREATE OR REPLACE VIEW " + view + " AS SELECT id FROM " + table);
    String alter = "ALTER TABLE " + table + " RENAME COLUMN ";
    for (String wrong : new String[] {"x TO y", "x TO name", "id TO NAME", "name TO name", "name TO \"a b\"", "name TO \"\"", "name TO " + "x".repeat(257)}) {
      assertRefused(INVALID_COLUMN, () -> update(alter + wrong));
    }
    for (String wrong : new String[] {"name", "name TO", "name TO x, v TO y", "name x", "TO x", "name TO 'x'"}) {
      assertRefused(SYNTAX, () -> update(alter + wrong));
    }
    assertRefused(SYNTAX, () -> update("ALTER TABLE " + table + " RENAME name TO x"));
    assertRefused(NO_TABLE, () -> update("ALTER TABLE " + name("none") + " RENAME COLUMN a TO b"));
    assertRefused(NO_CONTAINER, () -> update("ALTER TABLE " + view + " RENAME COLUMN id TO x"));
    assertRefused(SYNTAX, () -> {
      try (Statement statement = connection.createStatement()) {
        statement.executeQuery(alter + "name TO x");
      }
    });
    rename(table, "name", "NAME");
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT * FROM " + table)) {
      assertEquals("NAME", rows.getMetaData().getColumnLabel(2), "it is written in another way");
    }
    update("DROP VIEW " + view);
  }

  @Test
  void aViewReadsByTheNamesThatItWasMadeWith() throws SQLException {
    String table = table("seen", "(id INTEGER PRIMARY KEY, name STRING)");
    String view = name("of_seen");
    update("CREATE OR REPLACE VIEW " + view + " AS SELECT name FROM " + table);
    update("INSERT INTO " + table + " VALUES (1, 'a')");
    rename(table, "name", "title");
    assertRefused(SYNTAX, () -> query("SELECT * FROM " + view));
    rename(table, "title", "name");
    assertEquals("a", query("SELECT * FROM " + view));
    update("DROP VIEW " + view);
  }

  @Test
  void clientsOfNoSqlReadTheSchemaAgain() throws Exception {
    String table = table("old", "(id INTEGER PRIMARY KEY, name STRING, v DOUBLE)");
    update("CREATE INDEX by_former ON " + table + " (name)");
    update("INSERT INTO " + table + " VALUES (1, 'a', 1.5)");
    Collection<Integer, Row> old = store.getCollection(table);
    Collection<Integer, Row> inTransaction = store.getCollection(table);
    Row row = old.get(1);
    inTransaction.setAutoCommit(false);
    row.setDouble(2, 2.5);
    inTransaction.put(row);
    rename(table, "name", "Title");
    assertMismatch(() -> old.get(1));
    assertMismatch(() -> old.put(row));
    assertMismatch(() -> old.query("SELECT * WHERE name = 'a'").fetch());
    inTransaction.commit();
    assertMismatch(() -> inTransaction.get(1));
    Collection<Integer, Row> again = store.getCollection(table);
    assertEquals(2.5, again.get(1).getDouble(2), "what was put before is committed");
    assertEquals("a", again.query("SELECT * WHERE title = 'a'").fetch().next().getString(1));
    assertThrows(GSException.class, () -> again.query("SELECT * WHERE name = 'a'").fetch());
    ContainerInfo info = store.getContainerInfo(table);
    assertEquals(List.of("id", "Title", "v"), columns(info));
    assertEquals("by_former", info.getIndexInfoList().get(1).getName());
    assertEquals("Title", info.getIndexInfoList().get(1).getColumnName());
    assertThrows(GSException.class, () -> again.put(row), "a row of the former schema");
    Row renamed = again.get(1);
    renamed.setString(1, "b");
    again.put(renamed);
    assertEquals("1|b|2.5", query("SELECT id, title, v FROM " + table));
  }

  @Test
  void statementsAreReadAnew() throws SQLException {
    String table = table("prepared", "(id INTEGER PRIMARY KEY, name STRING)");
    update("INSERT INTO " + table + " SELECT n, 'n' || n FROM (" + QueriesTest.numbers(60_000) + ")");
    try (PreparedStatement named = connection.prepareStatement("SELECT name FROM " + table + " WHERE id = ?");
        PreparedStatement all = connection.prepareStatement("SELECT * FROM " + table + " WHERE id = ?");
        PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)");
        Statement open = connection.createStatement()) {
      open.setFetchSize(10);
      ResultSet rows = open.executeQuery("SELECT * FROM " + table);
      assertTrue(rows.next());
      rename(table, "name", "title");
      bind(named, 5);
      assertRefused(SYNTAX, named::executeQuery);
      bind(all, 5);
      try (ResultSet found = all.executeQuery()) {
        assertEquals("title", found.getMetaData().getColumnLabel(2));
        assertEquals("5|n5", text(found));
      }
      bind(insert, 60_000, "new");
      assertEquals(1, insert.executeUpdate());
      assertRefused(SCHEMA_UNMATCH, () -> {
        while (rows.next()) {
          assertEquals("n" + rows.getInt(1), rows.getString(2));
        }
      });
    }
    assertEquals("60001", query("SELECT COUNT(title) FROM " + table));
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {
    "PARTITION BY HASH (id) PARTITIONS 5; id",
    "PARTITION BY RANGE (id) EVERY (10) SUBPARTITION BY HASH (device) SUBPARTITIONS 3; device",
    "PARTITION BY RANGE (id) EVERY (7); id"
  })
  void aTableStaysPartitioned(String clause, String by) throws SQLException {
    String table = table("parts", "(id INTEGER, device STRING, v DOUBLE, PRIMARY KEY (id, device)) " + clause);
    update("INSERT INTO " + table + " SELECT n, 'd' || (n % 5), n FROM (" + QueriesTest.numbers(50) + ")");
    rename(table, by, "place");
    rename(table, "v", "value_of");
    String key = by.equals("id") ? "place" : "id";
    update("INSERT INTO " + table + " SELECT n + 50, 'd' || (n % 5), n + 50 FROM (" + QueriesTest.numbers(50) + ")");
    assertEquals("100|4950.0", query("SELECT COUNT(*), SUM(value_of) FROM " + table));
    assertEquals("33.0 77.0", query("SELECT value_of FROM " + table + " WHERE " + key + " IN (33, 77) ORDER BY 1"));
    assertEquals("20", query("SELECT COUNT(*) FROM " + table + " WHERE " + (by.equals("id") ? "device" : "place") + " = 'd1'"));
    assertRefused(240_016, () -> update("UPDATE " + table + " SET place = place"));
    assertEquals(10, update("DELETE FROM " + table + " WHERE " + key + " < 10"));
    assertEquals("90", query("SELECT COUNT(*) FROM " + table));
  }

  @Test
  void noWriteIsLostWhileAColumnChangesItsName() throws Exception {
    String table = table("busy", "(id INTEGER PRIMARY KEY, a LONG)");
    AtomicInteger written = new AtomicInteger();
    AtomicBoolean stopping = new AtomicBoolean();
    AtomicReference<SQLException> error = new AtomicReference<>();
    Thread writer = new Thread(() -> {
      try (Connection own = Server.connect(); PreparedStatement insert = own.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)")) {
        while (!stopping.get()) {
          bind(insert, written.get(), written.get() * 2L);
          try {
            insert.executeUpdate();
            written.incrementAndGet();
          } catch (SQLException refused) {
            if (refused.getErrorCode() != SCHEMA_UNMATCH) {
              throw refused;
            }
          }
        }
      } catch (SQLException ended) {
        error.set(ended);
      }
    });
    writer.start();
    for (int round = 0; round < 20; round++) {
      rename(table, round % 2 == 0 ? "a" : "b", round % 2 == 0 ? "b" : "a");
      int goal = written.get() + 5;
      while (written.get() < goal && error.get() == null) {
        Thread.onSpinWait();
      }
    }
    stopping.set(true);
    writer.join();
    assertNull(error.get());
    assertEquals(written + "|" + written, query("SELECT COUNT(*), COUNT(a) FROM " + table));
    assertEquals("0", query("SELECT COUNT(*) FROM " + table + " WHERE a <> id * 2"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"kill", "term"})
  @EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
  void aNameIsThereAfterARestart(String how) throws Exception {
    String table = table(how, "(id INTEGER PRIMARY KEY, name STRING, v LONG)");
    String parts = table(how + "_parts", "(id INTEGER PRIMARY KEY, v LONG) PARTITION BY HASH (id) PARTITIONS 4");
    update("CREATE INDEX by_v ON " + table + " (v)");
    for (String each : new String[] {table + " SELECT n, 'n' || n, n * 2", parts + " SELECT n, n * 2"}) {
      update("INSERT INTO " + each + " FROM (" + QueriesTest.numbers(500) + ")");
    }
    rename(table, "v", "twice");
    rename(table, "id", "key");
    rename(parts, "id", "key");
    Server.restart(how);
    assertEquals("n7", query("SELECT name FROM " + table + " WHERE twice = 14 AND key = 7"));
    assertEquals("500|249500", query("SELECT COUNT(*), SUM(twice) FROM " + table));
    assertEquals("14", query("SELECT v FROM " + parts + " WHERE key = 7"));
    assertEquals("500", query("SELECT COUNT(*) FROM " + parts));
    assertRefused(SYNTAX, () -> query("SELECT v FROM " + table));
    assertEquals(List.of("key", "name", "twice"), columns(store.getContainerInfo(table)));
    update("INSERT INTO " + table + " (key, twice) VALUES (500, 1000)");
    assertEquals("1000", query("SELECT twice FROM " + table + " WHERE key = 500"));
  }
}
