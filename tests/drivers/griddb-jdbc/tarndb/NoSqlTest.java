package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.ContainerType;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Geometry;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.IndexType;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.TimeSeries;
import java.sql.SQLException;
import java.util.Date;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The same rows over NoSQL. */
class NoSqlTest extends Suite {
  private static final int LOCK_CONFLICT = 60_166;

  private GridStore store;

  @BeforeAll
  void open() throws GSException {
    store = Server.store(Server.MEMBER, "admin", "admin");
  }

  @AfterAll
  void closeStore() throws GSException {
    store.close();
  }

  private static ContainerInfo info(ContainerType type, ColumnInfo... columns) {
    return new ContainerInfo(null, type, List.of(columns), true);
  }

  private static ColumnInfo column(String name, GSType type) {
    return new ColumnInfo(name, type);
  }

  private static Row row(com.toshiba.mwcloud.gs.Container<?, Row> container, Object... values) throws GSException {
    Row row = container.createRow();
    for (int i = 0; i < values.length; i++) {
      row.setValue(i, values[i]);
    }
    return row;
  }

  @Test
  void aTableIsACollection() throws Exception {
    String table = table("made", "(id INTEGER PRIMARY KEY, name STRING NOT NULL, v DOUBLE)");
    update("INSERT INTO " + table + " VALUES (1, 'a', 1.5)");
    Collection<Integer, Row> collection = store.getCollection(table);
    assertEquals("a", collection.get(1).getString(1));
    ContainerInfo info = store.getContainerInfo(table);
    assertEquals(3, info.getColumnCount());
    assertEquals(GSType.INTEGER, info.getColumnInfo(0).getType());
    assertEquals(false, info.getColumnInfo(1).getNullable());
    collection.put(row(collection, 2, "b", 2.5));
    assertEquals("1|a|1.5 2|b|2.5", query("SELECT * FROM " + table));
    collection.remove(1);
    assertEquals("2", query("SELECT id FROM " + table));
  }

  @Test
  void aTableIsFoundInItsPartition() throws Exception {
    for (String ending : List.of("p1", "p2", "p3", "Mixed")) {
      String table = table(ending, "(id INTEGER PRIMARY KEY)");
      int partition = store.getPartitionController().getPartitionIndexOfContainer(table);
      List<String> names = store.getPartitionController().getContainerNames(partition, 0, null);
      assertEquals(true, names.contains(table), table + " of " + names);
    }
  }

  @Test
  void aTimeSeriesIsMadeBySql() throws Exception {
    String table = table("series", "(at TIMESTAMP PRIMARY KEY, v DOUBLE) USING TIMESERIES");
    TimeSeries<Row> series = store.getTimeSeries(table);
    series.put(row(series, new Date(1_000), 1.0));
    update("INSERT INTO " + table + " VALUES (TO_TIMESTAMP_MS(2000), 2)");
    assertEquals("1000|1.0 2000|2.0", query("SELECT * FROM " + table));
    assertEquals(2.0, series.get(new Date(2_000)).getDouble(1));
  }

  @Test
  void aCollectionIsATable() throws Exception {
    String name = name("Collection");
    store.dropContainer(name);
    Collection<String, Row> collection = store.putCollection(name,
        info(ContainerType.COLLECTION, column("key", GSType.STRING), column("n", GSType.INTEGER), column("tags", GSType.STRING_ARRAY)), false);
    collection.put(row(collection, "a", 1, new String[] {"x", "y"}));
    assertEquals("a|1|null", query("SELECT * FROM " + name));
    assertEquals(1, update("UPDATE " + name + " SET n = n + 1"));
    assertEquals(2, collection.get("a").getInteger(1));
    assertEquals(List.of("x", "y"), List.of(collection.get("a").getStringArray(2)), "an array that SQL does not show is kept");
    update("DROP TABLE " + name);
    assertNull(store.getContainerInfo(name));
  }

  @Test
  void aGeometryIsForNoSql() throws Exception {
    String name = name("Places");
    store.dropContainer(name);
    Collection<Integer, Row> places = store.putCollection(name,
        info(ContainerType.COLLECTION, column("id", GSType.INTEGER), column("geom", GSType.GEOMETRY), column("n", GSType.INTEGER)), false);
    Geometry point = Geometry.valueOf("POINT(1 2;4326)");
    places.put(row(places, 1, point, 1));
    assertEquals("1|null|1", query("SELECT * FROM " + name));
    assertEquals("1", query("SELECT id FROM " + name + " WHERE geom IS NULL"));
    assertEquals(1, update("UPDATE " + name + " SET n = n + 1"));
    assertEquals(2, places.get(1).getInteger(2));
    assertEquals(point, places.get(1).getGeometry(1), "a geometry that SQL does not show is kept");
    assertThrows(SQLException.class, () -> update("INSERT INTO " + name + " VALUES (2, 'POINT(1 2)', 3)"));
    update("CREATE INDEX near ON " + name + " (geom)");
    assertEquals("near|SPATIAL|geom", query("SELECT INDEX_NAME, INDEX_TYPE, COLUMN_NAME FROM \"#index_info\" WHERE TABLE_NAME = '" + name + "' AND COLUMN_NAME = 'geom'"));
    assertEquals("GEOMETRY", query("SELECT TYPE_NAME FROM \"#columns\" WHERE TABLE_NAME = '" + name + "' AND COLUMN_NAME = 'geom'"));
    update("DROP INDEX near ON " + name);
    assertEquals(IndexType.TREE, store.getContainerInfo(name).getIndexInfoList().get(0).getType());
    assertEquals(1, store.getContainerInfo(name).getIndexInfoList().size());
  }

  @Test
  void aNameMayNeedQuotes() throws Exception {
    String name = name("odd@7");
    store.dropContainer(name);
    Collection<Integer, Row> collection =
        store.putCollection(name, info(ContainerType.COLLECTION, column("select", GSType.INTEGER), column("a-b", GSType.INTEGER)), false);
    collection.put(row(collection, 1, 2));
    assertEquals("1|2", query("SELECT \"select\", \"a-b\" FROM \"" + name + "\""));
    assertEquals(1, update("UPDATE \"" + name + "\" SET \"a-b\" = 5 WHERE \"select\" = 1"));
    assertEquals(5, collection.get(1).getInteger(1));
  }

  @Test
  void whatATransactionHasNotCommittedIsNotRead() throws Exception {
    String table = table("isolated", "(id INTEGER PRIMARY KEY, v LONG)");
    update("INSERT INTO " + table + " VALUES (1, 1)");
    Collection<Integer, Row> collection = store.getCollection(table);
    collection.setAutoCommit(false);
    collection.put(row(collection, 1, 2L));
    collection.put(row(collection, 2, 2L));
    assertEquals("1|1", query("SELECT * FROM " + table));
    collection.commit();
    assertEquals("1|2 2|2", query("SELECT * FROM " + table));
  }

  @Test
  void aLockedRowIsWaitedFor() throws Exception {
    String table = table("locked", "(id INTEGER PRIMARY KEY, v LONG)");
    update("INSERT INTO " + table + " VALUES (1, 1)");
    Collection<Integer, Row> collection = store.getCollection(table);
    collection.setAutoCommit(false);
    collection.get(1, true);
    Thread committer = new Thread(() -> {
      try {
        Thread.sleep(200);
        collection.put(row(collection, 1, 10L));
        collection.commit();
      } catch (GSException | InterruptedException unexpected) {
        throw new IllegalStateException(unexpected);
      }
    });
    committer.start();
    assertEquals(1, update("UPDATE " + table + " SET v = v + 1"), "it waits, and begins anew with what was committed");
    committer.join();
    assertEquals("1|11", query("SELECT * FROM " + table));
  }
}
