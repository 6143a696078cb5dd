package tarndb;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.ContainerType;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.GridStoreFactory;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An application on GridDB's Java client that makes containers, and writes rows and reads them back until its standard input ends. Arguments: host:port of each
 * member.
 *
 * <p>Each writer has a container of its own, and a connection that knows all members, each its own one first. It prints `ready`, then now and then `at=N` with
 * the number of acknowledged rows; at the end it reads all containers through each member and prints `done` with what it counted: `lost` are acknowledged rows
 * that a member does not have, `stale` rows that were older than acknowledged, `unseen` containers that a member did not know once another had made them. Any
 * other error is printed as `error`.
 */
public final class GridFailover {
  private static final int WRITERS = 6;
  private static final int CONTAINERS = 24;
  private static final long FAILOVER_S = 60;
  private static final long PAUSE_MS = Long.getLong("pause_ms", 0);
  private static final ContainerInfo INFO =
      new ContainerInfo(null, ContainerType.COLLECTION, List.of(new ColumnInfo("id", GSType.LONG), new ColumnInfo("v", GSType.LONG)), true);

  private GridFailover() {}

  private static GridStore connect(String members) throws GSException {
    Properties properties = new Properties();
    properties.setProperty("notificationMember", members);
    properties.setProperty("clusterName", "TarnDB");
    properties.setProperty("user", "admin");
    properties.setProperty("password", "admin");
    properties.setProperty("failoverTimeout", String.valueOf(FAILOVER_S));
    return GridStoreFactory.getInstance().getGridStore(properties);
  }

  /** Writes a container; each row is put, and an earlier one changed and read. */
  private static final class Writer extends Thread {
    final AtomicLong acknowledged = new AtomicLong();
    final AtomicLong stale = new AtomicLong();
    final String container;
    final AtomicBoolean stopping;
    private final GridStore connection;
    volatile Exception error;
    volatile long longestGapMs;

    Writer(String container, GridStore connection, AtomicBoolean stopping) {
      this.container = container;
      this.connection = connection;
      this.stopping = stopping;
    }

    @Override
    public void run() {
      try {
        Collection<Long, Row> rows = connection.getCollection(container);
        long last = System.nanoTime();
        for (long id = 0; !stopping.get(); id++) {
          rows.put(row(rows, id, id));
          acknowledged.set(id + 1);
          rows.put(row(rows, id / 2, -id));
          if (rows.get(id / 2).getLong(1) != -id) {
            stale.incrementAndGet();
          }
          long now = System.nanoTime();
          longestGapMs = Math.max(longestGapMs, (now - last) / 1_000_000);
          last = now;
          Thread.sleep(PAUSE_MS);
        }
      } catch (GSException | InterruptedException | RuntimeException failed) {
        error = failed;
      }
    }
  }

  private static Row row(Collection<Long, Row> rows, long id, long value) throws GSException {
    Row row = rows.createRow();
    row.setLong(0, id);
    row.setLong(1, value);
    return row;
  }

  public static void main(String[] members) throws Exception {
    List<GridStore> nodes = new ArrayList<>();
    for (String member : members) {
      nodes.add(connect(member));
    }
    int unseen = 0;
    for (int i = 0; i < CONTAINERS; i++) {
      String name = "made" + i;
      Collection<Long, Row> made = nodes.get(i % members.length).putCollection(name, INFO, false);
      made.put(row(made, 0, i));
      for (int other = 1; other < members.length; other++) {
        Collection<Long, Row> found = nodes.get((i + other) % members.length).getCollection(name);
        if (found == null) {
          unseen++;
        } else {
          found.put(row(found, other, i));
        }
      }
    }
    AtomicBoolean stopping = new AtomicBoolean();
    List<Writer> writers = new ArrayList<>();
    for (int i = 0; i < WRITERS; i++) {
      String all = members[i % members.length];
      for (int other = 1; other < members.length; other++) {
        all += "," + members[(i + other) % members.length];
      }
      GridStore connection = connect(all);
      connection.putCollection("writer" + i, INFO, false).createIndex("v");
      writers.add(new Writer("writer" + i, connection, stopping));
    }
    writers.forEach(Thread::start);
    System.out.println("ready");
    Thread reporter =
        new Thread(
            () -> {
              while (!stopping.get()) {
                System.out.println("at=" + acknowledged(writers));
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
    long stale = 0;
    long gap = 0;
    for (Writer writer : writers) {
      writer.join();
      stale += writer.stale.get();
      gap = Math.max(gap, writer.longestGapMs);
      if (writer.error != null) {
        System.out.println("error " + writer.error);
      }
    }
    long lost = 0;
    for (String member : members) {
      try (GridStore fresh = connect(member)) {
        for (Writer writer : writers) {
          lost += lost(fresh, writer);
        }
      }
    }
    System.out.println("done acknowledged=" + acknowledged(writers) + " lost=" + lost + " stale=" + stale + " unseen=" + unseen + " gap_ms=" + gap);
    System.exit(0);
  }

  private static long acknowledged(List<Writer> writers) {
    long sum = 0;
    for (Writer writer : writers) {
      sum += writer.acknowledged.get();
    }
    return sum;
  }

  /** How many acknowledged rows a member does not give. */
  private static long lost(GridStore fresh, Writer writer) throws GSException {
    RowSet<Row> rows = fresh.getCollection(writer.container).query("SELECT *", Row.class).fetch();
    long next = 0;
    while (rows.hasNext()) {
      if (rows.next().getLong(0) == next) {
        next++;
      }
    }
    return Math.max(0, writer.acknowledged.get() - next) + unindexed(fresh, writer);
  }

  /** How many rows a member does not find by the index of the values that they got last. */
  private static long unindexed(GridStore fresh, Writer writer) throws GSException {
    Collection<Long, Row> container = fresh.getCollection(writer.container);
    long unindexed = 0;
    for (long id = 0; id < 50 && 2 * id + 1 < writer.acknowledged.get() - 1; id++) {
      RowSet<Row> rows = container.query("SELECT * WHERE v = " + -(2 * id + 1), Row.class).fetch();
      unindexed += rows.size() == 1 && rows.next().getLong(0) == id ? 0 : 1;
    }
    return unindexed;
  }
}
