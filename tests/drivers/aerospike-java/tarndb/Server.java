package tarndb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * The server under test. TARNDB_TEST_AEROSPIKE is its host:port; TARNDB_TEST_RESTART is a command that ends it with `kill` or `term` and
 * returns once it is ready again.
 */
final class Server {
  static final String NAMESPACE = "test";

  private static final String[] ENDPOINT = System.getenv("TARNDB_TEST_AEROSPIKE").split(":");

  private Server() {}

  static String host() {
    return ENDPOINT[0];
  }

  static int port() {
    return Integer.parseInt(ENDPOINT[1]);
  }

  /** Ends the server with `kill` or `term` and returns once it is ready again. */
  static void restart(String how) throws IOException, InterruptedException {
    String command = System.getenv("TARNDB_TEST_RESTART") + " " + how;
    int status = new ProcessBuilder("sh", "-c", command).redirectErrorStream(true).start().waitFor();
    if (status != 0) {
      throw new IOException("the server did not come back: status " + status);
    }
  }

  /** Runs a command of `server.py`, about a server of the test's own; returns what it prints. */
  static String run(String command) throws IOException, InterruptedException {
    String script = System.getenv("TARNDB_TEST_RESTART").split(" restart ")[0];
    Process process = new ProcessBuilder("sh", "-c", script + " " + command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException("server.py " + command + " failed");
    }
    return printed;
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
