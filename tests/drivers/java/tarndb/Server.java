package tarndb;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * The server under test and sessions on it. TARNDB_TEST_CQL is its host:port; TARNDB_TEST_RESTART is a command that ends it
 * with `kill` or `term` and returns once it is ready again.
 */
final class Server {
  private Server() {}

  /** A session with the driver's defaults, but patient and quick to reconnect. */
  static CqlSession connect() {
    return connect(options -> {}, builder -> {});
  }

  static CqlSession connect(
      Consumer<ProgrammaticDriverConfigLoaderBuilder> options, Consumer<CqlSessionBuilder> changes) {
    String[] endpoint = System.getenv("TARNDB_TEST_CQL").split(":");
    ProgrammaticDriverConfigLoaderBuilder loader =
        DriverConfigLoader.programmaticBuilder()
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.CONNECTION_CONNECT_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.CONTROL_CONNECTION_AGREEMENT_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.CONNECTION_SET_KEYSPACE_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.HEARTBEAT_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_REQUEST_TIMEOUT, Duration.ofSeconds(120))
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_WINDOW, Duration.ofMillis(20))
            // Without these two a close takes two seconds.
            .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
            .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0)
            .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(100))
            .withDuration(DefaultDriverOption.RECONNECTION_MAX_DELAY, Duration.ofMillis(500));
    options.accept(loader);
    CqlSessionBuilder builder =
        CqlSession.builder()
            .withConfigLoader(loader.build())
            .addContactPoint(new InetSocketAddress(endpoint[0], Integer.parseInt(endpoint[1])))
            .withLocalDatacenter(System.getProperty("tarndb.datacenter", "datacenter1"));
    changes.accept(builder);
    return builder.build();
  }

  /** A session that uses a keyspace of this name, which is empty. */
  static CqlSession connectToNewKeyspace(String name) {
    try (CqlSession setup = connect()) {
      setup.execute("DROP KEYSPACE IF EXISTS " + name);
      setup.execute(
          "CREATE KEYSPACE " + name + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    }
    return connect(options -> {}, builder -> builder.withKeyspace(name));
  }

  /** Ends the server with `kill` or `term` and returns once it is ready again. */
  static void restart(String how) throws IOException, InterruptedException {
    String command = System.getenv("TARNDB_TEST_RESTART") + " " + how;
    int status = new ProcessBuilder("sh", "-c", command).redirectErrorStream(true).start().waitFor();
    if (status != 0) {
      throw new IOException("the server did not come back: status " + status);
    }
  }

  /** Waits for a condition, 120 s at most. */
  static void until(String what, BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(120).toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("waited 120 s in vain: " + what);
      }
      Thread.sleep(20);
    }
  }
}
