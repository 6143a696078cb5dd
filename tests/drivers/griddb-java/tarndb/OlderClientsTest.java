package tarndb;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import com.toshiba.mwcloud.gs.GridStore;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients from 4.0 on, and those that ask a provider where the members are. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OlderClientsTest {
  private static final String LATEST = "5.6.0";

  private final AtomicInteger asked = new AtomicInteger();
  private HttpServer provider;

  /** Tells the one member. Clients take the addresses of the services that they are for. */
  @BeforeAll
  void startProvider() throws Exception {
    String[] member = Server.MEMBER.split(":");
    String address = "{\"address\": \"" + member[0] + "\", \"port\": " + member[1] + "}";
    byte[] members = ("[{\"cluster\": " + address + ", \"transaction\": " + address + "}]").getBytes(StandardCharsets.UTF_8);
    provider = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    provider.createContext("/members", exchange -> {
      asked.incrementAndGet();
      exchange.getResponseHeaders().add("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, members.length);
      exchange.getResponseBody().write(members);
      exchange.close();
    });
    provider.start();
  }

  @AfterAll
  void stopProvider() {
    provider.stop(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"4.0.0", "4.3.0", "4.6.0", "5.3.0"})
  void anOlderClientDoesWhatItCan(String version) throws Exception {
    run(version, Server.properties(), "Older_" + version.replace('.', '_'));
  }

  @ParameterizedTest
  @ValueSource(strings = {"4.0.0", LATEST})
  void aProviderTellsTheMembers(String version) throws Exception {
    int before = asked.get();
    run(version, provided(), "Provided_" + version.replace('.', '_'));
    assertTrue(asked.get() > before, "the client has asked");
  }

  @Test
  void theLatestClientDoesTheSame() throws Exception {
    OlderClient.run(Server.properties(), "Older_latest");
  }

  private Properties provided() {
    Properties properties = Server.properties("notificationProvider", "http://127.0.0.1:" + provider.getAddress().getPort() + "/members");
    properties.remove("notificationMember");
    return properties;
  }

  /** Runs the program with the classes of a client of this version, apart from those of this process. */
  private static void run(String version, Properties properties, String name) throws Exception {
    Path latest = Path.of(GridStore.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Path jar = version.equals(LATEST) ? latest : latest.getParent().resolveSibling("older").resolve("gridstore-" + version + ".jar");
    URL classes = OlderClient.class.getProtectionDomain().getCodeSource().getLocation();
    URL[] path = {jar.toUri().toURL(), classes};
    try (URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
      assertNotSame(GridStore.class, loader.loadClass(GridStore.class.getName()));
      loader.loadClass(OlderClient.class.getName()).getMethod("run", Properties.class, String.class).invoke(null, properties, name);
    }
  }
}
