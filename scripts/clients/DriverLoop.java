import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The least that a load generator on the Java driver can do: one thread, asynchronous requests, so many in flight, no measuring of
 * latencies, no made-up values (they are copied from one string). Prints `operations N` each second.
 *
 * <p>Arguments: host:port, `load` or `run`, rows, requests in flight, seconds. Half reads of whole rows, half updates of one field,
 * uniform keys, on YCSB's table of ten fields of 100 bytes.
 */
public final class DriverLoop {
  private static final int FIELDS = 10;
  private static final String VALUES = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(10);

  public static void main(String[] arguments) throws Exception {
    String[] endpoint = arguments[0].split(":");
    boolean load = arguments[1].equals("load");
    long rows = Long.parseLong(arguments[2]);
    int inFlight = Integer.parseInt(arguments[3]);
    long end = System.nanoTime() + Duration.ofSeconds(Long.parseLong(arguments[4])).toNanos();
    try (CqlSession session =
        CqlSession.builder()
            .withConfigLoader(
                DriverConfigLoader.programmaticBuilder().withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(20)).build())
            .addContactPoint(new InetSocketAddress(endpoint[0], Integer.parseInt(endpoint[1])))
            .withLocalDatacenter("datacenter1")
            .build()) {
      StringBuilder columns = new StringBuilder();
      for (int field = 0; field < FIELDS; field++) {
        columns.append(", field").append(field).append(" varchar");
      }
      session.execute("CREATE KEYSPACE IF NOT EXISTS driverloop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
      session.execute("CREATE TABLE IF NOT EXISTS driverloop.usertable (y_id varchar PRIMARY KEY" + columns + ")");
      String names = columns.toString().replace(" varchar", "");
      PreparedStatement insert = session.prepare("INSERT INTO driverloop.usertable (y_id" + names + ") VALUES (?" + ", ?".repeat(FIELDS) + ")");
      PreparedStatement read = session.prepare("SELECT * FROM driverloop.usertable WHERE y_id = ?");
      PreparedStatement[] update = new PreparedStatement[FIELDS];
      for (int field = 0; field < FIELDS; field++) {
        update[field] = session.prepare("UPDATE driverloop.usertable SET field" + field + " = ? WHERE y_id = ?");
      }
      Semaphore free = new Semaphore(inFlight);
      AtomicLong done = new AtomicLong();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      SplittableRandom random = new SplittableRandom(1);
      long said = System.nanoTime();
      for (long number = 0; load ? number < rows : System.nanoTime() < end; number++) {
        free.acquire();
        BoundStatement statement;
        if (load) {
          Object[] values = new Object[FIELDS + 1];
          values[0] = "user" + number;
          for (int field = 0; field < FIELDS; field++) {
            values[field + 1] = value(random);
          }
          statement = insert.bind(values);
        } else {
          String key = "user" + random.nextLong(rows);
          statement = random.nextBoolean() ? read.bind(key) : update[random.nextInt(FIELDS)].bind(value(random), key);
        }
        boolean mustFind = statement.getPreparedStatement() == read;
        session
            .executeAsync(statement)
            .whenComplete(
                (result, failed) -> {
                  if (failed == null && mustFind && result.one() == null) {
                    failed = new IllegalStateException("a row is missing");
                  }
                  if (failed != null) {
                    failure.compareAndSet(null, failed);
                  }
                  done.incrementAndGet();
                  free.release();
                });
        if (failure.get() != null) {
          throw new IllegalStateException(failure.get());
        }
        if (System.nanoTime() - said >= 1_000_000_000L) {
          said += 1_000_000_000L;
          System.out.println("operations " + done.get());
        }
      }
      free.acquire(inFlight);
      System.out.println("operations " + done.get());
    }
  }

  private static String value(SplittableRandom random) {
    int from = random.nextInt(VALUES.length() - 100);
    return VALUES.substring(from, from + 100);
  }
}
