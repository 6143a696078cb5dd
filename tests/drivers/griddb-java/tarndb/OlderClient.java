package tarndb;

import com.toshiba.mwcloud.gs.AggregationResult;
import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.Container;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.ContainerType;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.GridStoreFactory;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowKeyPredicate;
import com.toshiba.mwcloud.gs.RowSet;
import com.toshiba.mwcloud.gs.TimeSeries;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;

/** What clients of 4.0 can as well as later ones. OlderClientsTest runs it with the classes of each: it names none of JUnit's, nor what came after 4.0. */
public final class OlderClient implements AutoCloseable {
  private final GridStore store;
  private final String name;

  private OlderClient(Properties properties, String name) throws Exception {
    this.store = GridStoreFactory.getInstance().getGridStore(properties);
    this.name = name;
  }

  /** Does all of it, in containers whose names begin so. */
  public static void run(Properties properties, String name) throws Exception {
    try (OlderClient client = new OlderClient(properties, name)) {
      client.rows();
      client.transactions();
      client.severalContainers();
      client.timeSeries();
    }
  }

  @Override
  public void close() throws Exception {
    store.close();
  }

  private Collection<Integer, Row> collection(String ending) throws Exception {
    store.dropContainer(name + ending);
    List<ColumnInfo> columns = Arrays.asList(
        new ColumnInfo("id", GSType.INTEGER), new ColumnInfo("text", GSType.STRING), new ColumnInfo("numbers", GSType.LONG_ARRAY));
    return store.putCollection(name + ending, new ContainerInfo(null, ContainerType.COLLECTION, columns, true), false);
  }

  private static Row row(Container<?, Row> container, int id, String text) throws Exception {
    Row row = container.createRow();
    row.setInteger(0, id);
    row.setString(1, text);
    row.setLongArray(2, new long[] {id, -1});
    return row;
  }

  private static List<Integer> ids(Query<Row> query) throws Exception {
    List<Integer> ids = new ArrayList<>();
    RowSet<Row> rows = query.fetch();
    while (rows.hasNext()) {
      ids.add(rows.next().getInteger(0));
    }
    return ids;
  }

  private static void expect(Object expected, Object found) {
    if (!Objects.equals(expected, found)) {
      throw new AssertionError("expected " + expected + ", found " + found);
    }
  }

  private void rows() throws Exception {
    Collection<Integer, Row> things = collection("_rows");
    expect(false, things.put(row(things, 1, "größe")));
    expect(true, things.put(row(things, 1, "other")));
    List<Row> many = new ArrayList<>();
    for (int id = 2; id < 200; id++) {
      many.add(row(things, id, "x"));
    }
    things.put(many);
    expect("other", things.get(1).getString(1));
    expect(-1L, things.get(1).getLongArray(2)[1]);
    expect(null, things.get(1_000));
    things.createIndex("text");
    expect(Arrays.asList(199, 198), ids(things.query("SELECT * WHERE id > 100 AND text = 'x' ORDER BY id DESC LIMIT 2")));
    RowSet<AggregationResult> count = things.query("SELECT COUNT(*)", AggregationResult.class).fetch();
    expect(199L, count.next().getLong());
    expect(true, things.remove(1));
    expect(3, store.getContainerInfo(name + "_rows").getColumnCount());
    expect(null, store.getContainerInfo(name + "_none"));
  }

  private void transactions() throws Exception {
    Collection<Integer, Row> things = collection("_transactions");
    Collection<Integer, Row> seen = store.getCollection(name + "_transactions");
    things.setAutoCommit(false);
    things.put(row(things, 1, "one"));
    expect("one", things.get(1).getString(1));
    expect(null, seen.get(1));
    things.commit();
    expect("one", seen.get(1).getString(1));
    Row locked = things.get(1, true);
    locked.setString(1, "two");
    things.put(locked);
    things.abort();
    expect("one", seen.get(1).getString(1));
    RowSet<Row> rows = things.query("SELECT *").fetch(true);
    rows.next();
    rows.remove();
    things.commit();
    expect(Collections.emptyList(), ids(seen.query("SELECT *")));
  }

  private void severalContainers() throws Exception {
    Collection<Integer, Row> one = collection("_one");
    Collection<Integer, Row> two = collection("_two");
    store.multiPut(Map.of(name + "_one", List.of(row(one, 1, "a"), row(one, 2, "b")), name + "_two", List.of(row(two, 3, "c"))));
    RowKeyPredicate<Integer> some = RowKeyPredicate.create(Integer.class);
    some.add(2);
    some.add(3);
    Map<String, List<Row>> found = store.multiGet(Map.of(name + "_one", some, name + "_two", some));
    expect("b", found.get(name + "_one").get(0).getString(1));
    expect("c", found.get(name + "_two").get(0).getString(1));
    Query<Row> first = one.query("SELECT * WHERE id = 1");
    Query<Row> second = two.query("SELECT *");
    store.fetchAll(List.of(first, second));
    expect("a", first.getRowSet().next().getString(1));
    expect("c", second.getRowSet().next().getString(1));
  }

  private void timeSeries() throws Exception {
    store.dropContainer(name + "_series");
    List<ColumnInfo> columns = Arrays.asList(new ColumnInfo("at", GSType.TIMESTAMP), new ColumnInfo("value", GSType.DOUBLE));
    TimeSeries<Row> series = store.putTimeSeries(name + "_series", new ContainerInfo(null, ContainerType.TIME_SERIES, columns, true), false);
    for (int at = 0; at < 5; at++) {
      Row row = series.createRow();
      row.setTimestamp(0, new Date(at * 1_000L));
      row.setDouble(1, at);
      series.put(row);
    }
    RowSet<Row> between = series.query(new Date(1_000), new Date(3_000)).fetch();
    expect(3, between.size());
    expect(1.5, series.interpolate(new Date(1_500), "value").getDouble(1));
  }
}
