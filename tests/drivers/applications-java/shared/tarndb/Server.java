package tarndb;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.Row;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/**
 * The server under test. TARNDB_TEST_CQL is its host:port; TARNDB_TEST_RESTART is a command that ends it with `kill` and
 * returns once it is ready again.
 */
final class Server {
  private Server() {}

  static String host() {
    return System.getenv("TARNDB_TEST_CQL").split(":")[0];
  }

  static int port() {
    return Integer.parseInt(System.getenv("TARNDB_TEST_CQL").split(":")[1]);
  }

  /** Whether the server may be killed: it is not somebody else's. */
  static boolean isOurs() {
    String command = System.getenv("TARNDB_TEST_RESTART");
    return command != null && !command.isEmpty();
  }

  /** Rows by the driver alone, beside the application. */
  static List<Row> rows(String statement, Object... values) {
    try (CqlSession session = connect()) {
      return session.execute(statement, values).all();
    }
  }

  static CqlSession connect() {
    return CqlSession.builder()
        .withConfigLoader(
            DriverConfigLoader.programmaticBuilder()
                .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(120))
                .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, Duration.ofSeconds(120))
                .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, Duration.ofSeconds(120))
                // Else every statement of the schema takes a second.
                .withDuration(DefaultDriverOption.METADATA_SCHEMA_WINDOW, Duration.ofMillis(20))
                // Without these two a close takes two seconds.
                .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
                .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0)
                .build())
        .addContactPoint(new InetSocketAddress(host(), port()))
        .withLocalDatacenter("datacenter1")
        .build();
  }

  static void kill() throws IOException, InterruptedException {
    String command = System.getenv("TARNDB_TEST_RESTART") + " kill";
    int status = new ProcessBuilder("sh", "-c", command).redirectErrorStream(true).start().waitFor();
    if (status != 0) {
      throw new IOException("the server did not come back: status " + status);
    }
  }

  /** What may fail while a client looks for a server that went away. */
  interface Attempt<T> {
    T get() throws Exception;
  }

  /** The result, as soon as the client has found the server again: 120 s at most. */
  static <T> T whenBack(Attempt<T> attempt) throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(120).toNanos();
    while (true) {
      try {
        return attempt.get();
      } catch (Exception failure) {
        if (System.nanoTime() > deadline) {
          throw failure;
        }
        Thread.sleep(50);
      }
    }
  }
}
