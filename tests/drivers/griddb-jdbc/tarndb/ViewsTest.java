package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** CREATE VIEW, DROP VIEW, what reads views, and what tells of them. */
class ViewsTest extends Suite {
  private static final int NOT_ALLOWED = 10_079;

  private String staff;
  private String few;

  @BeforeEach
  void tables() throws SQLException {
    few = name("few");
    dropViews();
    staff = table("staff", "(id INTEGER PRIMARY KEY, name STRING, at TIMESTAMP, pay DOUBLE)");
    update("INSERT INTO " + staff + " VALUES (1, 'ada', TIMESTAMP('2024-01-01T00:00:00Z'), 10.5), (2, 'bob', TIMESTAMP('2024-01-01T00:00:30Z'), 7), (3, 'cy', NULL, NULL)");
  }

  @AfterEach
  void dropViews() throws SQLException {
    for (String view : new String[] {few, name("forced"), name("ranges")}) {
      update("DROP VIEW IF EXISTS " + view);
    }
  }

  @Test
  void viewsAreMadeReadAndDropped() throws SQLException {
    assertEquals(0, update("CREATE VIEW " + few + " AS SELECT id, name FROM " + staff + " WHERE id < 3 -- few"));
    assertEquals("1|ada 2|bob", query("SELECT * FROM " + few + " ORDER BY id"));
    assertEquals("bob", query("SELECT name FROM " + few.toUpperCase() + " WHERE id = ?", 2));
    assertEquals("1|10.5 2|7.0", query("SELECT f.id, s.pay FROM " + few + " f JOIN " + staff + " s ON s.id = f.id ORDER BY 1"));
    update("INSERT INTO " + staff + " VALUES (0, 'zoe', NULL, NULL)");
    assertEquals("zoe", query("SELECT name FROM \"" + few + "\" WHERE id = 0"), "a view has no rows of its own");
    update("CREATE TABLE IF NOT EXISTS " + name("copy") + " (id INTEGER PRIMARY KEY, name STRING)");
    assertEquals(3, update("INSERT OR REPLACE INTO " + name("copy") + " SELECT * FROM " + few));
    update("DROP TABLE " + name("copy"));
    update("DROP VIEW " + few.toLowerCase());
    assertRefused(SYNTAX, () -> query("SELECT * FROM " + few));
    assertRefused(SYNTAX, () -> update("DROP VIEW " + few));
    update("DROP VIEW IF EXISTS " + few);
  }

  @Test
  void aViewTakesAnothersPlaceOnlyIfToldSo() throws SQLException {
    update("CREATE OR REPLACE VIEW " + few + " AS SELECT 1 AS a");
    assertRefused(SYNTAX, () -> update("CREATE VIEW " + few + " AS SELECT 2 AS a"));
    assertEquals("1", query("SELECT a FROM " + few));
    update("CREATE OR REPLACE VIEW " + few + " AS SELECT 2 AS a");
    assertEquals("2", query("SELECT a FROM " + few));
    assertRefused(SYNTAX, () -> update("CREATE OR REPLACE VIEW " + staff + " AS SELECT 1"));
    assertRefused(SYNTAX, () -> update("CREATE TABLE " + few + " (id INTEGER PRIMARY KEY)"));
    assertRefused(SYNTAX, () -> update("CREATE TABLE IF NOT EXISTS " + few + " (id INTEGER PRIMARY KEY)"));
    assertRefused(SYNTAX, () -> update("DROP TABLE " + few));
    assertRefused(SYNTAX, () -> update("DROP TABLE IF EXISTS " + few));
    for (String writes : new String[] {"INSERT INTO " + few + " VALUES (1)", "UPDATE " + few + " SET a = 1", "DELETE FROM " + few}) {
      assertRefused(SYNTAX, () -> update(writes));
    }
  }

  @Test
  void whatAViewNamesIsThereUnlessItIsForced() throws SQLException {
    String gone = "CREATE VIEW " + name("forced") + " AS SELECT * FROM " + name("gone");
    assertTrue(assertRefused(SYNTAX, () -> update(gone)).getMessage().contains("no such table"));
    assertRefused(SYNTAX, () -> update("CREATE VIEW " + name("forced") + " AS SELECT other FROM " + staff));
    update(gone.replace("CREATE VIEW", "CREATE FORCE VIEW"));
    assertTrue(assertRefused(SYNTAX, () -> query("SELECT * FROM " + name("forced"))).getMessage().contains(name("gone")));
    table("gone", "(id INTEGER PRIMARY KEY)");
    assertEquals("0", query("SELECT COUNT(*) FROM " + name("forced")));
    update("DROP TABLE " + name("gone"));
    update("CREATE OR REPLACE FORCE VIEW " + name("forced") + " AS SELECT * FROM " + name("forced"));
    assertRefused(SYNTAX, () -> query("SELECT * FROM " + name("forced")));
    for (String wrong :
        new String[] {
          "CREATE VIEW " + few + " AS DELETE FROM " + staff,
          "CREATE VIEW " + few + " AS SELECT 1; SELECT 2",
          "CREATE VIEW " + few + " AS SELECT ?",
          "CREATE VIEW " + few + " (a) AS SELECT 1",
          "CREATE VIEW \"a'b\" AS SELECT 1",
          "CREATE VIEW _tarndb_views AS SELECT 1",
          "CREATE VIEW " + few + " AS SELECT '" + "x".repeat(65_536) + "'"
        }) {
      assertRefused(SYNTAX, () -> update(wrong));
    }
  }

  @Test
  void viewsOfViewsAreBounded() throws SQLException {
    String last = staff;
    for (int depth = 0; depth < 33; depth++) {
      update("CREATE OR REPLACE FORCE VIEW " + name("v" + depth) + " AS SELECT id + 1 AS id FROM " + last);
      last = name("v" + depth);
    }
    assertEquals("33", query("SELECT MIN(id) FROM " + name("v31")));
    assertTrue(assertRefused(SYNTAX, () -> query("SELECT * FROM " + name("v32"))).getMessage().contains("32 views"));
    for (int depth = 0; depth < 33; depth++) {
      update("DROP VIEW " + name("v" + depth));
    }
  }

  @Test
  void viewsHaveTypesTimesAndRanges() throws SQLException {
    update("CREATE VIEW " + few + " AS SELECT id, name, at, pay * 2 AS twice, MAX(at) OVER () AS newest FROM " + staff);
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT * FROM " + few + " ORDER BY id")) {
      assertEquals(java.sql.Types.INTEGER, rows.getMetaData().getColumnType(1));
      assertEquals(java.sql.Types.TIMESTAMP, rows.getMetaData().getColumnType(3));
      assertTrue(rows.next());
      assertEquals(1_704_067_200_000L, rows.getTimestamp(3).getTime());
      assertEquals(21.0, rows.getDouble(4));
    }
    update(
        "CREATE VIEW " + name("ranges") + " AS SELECT at, COUNT(*) AS n FROM " + staff
            + " WHERE at >= TIMESTAMP('2024-01-01T00:00:00Z') AND at < TIMESTAMP('2024-01-01T00:01:00Z') GROUP BY RANGE(at) EVERY(20, SECOND) FILL(NULL)");
    assertEquals("3|2", query("SELECT COUNT(*), SUM(n) FROM " + name("ranges")));
    assertEquals("true", query("SELECT NOW() > MAX(at) FROM " + few));
  }

  @Test
  void metadataTellsOfViews() throws SQLException {
    update("CREATE VIEW " + few + " AS SELECT id, name, COUNT(*) OVER () AS n FROM " + staff);
    update("CREATE FORCE VIEW " + name("forced") + " AS SELECT * FROM nowhere");
    DatabaseMetaData metadata = connection.getMetaData();
    assertEquals("TABLE VIEW", first(metadata.getTableTypes(), 1));
    assertEquals(few, first(metadata.getTables(null, null, few, new String[] {"VIEW"}), 3));
    assertEquals("VIEW", first(metadata.getTables(null, null, few, null), 4));
    assertEquals("", first(metadata.getTables(null, null, few, new String[] {"TABLE"}), 3));
    assertEquals("TABLE", first(metadata.getTables(null, null, staff, null), 4));
    assertEquals("", first(metadata.getTables(null, null, "_tarndb_views", null), 3), "what keeps views is not shown");
    assertEquals("id name n", first(metadata.getColumns(null, null, few, null), 4));
    assertEquals("4 12 -5", first(metadata.getColumns(null, null, few, null), 5));
    assertEquals("", first(metadata.getColumns(null, null, name("forced"), null), 4));
    String own = " FROM \"#views\" WHERE VIEW_NAME = '" + few + "'";
    assertEquals("public|SELECT id, name, COUNT(*) OVER () AS n FROM " + staff, query("SELECT DATABASE_NAME, VIEW_DEFINITION" + own));
    assertEquals("INTEGER STRING LONG", query("SELECT TYPE_NAME FROM \"#columns\" WHERE TABLE_NAME = '" + few + "' ORDER BY ORDINAL_POSITION"));
    try (PreparedStatement prepared = connection.prepareStatement("SELECT name FROM " + few + " WHERE id = ?")) {
      assertEquals(1, prepared.getParameterMetaData().getParameterCount());
    }
  }

  private static String first(ResultSet rows, int column) throws SQLException {
    try (rows) {
      List<String> all = new ArrayList<>();
      while (rows.next()) {
        all.add(rows.getString(column));
      }
      return String.join(" ", all);
    }
  }

  /** Many at once: each view is there once, whoever was first. */
  @Test
  void oneOfManyThatMakeTheSameViewDoes() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      for (int round = 0; round < 5; round++) {
        update("DROP VIEW IF EXISTS " + few);
        List<Callable<Integer>> makers = new ArrayList<>();
        for (int maker = 0; maker < 8; maker++) {
          int number = maker;
          makers.add(
              () -> {
                try (Connection own = Server.connect(); Statement statement = own.createStatement()) {
                  statement.executeUpdate("CREATE VIEW " + few + " AS SELECT " + number + " AS a");
                  return number;
                } catch (SQLException refused) {
                  assertEquals(SYNTAX, refused.getErrorCode(), refused::toString);
                  return -1;
                }
              });
        }
        List<Integer> made = new ArrayList<>();
        for (Future<Integer> maker : threads.invokeAll(makers)) {
          made.add(maker.get());
        }
        made.removeIf(number -> number < 0);
        assertEquals(1, made.size());
        assertEquals(String.valueOf(made.get(0)), query("SELECT a FROM " + few));
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
  void viewsFollowPermissions() throws Exception {
    Path directory = Files.createTempDirectory("tarndb-griddb-views-").resolve("server");
    Server.run("start " + directory + " login");
    try {
      String address = Server.run("address " + directory + " griddb-sql").trim();
      Server.makeUsers(directory, "depot");
      try (Connection reader = Server.connect(address, "depot", "reader", "secret"); Statement statement = reader.createStatement()) {
        Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("CREATE VIEW early AS SELECT 1"));
      }
      try (Connection owner = Server.connect(address, "depot", "owner", "secret"); Statement statement = owner.createStatement()) {
        statement.executeUpdate("CREATE TABLE item (id INTEGER PRIMARY KEY)");
        statement.executeUpdate("INSERT INTO item VALUES (1)");
        statement.executeUpdate("CREATE VIEW items AS SELECT id FROM item");
      }
      try (Connection reader = Server.connect(address, "depot", "reader", "secret"); Statement statement = reader.createStatement()) {
        try (ResultSet rows = statement.executeQuery("SELECT * FROM items")) {
          assertEquals("1", Suite.text(rows));
        }
        Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("CREATE VIEW other AS SELECT 1"));
        Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("CREATE OR REPLACE VIEW items AS SELECT 1"));
        Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("DROP VIEW items"));
      }
      try (Connection nobody = Server.connect(address, "depot", "nobody", "secret"); Statement statement = nobody.createStatement()) {
        SQLException refused = org.junit.jupiter.api.Assertions.assertThrows(SQLException.class, () -> statement.executeQuery("SELECT * FROM items"));
        assertFalse(refused.getMessage().contains("FROM item"), refused::toString);
        try (ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM \"#views\"")) {
          assertEquals("0", Suite.text(rows));
        }
      }
      try (Connection elsewhere = Server.connect(address, "public", "cassandra", "cassandra"); Statement statement = elsewhere.createStatement()) {
        Suite.assertRefused(SYNTAX, () -> statement.executeQuery("SELECT * FROM items"));
      }
      Server.run("restart " + directory + " kill");
      try (Connection owner = Server.connect(address, "depot", "owner", "secret"); Statement statement = owner.createStatement()) {
        try (ResultSet rows = statement.executeQuery("SELECT * FROM items")) {
          assertEquals("1", Suite.text(rows));
        }
      }
    } finally {
      Server.run("stop " + directory);
    }
    Files.delete(directory.getParent());
  }
}
