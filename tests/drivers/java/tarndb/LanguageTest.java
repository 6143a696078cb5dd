package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.ProtocolVersion;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.cql.AsyncResultSet;
import com.datastax.oss.driver.api.core.cql.BatchStatement;
import com.datastax.oss.driver.api.core.cql.BatchStatementBuilder;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.DefaultBatchType;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.data.CqlDuration;
import com.datastax.oss.driver.api.core.servererrors.AlreadyExistsException;
import com.datastax.oss.driver.api.core.servererrors.InvalidQueryException;
import com.datastax.oss.driver.api.core.servererrors.SyntaxError;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Types, prepared statements, paging, batches, lightweight transactions and errors through the Java driver. */
final class LanguageTest {
  @Test
  void everyNativeTypeComesBackEqual() throws Exception {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("ascii", "plain");
    values.put("bigint", Long.MIN_VALUE);
    values.put("blob", ByteBuffer.wrap(new byte[] {0, -1, 7}));
    values.put("boolean", true);
    values.put("date", LocalDate.of(2024, 2, 29));
    values.put("decimal", new BigDecimal("-1.50"));
    values.put("double", -1.5e300);
    values.put("duration", CqlDuration.newInstance(14, 3, 4_000_000_005L));
    values.put("float", 0.5f);
    values.put("inet", InetAddress.getByName("2001:db8::1"));
    values.put("int", Integer.MAX_VALUE);
    values.put("smallint", Short.MIN_VALUE);
    values.put("text", "Bergsee äöü 湖 🏔");
    values.put("time", LocalTime.of(23, 59, 59, 999_999_999));
    values.put("timestamp", Instant.parse("1969-12-31T23:59:59.999Z"));
    values.put("timeuuid", UUID.fromString("4f1a6a80-2b5c-11ee-8c90-0242ac120002"));
    values.put("tinyint", Byte.MIN_VALUE);
    values.put("uuid", new UUID(0, 7));
    values.put("varint", BigInteger.TWO.pow(200).negate());
    values.put("list<int>", List.of(3, 1, 3));
    values.put("set<text>", Set.of("a", "b"));
    values.put("map<text, int>", Map.of("a", 1, "b", -1));
    values.put("frozen<map<text, frozen<list<int>>>>", Map.of("a", List.of(1, 2), "b", List.of()));
    values.put("list<frozen<set<int>>>", List.of(Set.of(1, 2), Set.of()));
    try (CqlSession session = Server.connectToNewKeyspace("java_types")) {
      int number = 0;
      for (Map.Entry<String, Object> entry : values.entrySet()) {
        String table = "t" + number++;
        session.execute("CREATE TABLE " + table + " (k int PRIMARY KEY, v " + entry.getKey() + ", w int)");
        PreparedStatement insert = session.prepare("INSERT INTO " + table + " (k, v, w) VALUES (?, ?, ?)");
        session.execute(insert.bind(1, entry.getValue(), 1));
        session.execute(insert.bind(2, null, 2));
        // A value that is not set leaves the cell alone.
        session.execute(insert.boundStatementBuilder().setInt("k", 1).setInt("w", 3).build());
        PreparedStatement select = session.prepare("SELECT v, w FROM " + table + " WHERE k = ?");
        Row first = session.execute(select.bind(1)).one();
        assertEquals(entry.getValue(), first.getObject("v"), entry.getKey());
        assertEquals(3, first.getInt("w"));
        Row second = session.execute(select.bind(2)).one();
        assertTrue(second.isNull("v"), entry.getKey());
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"V3,none", "V3,lz4", "V3,snappy", "V4,none", "V4,lz4", "V4,snappy", "V5,none", "V5,lz4"})
  void largeValuesPassOnEveryVersionAndCompression(String version, String compression) {
    String text = "a tarn is a small mountain lake ".repeat(10_000);
    try (CqlSession setup = Server.connectToNewKeyspace("java_frames")) {
      setup.execute("CREATE TABLE t (k int PRIMARY KEY, v text)");
    }
    try (CqlSession session =
        Server.connect(
            options ->
                options
                    .withString(DefaultDriverOption.PROTOCOL_VERSION, version)
                    .withString(DefaultDriverOption.PROTOCOL_COMPRESSION, compression),
            builder -> builder.withKeyspace("java_frames"))) {
      assertEquals(version, session.getContext().getProtocolVersion().name());
      session.execute(session.prepare("INSERT INTO t (k, v) VALUES (?, ?)").bind(1, text));
      assertEquals(text, session.execute("SELECT v FROM t WHERE k = 1").one().getString(0));
    }
  }

  @Test
  void newestVersionIsFoundByDowngrading() {
    try (CqlSession session = Server.connect()) {
      ProtocolVersion version = session.getContext().getProtocolVersion();
      assertTrue(version.getCode() == 4 || version.getCode() == 5, version.toString());
    }
  }

  @Test
  void countersAndCollectionsChangeInPlace() {
    try (CqlSession session = Server.connectToNewKeyspace("java_collections")) {
      session.execute("CREATE TABLE n (k int PRIMARY KEY, c counter)");
      PreparedStatement add = session.prepare("UPDATE n SET c = c + ? WHERE k = ?");
      for (long amount : new long[] {1, 41, -2}) {
        session.execute(add.bind(amount, 1));
      }
      assertEquals(40, session.execute("SELECT c FROM n").one().getLong(0));
      session.execute("CREATE TABLE t (k int PRIMARY KEY, l list<int>, s set<int>, m map<text, int>)");
      session.execute("INSERT INTO t (k, l, s, m) VALUES (1, [1], {1}, {'a': 1})");
      session.execute("UPDATE t SET l = l + [2], s = s + {2}, m['b'] = 2 WHERE k = 1");
      session.execute("UPDATE t SET l = [0] + l, s = s - {1}, m = m - {'a'} WHERE k = 1");
      Row row = session.execute("SELECT l, s, m FROM t").one();
      assertEquals(List.of(0, 1, 2), row.getList("l", Integer.class));
      assertEquals(Set.of(2), row.getSet("s", Integer.class));
      assertEquals(Map.of("b", 2), row.getMap("m", String.class, Integer.class));
    }
  }

  @Test
  void pagesGiveEveryRowOnceAndResumeInAnotherSession() {
    try (CqlSession session = Server.connectToNewKeyspace("java_paging")) {
      session.execute("CREATE TABLE t (k int, c int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)");
      PreparedStatement insert = session.prepare("INSERT INTO t (k, c) VALUES (?, ?)");
      runAll(session, IntStream.range(0, 3_000).mapToObj(c -> insert.bind(c % 3, c)).toList());
      for (int size : new int[] {7, 1_000, 5_000}) {
        Set<Integer> seen = new HashSet<>();
        for (Row row : session.execute(SimpleStatement.newInstance("SELECT c FROM t").setPageSize(size))) {
          assertTrue(seen.add(row.getInt(0)));
        }
        assertEquals(3_000, seen.size());
      }
    }
    List<Integer> seen = new ArrayList<>();
    ByteBuffer state = null;
    do {
      try (CqlSession session = Server.connect()) {
        ResultSet page =
            session.execute(
                SimpleStatement.newInstance("SELECT c FROM java_paging.t WHERE k = 1")
                    .setPageSize(300)
                    .setPagingState(state));
        int available = page.getAvailableWithoutFetching();
        assertTrue(available <= 300);
        for (int i = 0; i < available; i++) {
          seen.add(page.one().getInt(0));
        }
        state = page.getExecutionInfo().getPagingState();
      }
    } while (state != null);
    List<Integer> expected = new ArrayList<>(IntStream.range(0, 1_000).mapToObj(n -> n * 3 + 1).toList());
    Collections.reverse(expected);
    assertEquals(expected, seen);
  }

  @Test
  void batchesWriteAllTheirStatements() {
    try (CqlSession session = Server.connectToNewKeyspace("java_batches")) {
      session.execute("CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))");
      session.execute("CREATE TABLE n (k int PRIMARY KEY, c counter)");
      PreparedStatement insert = session.prepare("INSERT INTO t (k, c, v) VALUES (?, ?, ?)");
      for (DefaultBatchType kind : List.of(DefaultBatchType.LOGGED, DefaultBatchType.UNLOGGED)) {
        int key = kind.ordinal();
        session.execute(
            BatchStatement.newInstance(kind)
                .add(insert.bind(key, 1, "prepared"))
                .add(SimpleStatement.newInstance("INSERT INTO t (k, c, v) VALUES (?, 2, 'simple')", key))
                .setQueryTimestamp(1234));
        List<Row> rows = session.execute("SELECT v, writetime(v) FROM t WHERE k = " + key).all();
        assertEquals(List.of("prepared", "simple"), rows.stream().map(row -> row.getString(0)).toList());
        assertEquals(1234, rows.get(0).getLong(1));
      }
      BatchStatementBuilder counters = BatchStatement.builder(DefaultBatchType.COUNTER);
      counters.addStatement(SimpleStatement.newInstance("UPDATE n SET c = c + 2 WHERE k = 1"));
      counters.addStatement(SimpleStatement.newInstance("UPDATE n SET c = c + 3 WHERE k = 1"));
      session.execute(counters.build());
      assertEquals(5, session.execute("SELECT c FROM n").one().getLong(0));
    }
  }

  @Test
  void lightweightTransactionsApplyOnce() {
    try (CqlSession session = Server.connectToNewKeyspace("java_lwt")) {
      session.execute("CREATE TABLE t (k int PRIMARY KEY, v int)");
      PreparedStatement insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?) IF NOT EXISTS");
      assertTrue(session.execute(insert.bind(1, 1)).wasApplied());
      ResultSet refused = session.execute(insert.bind(1, 2));
      assertFalse(refused.wasApplied());
      assertEquals(1, refused.one().getInt("v"));
      PreparedStatement swap = session.prepare("UPDATE t SET v = ? WHERE k = ? IF v = ?");
      assertFalse(session.execute(swap.bind(5, 1, 9)).wasApplied());
      assertTrue(session.execute(swap.bind(5, 1, 1)).wasApplied());
      assertTrue(session.execute("DELETE FROM t WHERE k = 1 IF EXISTS").wasApplied());
      assertNull(session.execute("SELECT v FROM t").one());
    }
  }

  @Test
  void timestampsAndTimeToLiveAreKept() {
    try (CqlSession session = Server.connectToNewKeyspace("java_writes")) {
      session.execute("CREATE TABLE t (k int PRIMARY KEY, v int)");
      PreparedStatement insert =
          session.prepare("INSERT INTO t (k, v) VALUES (:k, :v) USING TIMESTAMP :at AND TTL :left");
      session.execute(insert.bind(1, 2, 2_000L, 1_000));
      session.execute(insert.bind(1, 1, 1_000L, 1_000));
      Row row = session.execute("SELECT v, writetime(v), ttl(v) FROM t").one();
      assertEquals(2, row.getInt(0));
      assertEquals(2_000, row.getLong(1));
      assertTrue(row.getInt(2) > 900 && row.getInt(2) <= 1_000);
      session.execute(SimpleStatement.newInstance("DELETE FROM t WHERE k = 1").setQueryTimestamp(3_000));
      session.execute(SimpleStatement.newInstance("INSERT INTO t (k, v) VALUES (1, 9)").setQueryTimestamp(2_500));
      assertNull(session.execute("SELECT v FROM t").one());
    }
  }

  @Test
  void errorsHaveTheirCodes() {
    try (CqlSession session = Server.connectToNewKeyspace("java_errors")) {
      session.execute("CREATE TABLE t (k int PRIMARY KEY)");
      assertThrows(InvalidQueryException.class, () -> session.execute("SELECT * FROM no_such_table"));
      assertThrows(InvalidQueryException.class, () -> session.prepare("SELECT nope FROM t"));
      assertThrows(SyntaxError.class, () -> session.execute("SELEC"));
      assertThrows(AlreadyExistsException.class, () -> session.execute("CREATE TABLE t (k int PRIMARY KEY)"));
    }
  }

  @Test
  void countOverAWholeTableIsAnsweredWithAWarning() {
    try (CqlSession session = Server.connectToNewKeyspace("java_warnings")) {
      session.execute("CREATE TABLE t (k int PRIMARY KEY)");
      List<String> warnings = session.execute("SELECT count(*) FROM t").getExecutionInfo().getWarnings();
      assertTrue(warnings.stream().anyMatch(text -> text.contains("partition key")), warnings.toString());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4, 5})
  void requestsInFlightAreAnsweredToTheirAskers(int version) throws Exception {
    try (CqlSession setup = Server.connectToNewKeyspace("java_concurrent")) {
      setup.execute("CREATE TABLE t (k int PRIMARY KEY, v int)");
    }
    try (CqlSession session =
        Server.connect(
            options -> options.withString(DefaultDriverOption.PROTOCOL_VERSION, "V" + version),
            builder -> builder.withKeyspace("java_concurrent"))) {
      PreparedStatement insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)");
      PreparedStatement select = session.prepare("SELECT v FROM t WHERE k = ?");
      runAll(session, IntStream.range(0, 3_000).mapToObj(key -> insert.bind(key, key * 3)).toList());
      List<CompletionStage<AsyncResultSet>> reads = new ArrayList<>();
      for (int key = 0; key < 1_000; key++) {
        reads.add(session.executeAsync(select.bind(key)));
      }
      for (int key = 0; key < reads.size(); key++) {
        assertEquals(key * 3, reads.get(key).toCompletableFuture().get().one().getInt(0));
      }
    }
  }

  @Test
  void tokensOfTheDriverAreThoseOfTheServer() {
    try (CqlSession session = Server.connectToNewKeyspace("java_tokens")) {
      session.execute("CREATE TABLE t (k int PRIMARY KEY)");
      PreparedStatement insert = session.prepare("INSERT INTO t (k) VALUES (?)");
      runAll(session, IntStream.range(0, 100).mapToObj(insert::bind).collect(Collectors.toList()));
      for (Row row : session.execute("SELECT k, token(k) FROM t")) {
        ByteBuffer key = row.getBytesUnsafe(0);
        String token = session.getMetadata().getTokenMap().orElseThrow().newToken(key).toString();
        assertTrue(token.contains(Long.toString(row.getLong(1))), token);
      }
    }
  }

  /** Executes many statements, at most 500 at a time. */
  private static void runAll(CqlSession session, List<BoundStatement> statements) {
    for (int start = 0; start < statements.size(); start += 500) {
      statements.subList(start, Math.min(start + 500, statements.size())).stream()
          .map(session::executeAsync)
          .toList()
          .forEach(stage -> stage.toCompletableFuture().join());
    }
  }
}
