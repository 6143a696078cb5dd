package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.dsbulk.runner.DataStaxBulkLoader;
import com.datastax.oss.dsbulk.runner.ExitStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** dsbulk, by its command line: a hundred thousand rows loaded from CSV and JSON, and unloaded in parallel by ranges of tokens. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class DsbulkTest {
  static final int ROWS = 100_000;
  static final String KEYSPACE = "app_dsbulk";
  @TempDir static Path place;

  @BeforeAll
  static void start() throws IOException {
    try (CqlSession session = Server.connect()) {
      session.execute("DROP KEYSPACE IF EXISTS " + KEYSPACE);
      session.execute("CREATE KEYSPACE " + KEYSPACE + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
      session.execute("CREATE TABLE " + KEYSPACE + ".big (part int, number bigint, name text, score double, tags list<text>, PRIMARY KEY (part, number))");
      session.execute("CREATE TABLE " + KEYSPACE + ".small (k int PRIMARY KEY, v text, n int)");
      session.execute("CREATE TABLE " + KEYSPACE + ".counters (k int PRIMARY KEY, c counter)");
    }
    Files.write(place.resolve("big.csv"), Stream.concat(Stream.of("part,number,name,score,tags"), IntStream.range(0, ROWS).mapToObj(DsbulkTest::line)).toList());
    run("load", "-url", place.resolve("big.csv").toString(), "-k", KEYSPACE, "-t", "big");
  }

  /** As dsbulk writes it, too. */
  static String line(int number) {
    return (number % 997) + "," + number + "," + (number % 3 == 0 ? "\"comma, \u00e4 " + number + "\"" : "name" + number) + "," + (number + 0.5) + ",\"[\\\"t" + number % 7 + "\\\",\\\"u\\\"]\"";
  }

  /** Runs dsbulk as its script does, in this process. It must end well. */
  static void run(String... words) {
    List<String> command = new ArrayList<>(List.of(words));
    command.addAll(
        List.of(
            "-h", "[\"" + Server.host() + ":" + Server.port() + "\"]", "-dc", "datacenter1", "-logDir", place.resolve("logs").toString(), "--log.verbosity", "quiet", "--monitoring.console", "false",
            "--datastax-java-driver.basic.request.timeout", "2 minutes", "--datastax-java-driver.advanced.connection.init-query-timeout", "120 seconds",
            "--datastax-java-driver.advanced.netty.io-group.shutdown.quiet-period", "0", "--datastax-java-driver.advanced.netty.admin-group.shutdown.quiet-period", "0"));
    assertEquals(ExitStatus.STATUS_OK, new DataStaxBulkLoader(command.toArray(String[]::new)).run());
  }

  /** The lines that dsbulk unloads, of all its files. */
  static List<String> unloaded(String... words) throws IOException {
    Path out = Files.createTempDirectory(place, "unloaded");
    List<String> command = new ArrayList<>(List.of("unload", "-header", "false", "-k", KEYSPACE, "-url", out.toString()));
    command.addAll(List.of(words));
    run(command.toArray(String[]::new));
    List<String> lines = new ArrayList<>();
    try (Stream<Path> files = Files.list(out)) {
      for (Path file : files.toList()) {
        lines.addAll(Files.readAllLines(file));
      }
    }
    return lines;
  }

  static long count(String table) {
    return Server.rows("SELECT count(*) FROM " + KEYSPACE + "." + table).get(0).getLong(0);
  }

  @Test
  void everyRowIsLoaded() {
    assertEquals(ROWS, count("big"));
    assertEquals((long) ROWS * (ROWS - 1) / 2, Server.rows("SELECT sum(number) FROM " + KEYSPACE + ".big").get(0).getLong(0));
    var row = Server.rows("SELECT name, score, tags FROM " + KEYSPACE + ".big WHERE part = ? AND number = 54321", 54321 % 997).get(0);
    assertEquals(List.of("comma, \u00e4 54321", 54321.5, List.of("t1", "u")), List.of(row.getString(0), row.getDouble(1), row.getList(2, String.class)));
  }

  @Test
  void rowsAreUnloadedAsTheyWere() throws IOException {
    assertEquals(IntStream.range(0, ROWS).mapToObj(DsbulkTest::line).sorted().toList(), unloaded("-query", "SELECT part, number, name, score, tags FROM big").stream().sorted().toList());
  }

  @Test
  void rangesOfTokensAreUnloaded() throws IOException {
    List<String> all = new ArrayList<>();
    for (String range : List.of("token(part) <= 1000", "token(part) > 1000")) {
      List<String> half = unloaded("-query", "SELECT number FROM big WHERE " + range);
      assertTrue(half.size() > ROWS / 10);
      all.addAll(half);
    }
    assertEquals(ROWS, all.stream().distinct().count());
    assertEquals(ROWS, all.size());
  }

  @Test
  void partOfATableIsUnloaded() throws IOException {
    assertEquals(101, unloaded("-query", "SELECT number FROM big WHERE part = 3").size());
  }

  @Test
  void jsonGoesThereAndBack() throws IOException {
    Files.write(place.resolve("small.json"), IntStream.range(0, 500).mapToObj(k -> "{\"k\":" + k + ",\"v\":" + (k % 5 == 0 ? "null" : "\"v" + k + "\"") + ",\"n\":" + k * 2 + "}").toList());
    run("load", "-c", "json", "-url", place.resolve("small.json").toString(), "-k", KEYSPACE, "-t", "small");
    assertEquals(500, count("small"));
    Path out = place.resolve("json");
    run("unload", "-c", "json", "-url", out.toString(), "-maxConcurrentFiles", "1", "-k", KEYSPACE, "-query", "SELECT k, v, n FROM small WHERE n < 20 ALLOW FILTERING");
    List<String> found;
    try (Stream<Path> files = Files.list(out)) {
      found = Files.readAllLines(files.findFirst().orElseThrow());
    }
    assertEquals(10, found.size());
    assertTrue(found.contains("{\"k\":3,\"v\":\"v3\",\"n\":6}"), found::toString);
  }

  @Test
  void mappingsQueriesTimesToLiveAndTimestamps() throws IOException {
    Files.writeString(place.resolve("mapped.csv"), "7001|a|5\n7002|b|6\n");
    run(
        "load", "-url", place.resolve("mapped.csv").toString(), "-header", "false", "-delim", "|", "-k", KEYSPACE, "-query",
        "INSERT INTO small (k, v, n) VALUES (:k, :v, :n) USING TTL 600 AND TIMESTAMP 1700000000000000", "-m", "0=k,1=v,2=n");
    var row = Server.rows("SELECT v, n, ttl(v), writetime(v) FROM " + KEYSPACE + ".small WHERE k = 7002").get(0);
    assertEquals(List.of("b", 6), List.of(row.getString(0), row.getInt(1)));
    assertTrue(row.getInt(2) > 500 && row.getInt(2) <= 600 && row.getLong(3) == 1_700_000_000_000_000L);
  }

  @Test
  void countersAreAdded() throws IOException {
    Files.writeString(place.resolve("counters.csv"), "k,c\n1,5\n1,6\n2,-1\n");
    run("load", "-url", place.resolve("counters.csv").toString(), "-k", KEYSPACE, "-t", "counters");
    assertEquals(11, Server.rows("SELECT c FROM " + KEYSPACE + ".counters WHERE k = 1").get(0).getLong(0));
  }

  @Test
  @Order(Integer.MAX_VALUE)
  void rowsAreUnloadedAfterAKill() throws Exception {
    Assumptions.assumeTrue(Server.isOurs());
    Server.kill();
    List<String> numbers = unloaded("-query", "SELECT number FROM big");
    assertEquals(ROWS, numbers.stream().distinct().count());
    assertEquals(ROWS, count("big"));
  }
}
