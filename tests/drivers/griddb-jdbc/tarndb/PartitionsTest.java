package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Container;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Row;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Partitioned tables, and rows that expire. */
class PartitionsTest extends Suite {
  private static final int INVALID_ROW = 60_046;
  private static final int INVALID_KEY = 60_049;
  private static final int NOT_UPDATABLE = 240_016;
  private static final int INVALID_PARAMETER = 280_012;
  private static final int INVALID_COLUMN = 280_013;
  private static final int INVALID_TYPE = 280_024;
  private static final int REMOVED = 280_025;
  private static final int TOO_MANY = 280_026;
  private static final int UNSUPPORTED = 10_055;
  /** A time within which what happens by itself has happened, in milliseconds. */
  private static final long PATIENCE = 120_000;

  private String partitions(String table) throws SQLException {
    return query("SELECT PARTITION_BOUNDARY_VALUE FROM \"#table_partitions\" WHERE TABLE_NAME = '" + table + "'");
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "PARTITION BY HASH (id) PARTITIONS 5",
    "PARTITION BY HASH id PARTITIONS 1",
    "PARTITION BY RANGE (id) EVERY (10)",
    "PARTITION BY RANGE (id) EVERY (7) SUBPARTITION BY HASH (id) SUBPARTITIONS 3"
  })
  void rowsAreWhereTheyBelong(String clause) throws SQLException {
    String table = table("rows", "(id INTEGER PRIMARY KEY, name STRING, v DOUBLE) " + clause);
    assertEquals(41, update("INSERT INTO " + table + " SELECT n - 20, 'n' || n, n FROM (" + QueriesTest.numbers(41) + ")"));
    assertEquals("41|-20|20|820.0", query("SELECT COUNT(*), MIN(id), MAX(id), SUM(v) FROM " + table));
    assertEquals("-1|n19 0|n20 1|n21", query("SELECT id, name FROM " + table + " WHERE id BETWEEN -1 AND 1 ORDER BY id"));
    assertEquals("-10", query("SELECT id FROM " + table + " WHERE id = -10"));
    assertEquals("-20 -3 7 20", query("SELECT id FROM " + table + " WHERE id IN (-20, 7, 99, 20, -3) ORDER BY id"));
    assertEquals("20 19 18", query("SELECT id FROM " + table + " ORDER BY id DESC LIMIT 3"));
    assertEquals("-20 20", query("SELECT id FROM " + table + " WHERE id < -19 OR name = 'n40' OR id = -20 ORDER BY id"));
    assertEquals("", query("SELECT id FROM " + table + " WHERE id > 5 AND id < 4"));
    assertRefused(INVALID_KEY, () -> update("INSERT INTO " + table + " VALUES (-20, 'again', 0)"));
    assertEquals(2, update("INSERT OR REPLACE INTO " + table + " VALUES (-20, 'again', 0), (21, 'new', 1)"));
    assertEquals(10, update("UPDATE " + table + " SET v = -v WHERE id > 11"));
    assertEquals(20, update("DELETE FROM " + table + " WHERE id < 0"));
    assertEquals("22", query("SELECT COUNT(*) FROM " + table));
    assertEquals(22, update("DELETE FROM " + table));
    assertEquals("", query("SELECT * FROM " + table));
    update("DROP TABLE " + table);
    assertEquals("", partitions(table));
    assertRefused(SYNTAX, () -> query("SELECT * FROM " + table));
  }

  @Test
  void joinsAndIndexesReadAllDataPartitions() throws SQLException {
    String one = table("one", "(a STRING, b INTEGER, v LONG, PRIMARY KEY (a, b)) PARTITION BY HASH (b) PARTITIONS 4");
    String other = table("other", "(id LONG PRIMARY KEY, w INTEGER) PARTITION BY RANGE (id) EVERY (1000)");
    update("INSERT INTO " + one + " SELECT 'k' || (n % 7), n, n * 100 FROM (" + QueriesTest.numbers(500) + ")");
    update("INSERT INTO " + other + " SELECT n * 100, n % 10 FROM (" + QueriesTest.numbers(500) + ")");
    for (int i = 0; i < 2; i++) {
      assertEquals("72|17964", query("SELECT COUNT(*), SUM(b) FROM " + one + " WHERE a = 'k1' AND v >= 0"));
      assertEquals("k3|10|1000", query("SELECT * FROM " + one + " WHERE v = 1000"));
      assertEquals("500|2250", query("SELECT COUNT(*), SUM(w) FROM " + one + " JOIN " + other + " ON v = id"));
      assertEquals("50|12250", query("SELECT COUNT(*), SUM(b) FROM " + other + " JOIN " + one + " ON id = v WHERE w = 0"));
      assertEquals("", query("SELECT a, b, COUNT(*) FROM " + one + " GROUP BY a, b HAVING COUNT(*) > 1"));
      update("CREATE INDEX IF NOT EXISTS by_v ON " + one + " (v)");
    }
    assertEquals("k1|1 k1|8", query("SELECT a, b FROM " + one + " WHERE a = 'k1' AND b < 10 ORDER BY b"));
    assertEquals("k0|0", query("SELECT a, b FROM " + one + " WHERE (a = 'k0' AND b = 0) OR v = 0 OR (a = 'k0' AND v < 1)"));
    update("ALTER TABLE " + one + " ADD COLUMN x STRING");
    assertEquals(1, update("UPDATE " + one + " SET x = 'x' WHERE a = 'k1' AND b = 8"));
    assertEquals("k1|8|800|x", query("SELECT * FROM " + one + " WHERE x IS NOT NULL"));
    update("DROP INDEX by_v ON " + one);
    update("ALTER TABLE " + one + " DROP COLUMN v");
    assertEquals("500|1", query("SELECT COUNT(*), COUNT(x) FROM " + one));
    assertRefused(INVALID_COLUMN, () -> update("ALTER TABLE " + table("plain", "(h STRING, i LONG) PARTITION BY HASH (i) PARTITIONS 2") + " DROP COLUMN i"));
  }

  @Test
  void aTableWithoutAKeyHasEqualRowsAndNulls() throws SQLException {
    String table = table("unkeyed", "(a INTEGER, b STRING) PARTITION BY HASH (a) PARTITIONS 3");
    assertEquals(6, update("INSERT INTO " + table + " VALUES (1, 'x'), (1, 'x'), (2, 'y'), (NULL, 'n'), (NULL, NULL), (3, 'z')"));
    assertEquals("2", query("SELECT COUNT(*) FROM " + table + " WHERE a IS NULL"));
    assertEquals("6", query("SELECT COUNT(*) FROM " + table + " WHERE a = 1 OR b >= '' OR b IS NULL OR a > 1"));
    assertEquals(3, update("UPDATE " + table + " SET b = b || 'w' WHERE a = 1 OR b = 'n'"));
    assertEquals("xw xw y nw null z".split(" ").length, query("SELECT b FROM " + table).split(" ").length);
    assertEquals(4, update("DELETE FROM " + table + " WHERE a IS NULL OR b = 'xw'"));
    assertEquals("2|y 3|z", query("SELECT * FROM " + table + " ORDER BY a"));
    assertRefused(NOT_UPDATABLE, () -> update("UPDATE " + table + " SET a = a * 2"));
    assertEquals(2, update("DELETE FROM " + table));
  }

  @Test
  void intervalsHaveBoundaries() throws SQLException {
    String table = table("boundaries", "(id LONG NOT NULL, v INTEGER) PARTITION BY RANGE (id) EVERY (1000)");
    assertEquals("", partitions(table));
    update("INSERT INTO " + table + " VALUES (-1001, 1), (-1000, 2), (-1, 3), (0, 4), (999, 5), (1000, 6), (9223372036854775807, 7)");
    assertEquals("-2000 -1000 0 1000 9223372036854775000", partitions(table));
    assertEquals("5", query("SELECT COUNT(DISTINCT PARTITION_BOUNDARY_VALUE) FROM \"#table_partitions\" WHERE TABLE_NAME = '" + table + "'"));
    assertEquals("2 3", query("SELECT v FROM " + table + " WHERE id >= -1000 AND id < 0"));
    assertEquals("7", query("SELECT v FROM " + table + " WHERE id > 1000"));
    assertEquals("1 2 3 4 5", query("SELECT v FROM " + table + " WHERE id < 1000 ORDER BY v"));
    assertRefused(INVALID_ROW, () -> update("INSERT INTO " + table + " VALUES (NULL, 8)"));
    String bytes = table("bytes", "(b BYTE NOT NULL) PARTITION BY RANGE (b) EVERY (127)");
    update("INSERT INTO " + bytes + " VALUES (-128), (-127), (0), (127)");
    assertEquals("-254 -127 0 127", partitions(bytes));
    assertEquals("-128 -127 0 127", query("SELECT b FROM " + bytes + " ORDER BY b"));
  }

  @Test
  void intervalsOfTimeHaveUnits() throws SQLException {
    String columns = "(at TIMESTAMP PRIMARY KEY, v INTEGER) USING TIMESERIES PARTITION BY RANGE (at) EVERY (1, DAY)";
    String table = table("days", columns);
    update("INSERT INTO " + table + " VALUES (TIMESTAMP('2024-02-28T23:59:59.999Z'), 1), (TIMESTAMP('2024-02-29T00:00:00Z'), 2), "
        + "(TIMESTAMP('2024-02-29T12:00:00Z'), 3), (TIMESTAMP('2024-03-01T00:00:00Z'), 4)");
    assertEquals("2024-02-28T00:00:00.000Z 2024-02-29T00:00:00.000Z 2024-03-01T00:00:00.000Z", partitions(table));
    assertEquals("2 3", query("SELECT v FROM " + table + " WHERE at >= TIMESTAMP('2024-02-29T00:00:00Z') AND at < TIMESTAMP('2024-03-01T00:00:00Z')"));
    assertEquals("4 3 2 1", query("SELECT v FROM " + table + " ORDER BY at DESC"));
    assertEquals("1|TIMESERIES|INTERVAL|at|1|DAY|null|null", query("SELECT COUNT(*), TABLE_OPTIONAL_TYPE, PARTITION_TYPE, PARTITION_COLUMN, "
        + "PARTITION_INTERVAL_VALUE, PARTITION_INTERVAL_UNIT, SUBPARTITION_TYPE, EXPIRATION_TYPE FROM \"#tables\" WHERE TABLE_NAME = '" + table + "'"));
    String fine = table("fine", "(at TIMESTAMP(9) PRIMARY KEY, v INTEGER) PARTITION BY RANGE (at) EVERY (2, HOUR) SUBPARTITION BY HASH (at) SUBPARTITIONS 2");
    update("INSERT INTO " + fine + " VALUES (TIMESTAMP_NS('2024-02-29T01:59:59.999999999Z'), 1), (TIMESTAMP_NS('2024-02-29T02:00:00.000000001Z'), 2)");
    assertEquals("2", query("SELECT v FROM " + fine + " WHERE at >= TIMESTAMP_NS('2024-02-29T02:00:00.000000001Z')"));
    assertEquals("1", query("SELECT v FROM " + fine + " WHERE at = TIMESTAMP_NS('2024-02-29T01:59:59.999999999Z')"));
    assertEquals("4", query("SELECT COUNT(*) FROM \"#table_partitions\" WHERE TABLE_NAME = '" + fine + "'"));
    assertEquals("INTERVAL|at|2|HOUR|HASH|at|2", query("SELECT PARTITION_TYPE, PARTITION_COLUMN, PARTITION_INTERVAL_VALUE, PARTITION_INTERVAL_UNIT, "
        + "SUBPARTITION_TYPE, SUBPARTITION_COLUMN, SUBPARTITION_DIVISION_COUNT FROM \"#tables\" WHERE TABLE_NAME = '" + fine + "'"));
  }

  @Test
  void dataPartitionsAreDroppedForEver() throws SQLException {
    String table = table("dropped", "(id INTEGER PRIMARY KEY, v STRING) PARTITION BY RANGE (id) EVERY (100) SUBPARTITION BY HASH (id) SUBPARTITIONS 2");
    update("INSERT INTO " + table + " SELECT n - 100, 'v' FROM (" + QueriesTest.numbers(300) + ")");
    assertEquals("-100 -100 0 0 100 100", partitions(table));
    update("ALTER TABLE " + table + " DROP PARTITION FOR (42)");
    assertEquals("-100 -100 100 100", partitions(table));
    assertEquals("200|-100|199", query("SELECT COUNT(*), MIN(id), MAX(id) FROM " + table));
    assertRefused(REMOVED, () -> update("INSERT INTO " + table + " VALUES (0, 'late')"));
    assertRefused(REMOVED, () -> update("ALTER TABLE " + table + " DROP PARTITION FOR (99)"));
    assertRefused(INVALID_PARAMETER, () -> update("ALTER TABLE " + table + " DROP PARTITION FOR (1000)"));
    assertRefused(INVALID_PARAMETER, () -> update("ALTER TABLE " + table + " DROP PARTITION FOR ('2020-01-01T00:00:00Z')"));
    update("ALTER TABLE " + table + " DROP PARTITION FOR (-1)");
    assertEquals("100|100", query("SELECT COUNT(*), MIN(id) FROM " + table));
    update("INSERT INTO " + table + " VALUES (200, 'other')");
    String days = table("dropped_days", "(at TIMESTAMP PRIMARY KEY) PARTITION BY RANGE (at) EVERY (30, DAY)");
    update("INSERT INTO " + days + " VALUES (TIMESTAMP('1970-01-15T00:00:00Z'))");
    assertRefused(INVALID_PARAMETER, () -> update("ALTER TABLE " + days + " DROP PARTITION FOR (5)"));
    update("ALTER TABLE " + days + " DROP PARTITION FOR ('1970-01-30T23:59:59Z')");
    assertEquals("", query("SELECT * FROM " + days));
    String hashed = table("dropped_hash", "(id INTEGER PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2");
    assertRefused(INVALID_TYPE, () -> update("ALTER TABLE " + hashed + " DROP PARTITION FOR (1)"));
    assertRefused(INVALID_TYPE, () -> update("ALTER TABLE " + table("undivided", "(id INTEGER PRIMARY KEY)") + " DROP PARTITION FOR (1)"));
    assertRefused(SYNTAX, () -> update("ALTER TABLE PartitionsTest_none DROP PARTITION FOR (1)"));
  }

  @Test
  void thereAreAtMostTenThousand() throws SQLException {
    String table = table("many", "(id INTEGER PRIMARY KEY) PARTITION BY RANGE (id) EVERY (1) SUBPARTITION BY HASH (id) SUBPARTITIONS 1000");
    update("INSERT INTO " + table + " VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)");
    assertRefused(TOO_MANY, () -> update("INSERT INTO " + table + " VALUES (11)"));
    update("ALTER TABLE " + table + " DROP PARTITION FOR (5)");
    update("INSERT INTO " + table + " VALUES (11)");
    assertEquals("10|61", query("SELECT COUNT(*), SUM(id) FROM " + table));
    update("DROP TABLE " + table);
  }

  @Test
  void rowsExpire() throws Exception {
    // Some seconds; more where this machine takes as long as that to look.
    long life = 4_000;
    while (!rowsExpireAfter(life)) {
      assertTrue(life < 100_000, "they were not there");
      life *= 5;
    }
  }

  /** Whether rows were seen before they had expired; if they were not, they have to have lived for too short a time. */
  private boolean rowsExpireAfter(long life) throws Exception {
    long hour = Instant.now().truncatedTo(ChronoUnit.HOURS).toEpochMilli();
    // Those of the hour before are gone when their life is over.
    long began = System.currentTimeMillis();
    long left = began - hour + life;
    String table = table("expiring", "(at TIMESTAMP PRIMARY KEY, v INTEGER) USING TIMESERIES WITH (expiration_type='PARTITION', expiration_time=" + left
        + ", expiration_time_unit='MILLISECOND') PARTITION BY RANGE (at) EVERY (1, HOUR)");
    assertEquals(left + "|MILLISECOND|PARTITION", query("SELECT EXPIRATION_TIME, EXPIRATION_TIME_UNIT, EXPIRATION_TYPE FROM \"#tables\" WHERE TABLE_NAME = '" + table + "'"));
    String insert = "INSERT INTO " + table + " VALUES (TO_TIMESTAMP_MS(" + (hour - 1) + "), 1), (TO_TIMESTAMP_MS(" + (hour - 100_000) + "), 2), (TO_TIMESTAMP_MS("
        + hour + "), 3), (TO_TIMESTAMP_MS(5), 4)";
    assertEquals(4, update(insert), "one has expired already, and is put nowhere");
    update("CREATE INDEX by_v ON " + table + " (v)");
    boolean wereThere = query("SELECT v FROM " + table + " ORDER BY at").equals("2 1 3");
    if (!wereThere) {
      assertTrue(System.currentTimeMillis() - began >= life, "they were not there");
      return false;
    }
    long until = began + life + PATIENCE;
    while (!query("SELECT v FROM " + table + " WHERE v > 0").equals("3")) {
      assertTrue(System.currentTimeMillis() < until, "the rows are still there");
    }
    assertEquals(2, update("INSERT INTO " + table + " VALUES (TO_TIMESTAMP_MS(" + (hour - 1) + "), 9), (TO_TIMESTAMP_MS(" + (hour + 1) + "), 5)"));
    assertEquals("3 5", query("SELECT v FROM " + table));
    assertEquals(0, update("UPDATE " + table + " SET v = 0 WHERE at = TO_TIMESTAMP_MS(" + (hour - 1) + ")"));
    // A further interval lets the table forget those that have expired.
    update("INSERT INTO " + table + " VALUES (TO_TIMESTAMP_MS(" + (hour + 3_600_000) + "), 6)");
    assertEquals("2", query("SELECT COUNT(*) FROM \"#table_partitions\" WHERE TABLE_NAME = '" + table + "'"));
    return true;
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {
    "280013; (id INTEGER PRIMARY KEY, v INTEGER) PARTITION BY HASH (v) PARTITIONS 2",
    "280013; (id INTEGER PRIMARY KEY) PARTITION BY HASH (w) PARTITIONS 2",
    "280013; (id INTEGER) PARTITION BY RANGE (id) EVERY (10)",
    "280013; (a INTEGER, b STRING, c STRING, PRIMARY KEY (a, b)) PARTITION BY RANGE (a) EVERY (10) SUBPARTITION BY HASH (c) SUBPARTITIONS 2",
    "280012; (id INTEGER PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 0",
    "280012; (id INTEGER PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 1025",
    "280012; (id INTEGER PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4294967297",
    "280012; (id INTEGER PRIMARY KEY) PARTITION BY RANGE (id) EVERY (0)",
    "280012; (id INTEGER PRIMARY KEY) PARTITION BY RANGE (id) EVERY (2147483648)",
    "280012; (id BYTE NOT NULL) PARTITION BY RANGE (id) EVERY (128)",
    "280012; (id LONG PRIMARY KEY) PARTITION BY RANGE (id) EVERY (999)",
    "280012; (id LONG PRIMARY KEY) PARTITION BY RANGE (id) EVERY (2999) SUBPARTITION BY HASH (id) SUBPARTITIONS 3",
    "280012; (id INTEGER PRIMARY KEY) PARTITION BY RANGE (id) EVERY (10, DAY)",
    "280012; (id STRING PRIMARY KEY) PARTITION BY RANGE (id) EVERY (10)",
    "280012; (at TIMESTAMP PRIMARY KEY) PARTITION BY RANGE (at) EVERY (10)",
    "280012; (at TIMESTAMP PRIMARY KEY) PARTITION BY RANGE (at) EVERY (1, MINUTE)",
    "280012; (at TIMESTAMP PRIMARY KEY) WITH (expiration_time=5)",
    "280012; (at TIMESTAMP PRIMARY KEY) WITH (expiration_time=5) PARTITION BY HASH (at) PARTITIONS 2",
    "280012; (id INTEGER PRIMARY KEY) WITH (expiration_time=5) PARTITION BY RANGE (id) EVERY (10)",
    "240001; (at TIMESTAMP PRIMARY KEY) WITH (expiration_time=0) PARTITION BY RANGE (at) EVERY (1, DAY)",
    "240001; (at TIMESTAMP PRIMARY KEY) WITH (expiration_time='5') PARTITION BY RANGE (at) EVERY (1, DAY)",
    "240001; (at TIMESTAMP PRIMARY KEY) WITH (expiration_time=5, expiration_time_unit='YEAR') PARTITION BY RANGE (at) EVERY (1, DAY)",
    "240001; (at TIMESTAMP PRIMARY KEY) WITH (expiration_type='PARTITION') PARTITION BY RANGE (at) EVERY (1, DAY)",
    "240001; (at TIMESTAMP PRIMARY KEY) USING TIMESERIES WITH (expiration_type='ROW', expiration_time=5)",
    "240001; (id INTEGER PRIMARY KEY) WITH (color='red')",
    "240001; (id INTEGER PRIMARY KEY) PARTITION BY LIST (id)",
    "240001; (id INTEGER DEFAULT 5)"
  })
  void whatCannotBeIsRefused(int code, String definition) throws SQLException {
    assertRefused(code, () -> update("CREATE TABLE " + name("wrong") + " " + definition));
    assertRefused(SYNTAX, () -> query("SELECT * FROM " + name("wrong")));
  }

  @Test
  void hintsWhereRowsShouldBeAreTaken() throws SQLException {
    String table = table("hints", "(at TIMESTAMP PRIMARY KEY) WITH (data_affinity='near', interval_worker_group=1) PARTITION BY RANGE (at) EVERY (1, DAY)");
    update("CREATE TABLE IF NOT EXISTS " + table + " (at TIMESTAMP PRIMARY KEY) PARTITION BY RANGE (at) EVERY (1, DAY)");
    assertEquals(0, update("DELETE FROM " + table));
  }

  @ParameterizedTest
  @ValueSource(strings = {"PARTITION BY HASH (id) PARTITIONS 3", "PARTITION BY RANGE (id) EVERY (10)"})
  void rowsAreReachedByTheirKeyOverNoSql(String clause) throws Exception {
    String table = table("nosql", "(id INTEGER PRIMARY KEY, v STRING) " + clause);
    try (GridStore store = Server.store(Server.MEMBER, "admin", "admin")) {
      assertEquals(2, store.getContainerInfo(table).getColumnCount());
      Container<Object, Row> container = store.getContainer(table);
      for (int id = -20; id < 20; id++) {
        assertFalse(container.put(row(container, id, "v" + id)));
      }
      assertTrue(container.put(row(container, 7, "again")));
      assertEquals("again", container.get(7).getString(1));
      assertEquals(null, container.get(99));
      assertTrue(container.remove(-20));
      assertFalse(container.remove(-20) || container.remove(99));
      assertFalse(container.put(List.of(row(container, 5, "five"))), "clients are not told");
      assertEquals("39|again|five", query("SELECT COUNT(*), (SELECT v FROM " + table + " WHERE id = 7), (SELECT v FROM " + table + " WHERE id = 5) FROM " + table));
      assertUnsupported(() -> container.put(List.of(row(container, 1, "a"), row(container, 2, "b"), row(container, 12, "c"), row(container, 23, "d"))));
      assertUnsupported(() -> container.query("SELECT *").fetch());
      container.setAutoCommit(false);
      assertUnsupported(() -> container.put(row(container, 1, "locked")));
    }
    if (clause.contains("RANGE")) {
      update("ALTER TABLE " + table + " DROP PARTITION FOR (5)");
      try (GridStore store = Server.store(Server.MEMBER, "admin", "admin")) {
        Container<Object, Row> container = store.getContainer(table);
        assertEquals(null, container.get(7));
        GSException refusal = assertThrows(GSException.class, () -> container.put(row(container, 7, "late")));
        assertEquals(REMOVED, refusal.getErrorCode(), refusal.getMessage());
      }
    }
  }

  @Test
  void rowsThatHaveExpiredArePutNowhereOverNoSql() throws Exception {
    String table = table("nosql_expired", "(at TIMESTAMP PRIMARY KEY, v INTEGER) USING TIMESERIES WITH (expiration_time=1) PARTITION BY RANGE (at) EVERY (1, DAY)");
    try (GridStore store = Server.store(Server.MEMBER, "admin", "admin")) {
      Container<Object, Row> container = store.getContainer(table);
      Row old = container.createRow();
      old.setTimestamp(0, new Date(5));
      old.setInteger(1, 1);
      assertFalse(container.put(old));
      old.setTimestamp(0, new Date());
      assertFalse(container.put(old));
    }
    assertEquals("1", query("SELECT COUNT(*) FROM " + table));
    assertEquals("1", query("SELECT COUNT(*) FROM \"#table_partitions\" WHERE TABLE_NAME = '" + table + "'"));
  }

  private static Row row(Container<Object, Row> container, int id, String text) throws GSException {
    Row row = container.createRow();
    row.setInteger(0, id);
    row.setString(1, text);
    return row;
  }

  private static void assertUnsupported(Executable request) {
    GSException refusal = assertThrows(GSException.class, request);
    assertEquals(UNSUPPORTED, refusal.getErrorCode(), refusal.getMessage());
  }

  @Test
  void manyRowsAreReadAtTheSameTime() throws SQLException {
    String table = table("large", "(id INTEGER PRIMARY KEY, v LONG, note STRING) PARTITION BY HASH (id) PARTITIONS 4");
    String series = table("series", "(id LONG PRIMARY KEY, v LONG, note STRING) PARTITION BY RANGE (id) EVERY (20000)");
    int rows = 100_000;
    for (String each : List.of(table, series)) {
      for (int start = 0; start < rows; start += 20_000) {
        update("INSERT OR REPLACE INTO " + each + " SELECT n + " + start + ", n % 10, 'note' || n FROM (" + QueriesTest.numbers(20_000) + ")");
      }
      assertEquals(rows + "|4999950000|450000", query("SELECT COUNT(*), SUM(id), SUM(v) FROM " + each));
      assertEquals("10000|9", query("SELECT COUNT(*), MAX(LENGTH(note)) FROM " + each + " WHERE v = 3 AND note >= 'note'"));
      // Not read to its end.
      assertEquals("0 1 2", query("SELECT id FROM " + each + " ORDER BY id LIMIT 3"));
      assertEquals("3", query("SELECT COUNT(*) FROM (SELECT note FROM " + each + " LIMIT 3)"));
      assertEquals(rows / 10 + "", query("SELECT COUNT(*) FROM " + each + " one JOIN " + each + " other ON one.id = other.id WHERE one.v = 7"));
    }
    assertEquals("99999 99998", query("SELECT id FROM " + series + " ORDER BY id DESC LIMIT 2"));
    assertEquals(rows / 2, update("DELETE FROM " + table + " WHERE v >= 5"));
    assertEquals("50000|100000", query("SELECT COUNT(*), SUM(v) FROM " + table));
  }

  /** What is done to a table that is partitioned and to one that is not leaves the same rows, and queries say the same. */
  @ParameterizedTest
  @ValueSource(strings = {
    "PARTITION BY HASH (s) PARTITIONS 3",
    "PARTITION BY RANGE (at) EVERY (1, HOUR)",
    "PARTITION BY RANGE (at) EVERY (3, HOUR) SUBPARTITION BY HASH (s) SUBPARTITIONS 2"
  })
  void partitionedTablesAreAsOthers(String clause) throws SQLException {
    String columns = "(at TIMESTAMP, s STRING, v INTEGER, PRIMARY KEY (at, s))";
    String divided = table("divided", columns + " " + clause);
    String plain = table("same", columns);
    update("CREATE INDEX by_v ON " + divided + " (v)");
    Random random = new Random(clause.hashCode());
    for (int step = 0; step < 400; step++) {
      List<String> statements = new ArrayList<>();
      String key = "TO_TIMESTAMP_MS(" + random.nextInt(40) * 900_000L + ")";
      String text = "'s" + random.nextInt(5) + "'";
      String condition = switch (random.nextInt(7)) {
        case 0 -> "at = " + key;
        case 1 -> "s = " + text;
        case 2 -> "at >= " + key + " AND s <= " + text;
        case 3 -> "at < " + key + " AND v > " + random.nextInt(20);
        case 4 -> "at = " + key + " AND s = " + text;
        case 5 -> "v = " + random.nextInt(20) + " OR at = " + key;
        default -> "at BETWEEN TO_TIMESTAMP_MS(0) AND " + key + " AND s IN ('s1', " + text + ", 's9')";
      };
      switch (random.nextInt(6)) {
        case 0, 1 -> statements.add("INSERT OR REPLACE INTO %s VALUES (" + key + ", " + text + ", " + random.nextInt(20) + "), (" + key + ", 's7', NULL)");
        case 2 -> statements.add("INSERT INTO %s VALUES (" + key + ", " + text + ", 1)");
        case 3 -> statements.add("UPDATE %s SET v = COALESCE(v, 0) + 1 WHERE " + condition);
        case 4 -> statements.add(random.nextInt(3) == 0 ? "DELETE FROM %s WHERE " + condition : "UPDATE %s SET v = 5 WHERE " + condition);
        default -> { }
      }
      for (String statement : statements) {
        assertEquals(outcome(statement.formatted(plain)), outcome(statement.formatted(divided)), statement);
      }
      for (String select : List.of("SELECT * FROM %s WHERE " + condition + " ORDER BY at, s", "SELECT s, COUNT(*), SUM(v) FROM %s GROUP BY s ORDER BY s",
          "SELECT at, s FROM %s WHERE " + condition + " ORDER BY at DESC, s DESC LIMIT 4")) {
        assertEquals(query(select.formatted(plain)), query(select.formatted(divided)), select);
      }
    }
  }

  private String outcome(String statement) {
    try {
      return Integer.toString(update(statement));
    } catch (SQLException refusal) {
      return "refused: " + refusal.getErrorCode();
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
  void theySurviveAKill() throws Exception {
    String table = table("killed", "(id INTEGER PRIMARY KEY, v INTEGER) PARTITION BY RANGE (id) EVERY (50) SUBPARTITION BY HASH (id) SUBPARTITIONS 2");
    for (int id = 0; id < 300; id++) {
      update("INSERT INTO " + table + " VALUES (?, ?)", id, id * 2);
    }
    update("ALTER TABLE " + table + " DROP PARTITION FOR (120)");
    Server.restart("kill");
    assertEquals("250|250", query("SELECT COUNT(*), COUNT(CASE WHEN v = id * 2 THEN 1 END) FROM " + table));
    assertEquals("0 0 50 50 150 150 200 200 250 250", partitions(table));
    assertEquals(2, update("INSERT INTO " + table + " VALUES (300, 600), (301, 602)"));
    assertRefused(REMOVED, () -> update("INSERT INTO " + table + " VALUES (149, 0)"));
    assertEquals("252", query("SELECT COUNT(*) FROM " + table));
  }
}
