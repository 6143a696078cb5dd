package tarndb;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.DriverTimeoutException;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.metadata.NodeStateListenerBase;
import com.datastax.oss.driver.api.core.servererrors.ReadTimeoutException;
import com.datastax.oss.driver.api.core.servererrors.WriteTimeoutException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * An application on the Java driver with its defaults (token-aware, its own retry policy) that writes and reads idempotent statements until its
 * standard input ends. Arguments: port and contact points.
 *
 * <p>It prints `ready`; at the end `done` with what it counted: `unknown` are writes whose outcome nobody knows, `timeouts` reads without an answer of the
 * replica, and requests without one of the coordinator. Any other error is printed as `error`.
 */
public final class Failover {
  private static final int THREADS = 4;
  private static final int KEYS = 100;
  private static final long PAUSE_MS = Long.getLong("pause_ms", 0);

  private Failover() {}

  /** Nodes that went down and came up, as the driver told. */
  private static final class Events extends NodeStateListenerBase {
    final Set<String> seen = new ConcurrentSkipListSet<>();

    @Override
    public void onUp(Node node) {
      seen.add("up:" + node.getEndPoint());
    }

    @Override
    public void onDown(Node node) {
      seen.add("down:" + node.getEndPoint());
    }
  }

  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[0]);
    List<InetSocketAddress> contacts = new ArrayList<>();
    for (int i = 1; i < arguments.length; i++) {
      contacts.add(new InetSocketAddress(arguments[i], port));
    }
    Events events = new Events();
    DriverConfigLoader options =
        DriverConfigLoader.programmaticBuilder()
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(20))
            .withDuration(DefaultDriverOption.CONNECTION_CONNECT_TIMEOUT, Duration.ofSeconds(20))
            .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, Duration.ofSeconds(20))
            .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(200))
            .withDuration(DefaultDriverOption.RECONNECTION_MAX_DELAY, Duration.ofSeconds(1))
            .withBoolean(DefaultDriverOption.REQUEST_DEFAULT_IDEMPOTENCE, true)
            .withString(DefaultDriverOption.REQUEST_CONSISTENCY, DefaultConsistencyLevel.QUORUM.name())
            .build();
    try (CqlSession session =
        CqlSession.builder()
            .withConfigLoader(options)
            .addContactPoints(contacts)
            .withLocalDatacenter("datacenter1")
            .withNodeStateListener(events)
            .build()) {
      run(session, events);
    }
  }

  private static void run(CqlSession session, Events events) throws Exception {
    PreparedStatement insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)");
    PreparedStatement select = session.prepare("SELECT b FROM k.t WHERE a = ?");
    AtomicBoolean stopping = new AtomicBoolean();
    AtomicLong reads = new AtomicLong();
    AtomicLong writes = new AtomicLong();
    AtomicLong unknown = new AtomicLong();
    AtomicLong timeouts = new AtomicLong();
    AtomicLong wrong = new AtomicLong();
    AtomicReference<Exception> first = new AtomicReference<>();
    Map<String, Long> coordinators = new ConcurrentHashMap<>();
    List<Thread> threads = new ArrayList<>();
    for (int number = 0; number < THREADS; number++) {
      int firstKey = 1_000_000 + number * KEYS;
      Thread thread =
          new Thread(
              () -> {
                int[] least = new int[KEYS];
                for (int value = 1; !stopping.get(); value++) {
                  int offset = value % KEYS;
                  try {
                    BoundStatement write = insert.bind(firstKey + offset, value);
                    Node node = session.execute(write).getExecutionInfo().getCoordinator();
                    coordinators.merge(String.valueOf(node.getEndPoint()), 1L, Long::sum);
                    least[offset] = value;
                    writes.incrementAndGet();
                  } catch (WriteTimeoutException outcomeUnknown) {
                    // The default policy leaves these to the application.
                    unknown.incrementAndGet();
                  } catch (DriverTimeoutException noAnswer) {
                    timeouts.incrementAndGet();
                  } catch (Exception error) {
                    first.compareAndSet(null, error);
                  }
                  try {
                    Row row = session.execute(select.bind(firstKey + offset)).one();
                    reads.incrementAndGet();
                    if ((row == null ? 0 : row.getInt(0)) < least[offset]) {
                      wrong.incrementAndGet();
                    }
                    Thread.sleep(PAUSE_MS);
                  } catch (ReadTimeoutException | DriverTimeoutException noAnswer) {
                    timeouts.incrementAndGet();
                  } catch (Exception error) {
                    first.compareAndSet(null, error);
                  }
                }
              });
      thread.start();
      threads.add(thread);
    }
    System.out.println("ready");
    while (System.in.read() >= 0) {
      // Whatever is said, only the end counts.
    }
    stopping.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    for (String event : events.seen) {
      System.out.println("event " + event);
    }
    if (first.get() != null) {
      System.out.println("error " + first.get());
    }
    System.out.println(
        "done writes=" + writes + " reads=" + reads + " unknown=" + unknown + " timeouts=" + timeouts + " wrong=" + wrong + " coordinators=" + coordinators.size());
  }
}
