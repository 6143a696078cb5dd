package tarndb;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An application on GridDB's JDBC driver that writes rows of one table and computes over them until its standard input ends. Arguments: `plain` or
 * `partitioned`, what the table is; host:port of each member.
 *
 * <p>Each writer numbers its rows from 1. The reader groups all of them, through one member after the other: whatever moment it sees, the rows of a writer have
 * no gap, and none is missing that was acknowledged before. Data partitions are read one after the other, so a partitioned table may have gaps while it is
 * written, and none at the end. Who loses its connection goes on with the next member. It prints `ready`, then now and then `at=N`
 * with the number of acknowledged rows, and at the end `done` with what it counted: `wrong` are sums that cannot be. Any other error is printed as `error`.
 */
public final class SqlFailover {
  private static final int WRITERS = 3;
  private static final long FAILOVER_NS = 30_000_000_000L;
  private static final long PAUSE_MS = Long.getLong("pause_ms", 0);

  private final boolean isPartitioned;
  private final String[] members;
  private final AtomicBoolean stopping = new AtomicBoolean();
  private final List<AtomicLong> acknowledged = new ArrayList<>();
  private final AtomicLong wrong = new AtomicLong();
  private final AtomicLong queries = new AtomicLong();
  private final AtomicLong longestGapMs = new AtomicLong();
  private volatile Exception error;
  /** Whether nobody writes any more. */
  private volatile boolean isQuiet;

  private SqlFailover(boolean isPartitioned, String[] members) {
    this.isPartitioned = isPartitioned;
    this.members = members;
    for (int i = 0; i < WRITERS; i++) {
      acknowledged.add(new AtomicLong());
    }
  }

  private interface Work {
    void with(Statement statement) throws SQLException;
  }

  /** A client that goes on with the next member when one fails. */
  private final class Client {
    private int member;
    private Connection connection;

    Client(int member) {
      this.member = member;
    }

    void run(Work work) throws SQLException {
      long begun = System.nanoTime();
      while (true) {
        try {
          if (connection == null) {
            connection = DriverManager.getConnection("jdbc:gs://" + members[member % members.length] + "/TarnDB/public", "admin", "admin");
          }
          try (Statement statement = connection.createStatement()) {
            work.with(statement);
          }
          longestGapMs.accumulateAndGet((System.nanoTime() - begun) / 1_000_000, Math::max);
          return;
        } catch (SQLException failed) {
          if (System.nanoTime() - begun > FAILOVER_NS) {
            throw failed;
          }
          turn();
        }
      }
    }

    /** The next member's turn. */
    void turn() {
      close();
      member++;
    }

    void close() {
      try {
        if (connection != null) {
          connection.close();
        }
      } catch (SQLException gone) {
        // So is its member.
      }
      connection = null;
    }
  }

  private Thread start(String name, Client client, Work work) {
    Thread thread = new Thread(() -> {
      try {
        while (!stopping.get() && error == null) {
          client.run(work);
          Thread.sleep(PAUSE_MS);
        }
      } catch (SQLException | InterruptedException | RuntimeException failed) {
        error = failed;
      } finally {
        client.close();
      }
    }, name);
    thread.start();
    return thread;
  }

  private Thread startWriter(int writer) {
    AtomicLong done = acknowledged.get(writer);
    return start("writer" + writer, new Client(writer), statement -> {
      long next = done.get() + 1;
      // What is unknown is written again, and is the same then.
      statement.executeUpdate("INSERT OR REPLACE INTO ledger VALUES (" + (writer * 1_000_000_000L + next) + ", " + writer + ", " + next + ")");
      done.set(next);
    });
  }

  /** Groups all rows: who writes in order leaves no gap. */
  private void check(Statement statement) throws SQLException {
    long[] before = acknowledged.stream().mapToLong(AtomicLong::get).toArray();
    long[] greatest = new long[WRITERS];
    try (ResultSet rows = statement.executeQuery("SELECT * FROM sums ORDER BY writer")) {
      while (rows.next()) {
        long count = rows.getLong(2);
        greatest[rows.getInt(1)] = count;
        boolean mayHaveGaps = isPartitioned && !isQuiet;
        if (!mayHaveGaps && (rows.getLong(3) != count * (count + 1) / 2 || rows.getLong(4) != count)) {
          wrong.incrementAndGet();
        }
      }
    }
    for (int i = 0; i < WRITERS; i++) {
      if (greatest[i] < before[i]) {
        wrong.incrementAndGet();
      }
    }
    queries.incrementAndGet();
  }

  private long all() {
    return acknowledged.stream().mapToLong(AtomicLong::get).sum();
  }

  private void run() throws Exception {
    String columns = isPartitioned
        ? "(id LONG, writer INTEGER, n INTEGER, PRIMARY KEY (id, writer, n)) PARTITION BY RANGE (n) EVERY (25) SUBPARTITION BY HASH (id) SUBPARTITIONS 2"
        : "(id LONG PRIMARY KEY, writer INTEGER, n LONG)";
    new Client(0).run(statement -> statement.executeUpdate("CREATE TABLE IF NOT EXISTS ledger " + columns));
    // A definition that each member has, whichever is gone.
    new Client(0).run(statement -> statement.executeUpdate("CREATE OR REPLACE VIEW sums AS SELECT writer, COUNT(*), SUM(n), MAX(n) FROM ledger GROUP BY writer"));
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < WRITERS; i++) {
      threads.add(startWriter(i));
    }
    Client reader = new Client(0);
    threads.add(start("reader", reader, statement -> {
      check(statement);
      reader.turn();
    }));
    System.out.println("ready");
    Thread reporter = new Thread(() -> {
      while (!stopping.get()) {
        System.out.println("at=" + all());
        try {
          Thread.sleep(100);
        } catch (InterruptedException ended) {
          return;
        }
      }
    });
    reporter.start();
    while (System.in.read() >= 0) {
      // Whatever is said, only the end counts.
    }
    stopping.set(true);
    reporter.join();
    for (Thread thread : threads) {
      thread.join();
    }
    isQuiet = true;
    for (int i = 0; i < members.length; i++) {
      Client fresh = new Client(i);
      fresh.run(this::check);
      fresh.close();
    }
    if (error != null) {
      System.out.println("error " + error);
    }
    System.out.println("done acknowledged=" + all() + " wrong=" + wrong + " queries=" + queries + " gap_ms=" + longestGapMs);
    System.exit(0);
  }

  public static void main(String[] arguments) throws Exception {
    String[] members = Arrays.copyOfRange(arguments, 1, arguments.length);
    new SqlFailover(arguments[0].equals("partitioned"), members).run();
  }
}
