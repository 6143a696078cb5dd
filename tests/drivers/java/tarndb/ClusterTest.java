package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlIdentifier;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.metadata.NodeState;
import com.datastax.oss.driver.api.core.metadata.schema.ClusteringOrder;
import com.datastax.oss.driver.api.core.metadata.schema.TableMetadata;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the driver learns of the server: its node, schema events, and that it is back after a restart. */
final class ClusterTest {
  @Test
  void nodeDescribesItself() {
    try (CqlSession session = Server.connect()) {
      assertEquals(1, session.getMetadata().getNodes().size());
      Node node = session.getMetadata().getNodes().values().iterator().next();
      assertEquals(NodeState.UP, node.getState());
      assertNotNull(node.getHostId());
      assertNotNull(node.getSchemaVersion());
      assertTrue(node.getCassandraVersion().getMajor() >= 3);
      assertTrue(session.getMetadata().getTokenMap().isPresent());
      assertTrue(session.checkSchemaAgreement());
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "TARNDB_TEST_CA", matches = ".+")
  void rowsPassOverTls() throws Exception {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream pem = Files.newInputStream(Path.of(System.getenv("TARNDB_TEST_CA")))) {
      trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    try (CqlSession session = Server.connect(options -> {}, builder -> builder.withSslContext(context))) {
      session.execute(
          "CREATE KEYSPACE IF NOT EXISTS java_tls"
              + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
      session.execute("CREATE TABLE IF NOT EXISTS java_tls.t (k int PRIMARY KEY, v text)");
      PreparedStatement insert = session.prepare("INSERT INTO java_tls.t (k, v) VALUES (?, ?)");
      for (int key = 0; key < 100; key++) {
        session.execute(insert.bind(key, "x".repeat(10_000)));
      }
      int rows = 0;
      for (Row row : session.execute("SELECT v FROM java_tls.t")) {
        assertEquals(10_000, row.getString("v").length());
        rows++;
      }
      assertEquals(100, rows);
    }
  }

  @Test
  void schemaChangesReachASessionThatDidNotMakeThem() throws Exception {
    try (CqlSession watcher = Server.connect();
        CqlSession session = Server.connectToNewKeyspace("java_events")) {
      session.execute(
          "CREATE TABLE seen (a int, b text, c int, v map<text, frozen<list<int>>>, PRIMARY KEY ((a, b), c))"
              + " WITH CLUSTERING ORDER BY (c DESC)");
      Server.until("the new table is in the other session's metadata", () -> seen(watcher).isPresent());
      TableMetadata table = seen(watcher).orElseThrow();
      assertEquals(2, table.getPartitionKey().size());
      assertEquals(List.of(ClusteringOrder.DESC), List.copyOf(table.getClusteringColumns().values()));
      String description = table.describe(true).toUpperCase(Locale.ROOT);
      assertTrue(description.contains("CLUSTERING ORDER BY (C DESC)"), description);
      session.execute("ALTER TABLE seen ADD w int");
      Server.until("the new column too", () -> seen(watcher).orElseThrow().getColumn("w").isPresent());
      session.execute("DROP TABLE seen");
      Server.until("the dropped table leaves it", () -> seen(watcher).isEmpty());
    }
  }

  private static Optional<TableMetadata> seen(CqlSession session) {
    return session.getMetadata().getKeyspace("java_events").flatMap(keyspace -> keyspace.getTable(CqlIdentifier.fromCql("seen")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"kill", "term"})
  @EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
  void restartLosesNothing(String how) throws Exception {
    try (CqlSession session = Server.connectToNewKeyspace("java_restart")) {
      session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)");
      PreparedStatement insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)");
      Map<Integer, String> expected = new HashMap<>();
      for (int key = 0; key < 1_000; key++) {
        session.execute(insert.bind(key, "value " + key));
        expected.put(key, "value " + key);
      }
      Server.restart(how);
      // The prepared statement is unknown to the new process: the driver prepares it again.
      Server.until("the session is connected again", () -> succeeds(session, insert));
      expected.put(1_000, "after");
      Map<Integer, String> stored = new HashMap<>();
      for (Row row : session.execute("SELECT k, v FROM t")) {
        stored.put(row.getInt(0), row.getString(1));
      }
      assertEquals(expected, stored);
    }
  }

  private static boolean succeeds(CqlSession session, PreparedStatement insert) {
    try {
      session.execute(insert.bind(1_000, "after"));
      return true;
    } catch (DriverException gone) {
      return false;
    }
  }
}
