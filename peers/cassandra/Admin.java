import java.util.List;
import java.util.Map;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * What nodetool does and a benchmark needs, over one connection to the node's local JMX port: `settle SECONDS`, `drop-caches`, `drain`.
 * One process that stays connected costs the node less than a nodetool for each look.
 *
 * <p>Ends with 0 when done, 3 when the time was over first.
 */
public final class Admin {
  private static final long LOOK_MILLIS = 1000;
  /** So many quiet looks in a row: a compaction that ends may call for another a moment later. */
  private static final int QUIET_LOOKS = 3;

  public static void main(String[] arguments) throws Exception {
    String url = "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + arguments[0] + "/jmxrmi";
    MBeanServerConnection node = JMXConnectorFactory.connect(new JMXServiceURL(url)).getMBeanServerConnection();
    switch (arguments[1]) {
      case "settle" -> System.exit(settle(node, Long.parseLong(arguments[2])) ? 0 : 3);
      case "drop-caches" -> dropCaches(node);
      case "drain" -> node.invoke(name("db:type=StorageService"), "drain", null, null);
      default -> throw new IllegalArgumentException(arguments[1]);
    }
    System.exit(0);
  }

  private static boolean settle(MBeanServerConnection node, long secondsMax) throws Exception {
    long start = System.nanoTime();
    System.err.println("settle: flushing memtables");
    for (Object keyspace : (List<?>) node.getAttribute(name("db:type=StorageService"), "Keyspaces")) {
      Object[] values = {keyspace, new String[0]};
      node.invoke(name("db:type=StorageService"), "forceKeyspaceFlush", values, new String[] {"java.lang.String", "[Ljava.lang.String;"});
    }
    for (int quiet = 0; quiet < QUIET_LOOKS; ) {
      List<?> running = (List<?>) node.getAttribute(name("db:type=CompactionManager"), "Compactions");
      int pending = ((Number) node.getAttribute(name("metrics:type=Compaction,name=PendingTasks"), "Value")).intValue();
      int flushing = number(node, "MemtableFlushWriter", "ActiveTasks") + number(node, "MemtableFlushWriter", "PendingTasks");
      long seconds = (System.nanoTime() - start) / 1_000_000_000L;
      long bytes = 0;
      for (Object compaction : running) {
        Map<?, ?> of = (Map<?, ?>) compaction;
        bytes += Long.parseLong(of.get("total").toString()) - Long.parseLong(of.get("completed").toString());
      }
      boolean busy = !running.isEmpty() || pending > 0 || flushing > 0;
      System.err.printf(
          "settle: %d s, %d compactions running (%d MiB to go), %d pending, %d flushes%n", seconds, running.size(), bytes >> 20, pending, flushing);
      quiet = busy ? 0 : quiet + 1;
      if (seconds >= secondsMax && quiet < QUIET_LOOKS) {
        return false;
      }
      Thread.sleep(LOOK_MILLIS);
    }
    return true;
  }

  private static int number(MBeanServerConnection node, String pool, String metric) throws Exception {
    ObjectName of = name("metrics:type=ThreadPools,path=internal,scope=" + pool + ",name=" + metric);
    return node.isRegistered(of) ? ((Number) node.getAttribute(of, "Value")).intValue() : 0;
  }

  private static void dropCaches(MBeanServerConnection node) throws Exception {
    for (String cache : List.of("Key", "Row", "Counter")) {
      node.invoke(name("db:type=Caches"), "invalidate" + cache + "Cache", null, null);
    }
  }

  private static ObjectName name(String rest) throws Exception {
    return new ObjectName("org.apache.cassandra." + rest);
  }
}
