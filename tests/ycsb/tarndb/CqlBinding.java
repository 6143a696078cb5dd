package tarndb;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.BoundStatementBuilder;
import com.datastax.oss.driver.api.core.cql.ColumnDefinition;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's operations as CQL through the Java driver 4.x: keyspace `ycsb`, table `usertable` with the key `y_id` and text
 * columns. Works on any CQL server. All threads share one session; every statement is prepared once.
 *
 * <p>Properties: `cql.endpoint` (host:port), `cql.create` (make keyspace and table anew), `cql.consistency` (QUORUM).
 */
public final class CqlBinding extends DB {
  private static final Object LOCK = new Object();
  private static final Map<String, PreparedStatement> PREPARED = new ConcurrentHashMap<>();
  private static CqlSession session;
  private static int users;

  @Override
  public void init() throws DBException {
    synchronized (LOCK) {
      try {
        if (session == null) {
          session = connect(getProperties());
        }
        users++;
      } catch (DriverException failure) {
        throw new DBException(failure);
      }
    }
  }

  private static CqlSession connect(Properties properties) {
    String[] endpoint = properties.getProperty("cql.endpoint").split(":");
    String consistency = properties.getProperty("cql.consistency", DefaultConsistencyLevel.QUORUM.name());
    CqlSession opened =
        CqlSession.builder()
            .withConfigLoader(
                DriverConfigLoader.programmaticBuilder()
                    .withString(DefaultDriverOption.REQUEST_CONSISTENCY, consistency)
                    .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(120))
                    .withDuration(DefaultDriverOption.CONNECTION_CONNECT_TIMEOUT, Duration.ofSeconds(120))
                    .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, Duration.ofSeconds(120))
                    .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, Duration.ofSeconds(120))
                    .withDuration(DefaultDriverOption.HEARTBEAT_TIMEOUT, Duration.ofSeconds(120))
                    .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
                    .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0)
                    .build())
            .addContactPoint(new InetSocketAddress(endpoint[0], Integer.parseInt(endpoint[1])))
            .withLocalDatacenter("datacenter1")
            .build();
    if (Boolean.parseBoolean(properties.getProperty("cql.create"))) {
      String table = properties.getProperty(CoreWorkload.TABLENAME_PROPERTY, CoreWorkload.TABLENAME_PROPERTY_DEFAULT);
      int fields = Integer.parseInt(properties.getProperty(CoreWorkload.FIELD_COUNT_PROPERTY, "10"));
      StringBuilder columns = new StringBuilder("y_id varchar PRIMARY KEY");
      for (int field = 0; field < fields; field++) {
        columns.append(", field").append(field).append(" varchar");
      }
      opened.execute("DROP KEYSPACE IF EXISTS ycsb");
      opened.execute("CREATE KEYSPACE ycsb WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
      opened.execute("CREATE TABLE ycsb." + table + " (" + columns + ")");
    }
    opened.execute("USE ycsb");
    return opened;
  }

  @Override
  public void cleanup() {
    synchronized (LOCK) {
      users--;
      if (users == 0) {
        session.close();
        session = null;
        PREPARED.clear();
      }
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return run(
        () -> {
          String text = "SELECT " + columns(fields) + " FROM " + table + " WHERE y_id = ? LIMIT 1";
          Row row = session.execute(prepared(text).bind(key)).one();
          if (row == null) {
            return Status.NOT_FOUND;
          }
          copy(row, result);
          return Status.OK;
        });
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    return run(
        () -> {
          String text = "SELECT " + columns(fields) + " FROM " + table + " WHERE token(y_id) >= token(?) LIMIT ?";
          for (Row row : session.execute(prepared(text).bind(start, count))) {
            HashMap<String, ByteIterator> values = new HashMap<>();
            copy(row, values);
            result.add(values);
          }
          // The start is a key that exists: it is the first row at least.
          return result.isEmpty() || result.size() > count ? Status.UNEXPECTED_STATE : Status.OK;
        });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return run(
        () -> {
          List<String> names = new ArrayList<>(values.keySet());
          String assignments = names.stream().map(name -> name + " = ?").collect(Collectors.joining(", "));
          String text = "UPDATE " + table + " SET " + assignments + " WHERE y_id = ?";
          BoundStatementBuilder statement = prepared(text).boundStatementBuilder();
          for (int index = 0; index < names.size(); index++) {
            statement.setString(index, values.get(names.get(index)).toString());
          }
          session.execute(statement.setString(names.size(), key).build());
          return Status.OK;
        });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return run(
        () -> {
          List<String> names = new ArrayList<>(values.keySet());
          String text =
              "INSERT INTO " + table + " (y_id, " + String.join(", ", names) + ") VALUES (?" + ", ?".repeat(names.size()) + ")";
          BoundStatementBuilder statement = prepared(text).boundStatementBuilder().setString(0, key);
          for (int index = 0; index < names.size(); index++) {
            statement.setString(index + 1, values.get(names.get(index)).toString());
          }
          session.execute(statement.build());
          return Status.OK;
        });
  }

  @Override
  public Status delete(String table, String key) {
    return run(
        () -> {
          session.execute(prepared("DELETE FROM " + table + " WHERE y_id = ?").bind(key));
          return Status.OK;
        });
  }

  private interface Operation {
    Status apply();
  }

  private static Status run(Operation operation) {
    try {
      return operation.apply();
    } catch (DriverException failure) {
      System.err.println("cql: " + failure);
      return Status.ERROR;
    }
  }

  private static PreparedStatement prepared(String text) {
    return PREPARED.computeIfAbsent(text, session::prepare);
  }

  private static String columns(Set<String> fields) {
    return fields == null ? "*" : String.join(", ", fields);
  }

  private static void copy(Row row, Map<String, ByteIterator> result) {
    for (ColumnDefinition column : row.getColumnDefinitions()) {
      String name = column.getName().asInternal();
      if (!name.equals("y_id")) {
        String value = row.getString(column.getName());
        result.put(name, value == null ? new ByteArrayByteIterator(new byte[0]) : new StringByteIterator(value));
      }
    }
  }
}
