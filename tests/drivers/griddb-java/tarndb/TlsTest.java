package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.common.Extensibles;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * The client leaves the making of TLS sockets to a provider, which its free edition has none of: this one trusts the server's authority, or the
 * machine's.
 */
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_CA", matches = ".+")
class TlsTest {
  /** What the client of this version asks of who extends it. */
  private static final String EXTENSION_VERSION = "8";

  /** The client's own: the server does not offer what it would speak. */
  private static final int NOT_OFFERED = 145_044;

  private static final int ROWS = 20_000;
  private final List<SSLSocket> opened = Collections.synchronizedList(new ArrayList<>());

  @Test
  void rowsPassOverTls() throws Exception {
    try (GridStore store = connect(authority(Path.of(System.getenv("TARNDB_TEST_CA"))), Server.MEMBER)) {
      Collection<Integer, Row> container =
          store.putCollection("over_tls", Suite.keyed(new ColumnInfo("id", GSType.INTEGER), new ColumnInfo("v", GSType.STRING)), false);
      List<Row> rows = new ArrayList<>();
      for (int id = 0; id < ROWS; id++) {
        rows.add(Suite.row(container, id, "value " + id));
      }
      container.put(rows);
      assertEquals(ROWS, container.query("SELECT *").fetch().size());
      assertEquals("value 4711", container.get(4711).getString(1));
      store.dropCollection("over_tls");
    }
    assertFalse(opened.isEmpty());
    assertFalse(opened.stream().anyMatch(socket -> socket.getSession().getCipherSuite().contains("NULL")));
  }

  @Test
  void anAuthorityThatIsNotTrustedIsNotTalkedTo() {
    GSException refused =
        assertThrows(
            GSException.class,
            () -> {
              try (GridStore store = connect(null, Server.MEMBER)) {
                store.getCollection("over_tls");
              }
            });
    Throwable cause = refused;
    while (cause != null && !(cause instanceof SSLException)) {
      cause = cause.getCause();
    }
    assertNotNull(cause, () -> "failed otherwise: " + refused);
  }

  @Test
  void plaintextIsRefusedWhereTlsIsRequired() throws Exception {
    Path directory = Files.createTempDirectory("tarndb-griddb-tls-").resolve("server");
    Server.run("start " + directory + " tls");
    try {
      String member = Server.run("address " + directory + " griddb").trim();
      GSException refused =
          assertThrows(
              GSException.class,
              () -> {
                try (GridStore store = Server.connect("notificationMember", member, "failoverTimeout", "2")) {
                  store.getCollection("any");
                }
              });
      assertEquals(NOT_OFFERED, refused.getErrorCode(), refused::toString);
      try (GridStore store = connect(authority(directory.resolve("certificates/ca.pem")), member)) {
        assertNull(store.getCollection("any"));
      }
    } finally {
      Server.run("stop " + directory);
    }
    Files.delete(directory.getParent());
  }

  private static KeyStore authority(Path file) throws GeneralSecurityException, IOException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream pem = Files.newInputStream(file)) {
      trusted.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    return trusted;
  }

  /** A connection over TLS alone. */
  private GridStore connect(KeyStore trusted, String member) throws GeneralSecurityException, GSException {
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    Extensibles.AsStoreFactory factory = Extensibles.AsStoreFactory.newInstance(Set.of(), Set.of());
    factory.setTransportProvider(new Provider(new Noting(context.getSocketFactory())));
    Properties extension = new Properties();
    extension.setProperty(Extensibles.AsStoreFactory.VERSION_KEY, EXTENSION_VERSION);
    return factory.getExtensibleStore(Server.properties("notificationMember", member, "failoverTimeout", "5"), extension);
  }

  private record Provider(SSLSocketFactory sockets) implements Extensibles.TransportProvider {
    @Override
    public void filterProperties(Properties properties, Properties transport) {}

    @Override
    public boolean isPlainSocketAllowed(Properties properties) {
      return false;
    }

    @Override
    public SSLSocketFactory createSecureSocketFactory(Properties properties) {
      return sockets;
    }
  }

  /** Keeps what it has made. */
  private final class Noting extends SSLSocketFactory {
    private final SSLSocketFactory made;

    Noting(SSLSocketFactory made) {
      this.made = made;
    }

    private Socket noted(Socket socket) {
      opened.add((SSLSocket) socket);
      return socket;
    }

    @Override
    public String[] getDefaultCipherSuites() {
      return made.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
      return made.getSupportedCipherSuites();
    }

    @Override
    public Socket createSocket() throws IOException {
      return noted(made.createSocket());
    }

    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose) throws IOException {
      return noted(made.createSocket(socket, host, port, autoClose));
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
      return noted(made.createSocket(host, port));
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
      return noted(made.createSocket(host, port, local, localPort));
    }

    @Override
    public Socket createSocket(InetAddress address, int port) throws IOException {
      return noted(made.createSocket(address, port));
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress local, int localPort) throws IOException {
      return noted(made.createSocket(address, port, local, localPort));
    }
  }
}
