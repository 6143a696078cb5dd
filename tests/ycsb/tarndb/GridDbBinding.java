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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's operations through GridDB's Java client: rows of text columns, spread by the hash of their key over `griddb.containers`
 * collections, as one container is one core's. A scan goes over the collection of its first key, in the order of keys. A client
 * belongs to one thread.
 *
 * <p>Properties: `griddb.member` (host:port), `griddb.cluster`, `griddb.user`, `griddb.password`, `griddb.containers` (16), `griddb.create`
 * (make the collections anew).
 */
public final class GridDbBinding extends DB {
  private static final Object LOCK = new Object();
  private static boolean created;
  private final Map<String, Collection<String, Row>> opened = new HashMap<>();
  private GridStore store;
  private ContainerInfo columns;
  private int containers;
  private int fields;

  @Override
  public void init() throws DBException {
    Properties given = getProperties();
    fields = Integer.parseInt(given.getProperty(CoreWorkload.FIELD_COUNT_PROPERTY, "10"));
    containers = Integer.parseInt(given.getProperty("griddb.containers", "16"));
    Properties properties = new Properties();
    properties.setProperty("notificationMember", given.getProperty("griddb.member"));
    properties.setProperty("clusterName", given.getProperty("griddb.cluster", "TarnDB"));
    properties.setProperty("user", given.getProperty("griddb.user", "admin"));
    properties.setProperty("password", given.getProperty("griddb.password", "admin"));
    try {
      store = GridStoreFactory.getInstance().getGridStore(properties);
      List<ColumnInfo> infos = new ArrayList<>(List.of(new ColumnInfo("y_id", GSType.STRING)));
      for (int field = 0; field < fields; field++) {
        infos.add(new ColumnInfo("field" + field, GSType.STRING));
      }
      columns = new ContainerInfo(null, ContainerType.COLLECTION, infos, true);
      synchronized (LOCK) {
        if (!created && Boolean.parseBoolean(given.getProperty("griddb.create"))) {
          String table = given.getProperty(CoreWorkload.TABLENAME_PROPERTY, CoreWorkload.TABLENAME_PROPERTY_DEFAULT);
          for (int container = 0; container < containers; container++) {
            store.dropContainer(table + "_" + container);
          }
        }
        created = true;
      }
    } catch (GSException failure) {
      throw new DBException(failure);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      store.close();
    } catch (GSException failure) {
      throw new DBException(failure);
    }
  }

  @Override
  public Status read(String table, String key, Set<String> wanted, Map<String, ByteIterator> result) {
    return run(
        () -> {
          Row row = container(table, key).get(key);
          if (row == null) {
            return Status.NOT_FOUND;
          }
          copy(row, wanted, result);
          return Status.OK;
        });
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> wanted, Vector<HashMap<String, ByteIterator>> result) {
    return run(
        () -> {
          String text = "SELECT * WHERE y_id >= '" + start.replace("'", "''") + "' ORDER BY y_id LIMIT " + count;
          RowSet<Row> rows = container(table, start).query(text).fetch();
          while (rows.hasNext()) {
            HashMap<String, ByteIterator> values = new HashMap<>();
            copy(rows.next(), wanted, values);
            result.add(values);
          }
          // The start is a key that exists: it is the first row at least.
          return result.isEmpty() || result.size() > count ? Status.UNEXPECTED_STATE : Status.OK;
        });
  }

  /** All fields, or one of them beside those that are there: then the row is read and locked first. */
  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    if (values.size() == fields) {
      return insert(table, key, values);
    }
    return run(
        () -> {
          Collection<String, Row> container = container(table, key);
          container.setAutoCommit(false);
          try {
            Row row = container.get(key, true);
            if (row == null) {
              return Status.NOT_FOUND;
            }
            fill(row, values);
            container.put(row);
            container.commit();
            return Status.OK;
          } finally {
            // Aborts what was not committed.
            container.setAutoCommit(true);
          }
        });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return run(
        () -> {
          Collection<String, Row> container = container(table, key);
          Row row = container.createRow();
          row.setString(0, key);
          fill(row, values);
          container.put(row);
          return Status.OK;
        });
  }

  @Override
  public Status delete(String table, String key) {
    return run(() -> container(table, key).remove(key) ? Status.OK : Status.NOT_FOUND);
  }

  private Collection<String, Row> container(String table, String key) throws GSException {
    String name = table + "_" + Math.floorMod(key.hashCode(), containers);
    Collection<String, Row> known = opened.get(name);
    if (known == null) {
      ContainerInfo info = new ContainerInfo(columns);
      info.setName(name);
      store.putContainer(name, info, false);
      known = store.getCollection(name);
      opened.put(name, known);
    }
    return known;
  }

  private interface Operation {
    Status apply() throws GSException;
  }

  private static Status run(Operation operation) {
    try {
      return operation.apply();
    } catch (GSException failure) {
      System.err.println("griddb: " + failure);
      return Status.ERROR;
    }
  }

  private static void fill(Row row, Map<String, ByteIterator> values) throws GSException {
    for (Map.Entry<String, ByteIterator> value : values.entrySet()) {
      row.setString(column(value.getKey()), value.getValue().toString());
    }
  }

  private void copy(Row row, Set<String> wanted, Map<String, ByteIterator> result) throws GSException {
    for (int field = 0; field < fields; field++) {
      String name = "field" + field;
      if (wanted == null || wanted.contains(name)) {
        result.put(name, new StringByteIterator(row.getString(column(name))));
      }
    }
  }

  private static int column(String field) {
    return 1 + Integer.parseInt(field.substring("field".length()));
  }
}
