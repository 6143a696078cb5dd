package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Log-ins and permissions, on a server of their own; and how a server is found. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
class SecurityTest {
  private static final int AUTH_FAILED = 10_005;
  private static final int NOT_ALLOWED = 10_079;
  private static final int OTHER_CLUSTER = 10_053;
  private static final int NO_DATABASE = 10_087;

  private Path directory;
  private String address;

  @BeforeAll
  void start() throws Exception {
    directory = Files.createTempDirectory("tarndb-griddb-sql-").resolve("server");
    Server.run("start " + directory + " login");
    address = Server.run("address " + directory + " griddb-sql").trim();
    Server.makeUsers(directory, "shop");
    try (Connection owner = login("owner"); Statement statement = owner.createStatement()) {
      statement.executeUpdate("CREATE TABLE item (id INTEGER PRIMARY KEY, name STRING)");
      statement.executeUpdate("INSERT INTO item VALUES (1, 'apple')");
    }
  }

  @AfterAll
  void stop() throws Exception {
    Server.run("stop " + directory);
  }

  private Connection login(String user) throws SQLException {
    return Server.connect(address, "shop", user, "secret");
  }

  @Test
  void aWrongPasswordIsRefused() {
    Suite.assertRefused(AUTH_FAILED, () -> Server.connect(address, "shop", "owner", "wrong"));
    Suite.assertRefused(AUTH_FAILED, () -> Server.connect(address, "shop", "stranger", "secret"));
  }

  @Test
  void aReaderReads() throws SQLException {
    try (Connection reader = login("reader"); Statement statement = reader.createStatement()) {
      try (ResultSet rows = statement.executeQuery("SELECT * FROM item")) {
        assertEquals("1|apple", Suite.text(rows));
      }
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("INSERT INTO item VALUES (2, 'pear')"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("UPDATE item SET name = 'x'"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("DELETE FROM item"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("DROP TABLE item"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("CREATE TABLE other (id INTEGER PRIMARY KEY)"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("ALTER TABLE item ADD COLUMN v LONG"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("ALTER TABLE item RENAME COLUMN name TO title"));
      try (ResultSet rows = statement.executeQuery("EXPLAIN ANALYZE SELECT name FROM item")) {
        assertTrue(rows.next() && rows.getString("STEP").equals("PLAN"));
      }
    }
  }

  @Test
  void aReaderReadsAllDataPartitionsAndMakesNone() throws SQLException {
    try (Connection owner = login("owner"); Statement statement = owner.createStatement()) {
      statement.executeUpdate("CREATE TABLE parts (id INTEGER PRIMARY KEY, name STRING) PARTITION BY RANGE (id) EVERY (20000)");
      statement.executeUpdate("INSERT OR REPLACE INTO parts SELECT n, 'n' || n FROM (" + QueriesTest.numbers(80_000) + ")");
    }
    try (Connection reader = login("reader"); Statement statement = reader.createStatement()) {
      for (int i = 0; i < 3; i++) {
        // Each is read by a client that has logged in as this one.
        try (ResultSet rows = statement.executeQuery("SELECT COUNT(*), MAX(id) FROM parts WHERE name > 'n'")) {
          assertEquals("80000|79999", Suite.text(rows));
        }
      }
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("INSERT INTO parts VALUES (-1, 'x')"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeUpdate("ALTER TABLE parts DROP PARTITION FOR (1)"));
      try (ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM \"#table_partitions\"")) {
        assertEquals("4", Suite.text(rows));
      }
    }
  }

  @Test
  void whoMayNothingSeesNothing() throws SQLException {
    try (Connection nobody = login("nobody"); Statement statement = nobody.createStatement()) {
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeQuery("SELECT * FROM item"));
      Suite.assertRefused(NOT_ALLOWED, () -> statement.executeQuery("EXPLAIN ANALYZE SELECT * FROM item"));
      try (ResultSet tables = nobody.getMetaData().getTables(null, null, "%", null)) {
        assertTrue(!tables.next());
      }
      try (ResultSet rows = statement.executeQuery("SELECT 1")) {
        assertEquals("1", Suite.text(rows));
      }
    }
  }

  @Test
  void databasesAreApart() throws SQLException {
    try (Connection boss = Server.connect(address, "public", "cassandra", "cassandra"); Statement statement = boss.createStatement()) {
      Suite.assertRefused(Suite.SYNTAX, () -> statement.executeQuery("SELECT * FROM item"));
    }
    Suite.assertRefused(NO_DATABASE, () -> Server.connect(address, "nowhere", "cassandra", "cassandra"));
  }

  @Test
  void aServerIsFoundAsAMemberOfAList() throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("user", "owner");
    properties.setProperty("password", "secret");
    properties.setProperty("notificationMember", address);
    try (Connection owner = DriverManager.getConnection("jdbc:gs:///TarnDB/shop", properties); Statement statement = owner.createStatement();
        ResultSet rows = statement.executeQuery("SELECT name FROM item")) {
      assertEquals("apple", Suite.text(rows));
    }
    SQLException refusal = assertThrows(SQLException.class, () -> DriverManager.getConnection("jdbc:gs://" + address + "/Other/shop", "owner", "secret"));
    assertEquals(OTHER_CLUSTER, refusal.getErrorCode(), refusal.getMessage());
  }
}
