package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.sql.Driver;
import com.toshiba.mwcloud.gs.sql.internal.common.DriverProvider;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * The driver leaves the making of TLS sockets to a provider, which its free edition has none of: this one does what that of the other edition does by `sslMode`, with the authority that a property of
 * the suite's own names. Connections without these properties, of other tests, go on in plain.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_CA", matches = ".+")
class TlsTest {
  private static final String MODE = "sslMode";
  private static final String AUTHORITY = "tarndbTestAuthority";

  /** The driver's own: the server does not offer what it would speak. */
  private static final int NOT_OFFERED = 145_044;

  private static final Path TRUSTED = Path.of(System.getenv().getOrDefault("TARNDB_TEST_CA", ""));

  private Path directory;

  @BeforeAll
  void start() throws Exception {
    new Driver().setTransportProvider(new Provider());
    directory = Files.createTempDirectory("tarndb-griddb-sql-tls-").resolve("server");
    Server.run("start " + directory + " tls");
  }

  @AfterAll
  void stop() throws Exception {
    Server.run("stop " + directory);
    Files.delete(directory.getParent());
  }

  private static Connection connect(String address, String mode, Path authority) throws SQLException {
    return connect(address, mode, authority, 120);
  }

  private static Connection connect(String address, String mode, Path authority, int secondsMax) throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("user", "admin");
    properties.setProperty("password", "admin");
    // Seconds: the driver tries again for so long where it finds no way to a server.
    properties.setProperty("loginTimeout", Integer.toString(secondsMax));
    properties.setProperty(MODE, mode);
    properties.setProperty(AUTHORITY, authority.toString());
    return DriverManager.getConnection("jdbc:gs://" + address + "/TarnDB/public", properties);
  }

  private String required() throws Exception {
    return Server.run("address " + directory + " griddb-sql").trim();
  }

  private Path requiredAuthority() {
    return directory.resolve("certificates/ca.pem");
  }

  @Test
  void statementsPassOverTls() throws Exception {
    try (Connection connection = connect(Server.SQL, "VERIFY", TRUSTED)) {
      useIt(connection);
    }
    try (Connection connection = connect(Server.SQL, "PREFERRED", TRUSTED)) {
      useIt(connection);
    }
  }

  @Test
  void clientsHaveToWhereTlsIsRequired() throws Exception {
    SQLException refused = assertThrows(SQLException.class, () -> connect(required(), "", Path.of(""), 5));
    assertEquals(NOT_OFFERED, refused.getErrorCode(), refused::toString);
    try (Connection connection = connect(required(), "VERIFY", requiredAuthority())) {
      useIt(connection);
    }
  }

  /** Rows of many pages, large values each way, and metadata. */
  private static void useIt(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.executeUpdate("DROP TABLE IF EXISTS over_tls");
      statement.executeUpdate("CREATE TABLE over_tls (id INTEGER PRIMARY KEY, v STRING)");
      try (PreparedStatement insert = connection.prepareStatement("INSERT INTO over_tls VALUES (?, ?)")) {
        for (int id = 0; id < 3_000; id++) {
          insert.setInt(1, id);
          insert.setString(2, "value " + id);
          insert.addBatch();
        }
        insert.executeBatch();
        insert.setInt(1, 3_000);
        insert.setString(2, "x".repeat(100_000));
        assertEquals(1, insert.executeUpdate());
      }
      statement.setFetchSize(100);
      try (ResultSet rows = statement.executeQuery("SELECT id, v FROM over_tls ORDER BY id")) {
        for (int id = 0; id < 3_000; id++) {
          assertTrue(rows.next());
          assertEquals("value " + id, rows.getString(2));
        }
        assertTrue(rows.next());
        assertEquals(100_000, rows.getString(2).length());
        assertFalse(rows.next());
      }
      try (ResultSet tables = connection.getMetaData().getTables(null, null, "over_tls", null)) {
        assertTrue(tables.next());
      }
      statement.executeUpdate("DROP TABLE over_tls");
    }
  }

  @Test
  void aStatementIsCancelledOverTls() throws Exception {
    ExecutorService threads = Executors.newSingleThreadExecutor();
    try (Connection connection = connect(Server.SQL, "VERIFY", TRUSTED); Statement statement = connection.createStatement()) {
      statement.setQueryTimeout(60);
      Future<SQLException> ended =
          threads.submit(
              () ->
                  assertThrows(
                      SQLException.class,
                      () -> statement.executeQuery("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT MAX(n) FROM c")));
      while (!ended.isDone()) {
        statement.cancel();
        Thread.onSpinWait();
      }
      assertEquals(Suite.CANCELLED, ended.get().getErrorCode(), ended.get()::toString);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void aServerWhoseAuthorityIsNotTrustedIsNotTalkedTo() throws Exception {
    Throwable cause = assertThrows(SQLException.class, () -> connect(Server.SQL, "VERIFY", requiredAuthority(), 5));
    String refused = cause.toString();
    while (cause != null && !(cause instanceof SSLException)) {
      cause = cause.getCause();
    }
    assertNotNull(cause, () -> "failed otherwise: " + refused);
  }

  @Test
  void whatIsNoHandshakeEndsTheConnectionAlone() throws Exception {
    String[] address = required().split(":");
    try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: x\r\n\r\n and more, so that a header is there\r\n".getBytes(StandardCharsets.US_ASCII));
      assertEquals(-1, socket.getInputStream().read());
    }
    try (Connection connection = connect(required(), "VERIFY", requiredAuthority()); Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT 1")) {
      assertEquals("1", Suite.text(rows));
    }
  }

  /** Makes sockets by the properties of a connection. */
  private static final class Provider implements DriverProvider.TransportProvider {
    @Override
    public void filterProperties(Properties properties, Properties transport) {
      for (String name : new String[] {MODE, AUTHORITY}) {
        Object value = properties.remove(name);
        if (value != null) {
          transport.put(name, value);
        }
      }
    }

    @Override
    public boolean isPlainSocketAllowed(Properties properties) {
      return !"VERIFY".equals(properties.getProperty(MODE));
    }

    @Override
    public SSLSocketFactory createSecureSocketFactory(Properties properties) throws IOException {
      String authority = properties.getProperty(AUTHORITY);
      if (authority == null || authority.isEmpty()) {
        return null;
      }
      try (InputStream pem = Files.newInputStream(Path.of(authority))) {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        trusted.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context.getSocketFactory();
      } catch (GeneralSecurityException error) {
        throw new IOException(error);
      }
    }
  }
}
