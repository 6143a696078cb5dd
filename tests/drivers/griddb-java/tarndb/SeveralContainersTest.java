package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.Container;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowKeyPredicate;
import com.toshiba.mwcloud.gs.RowSet;
import com.toshiba.mwcloud.gs.TimeSeries;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Rows of many containers at once: multiPut, multiGet, fetchAll. */
class SeveralContainersTest extends Suite {
  private static final int CONTAINERS = 60;
  private static final int ROWS = 20;
  private static final ContainerInfo INFO = keyed(column("id", GSType.LONG), column("text", GSType.STRING));

  @BeforeAll
  void fill() throws Exception {
    Map<String, List<Row>> rows = new HashMap<>();
    for (int k = 0; k < CONTAINERS; k++) {
      collection("c" + k, INFO);
      List<Row> some = new ArrayList<>();
      for (long i = 0; i < ROWS; i++) {
        some.add(fill(store.createRow(INFO), i, k + "/" + i));
      }
      rows.put(name("c" + k), some);
    }
    store.multiPut(rows);
  }

  private Map<String, List<Row>> get(RowKeyPredicate<?> predicate) throws GSException {
    Map<String, RowKeyPredicate<?>> wanted = new HashMap<>();
    for (int k = 0; k < CONTAINERS; k++) {
      wanted.put(name("c" + k), predicate);
    }
    return store.multiGet(wanted);
  }

  private void assertKeys(Map<String, List<Row>> found, long... keys) throws GSException {
    for (int k = 0; k < CONTAINERS; k++) {
      List<Row> rows = found.get(name("c" + k));
      assertEquals(keys.length, rows == null ? 0 : rows.size(), "rows of container " + k);
      for (int i = 0; i < keys.length; i++) {
        assertEquals(keys[i], rows.get(i).getLong(0));
        assertEquals(k + "/" + keys[i], rows.get(i).getString(1));
      }
    }
  }

  @Test
  void whatIsPutAtOnceIsThere() throws Exception {
    for (int k = 0; k < CONTAINERS; k++) {
      assertEquals(ROWS, count(store.getCollection(name("c" + k))));
    }
  }

  @Test
  void aRangeOfKeys() throws Exception {
    RowKeyPredicate<Long> range = RowKeyPredicate.create(Long.class);
    range.setStart(3L);
    range.setFinish(6L);
    assertKeys(get(range), 3, 4, 5, 6);
  }

  @Test
  void halfARangeOfKeys() throws Exception {
    RowKeyPredicate<Long> from = RowKeyPredicate.create(Long.class);
    from.setStart(18L);
    assertKeys(get(from), 18, 19);
    RowKeyPredicate<Long> to = RowKeyPredicate.create(Long.class);
    to.setFinish(1L);
    assertKeys(get(to), 0, 1);
  }

  @Test
  void allKeys() throws Exception {
    int rows = 0;
    for (List<Row> some : get(RowKeyPredicate.create(Long.class)).values()) {
      rows += some.size();
    }
    assertEquals(CONTAINERS * ROWS, rows);
  }

  @Test
  void chosenKeys() throws Exception {
    RowKeyPredicate<Long> chosen = RowKeyPredicate.create(Long.class);
    for (long key : new long[] {2, 5, 99, 11}) {
      chosen.add(key);
    }
    Map<String, List<Row>> found = get(chosen);
    for (int k = 0; k < CONTAINERS; k++) {
      assertEquals(3, found.get(name("c" + k)).size());
    }
  }

  @Test
  void aContainerThatIsNotThereHasNoRows() throws Exception {
    Map<String, RowKeyPredicate<?>> wanted = new HashMap<>();
    RowKeyPredicate<Long> one = RowKeyPredicate.create(Long.class);
    one.add(1L);
    wanted.put(name("c0"), one);
    wanted.put(name("nothing"), one);
    Map<String, List<Row>> found = store.multiGet(wanted);
    assertEquals(1, found.get(name("c0")).size());
    List<Row> none = found.get(name("nothing"));
    assertTrue(none == null || none.isEmpty());
  }

  @Test
  void aPredicateOfAnotherTypeIsRefused() throws Exception {
    RowKeyPredicate<String> text = RowKeyPredicate.create(String.class);
    text.add("1");
    assertThrows(GSException.class, () -> store.multiGet(Map.of(name("c0"), text)));
  }

  @Test
  void predicatesOfTexts() throws Exception {
    Collection<String, Row> mine = collection("texts", keyed(column("id", GSType.STRING), column("v", GSType.LONG)));
    for (String key : List.of("a", "b", "c")) {
      mine.put(row(mine, key, 1L));
    }
    RowKeyPredicate<String> chosen = RowKeyPredicate.create(String.class);
    chosen.add("a");
    chosen.add("c");
    chosen.add("d");
    List<Row> found = store.multiGet(Map.of(name("texts"), chosen)).get(name("texts"));
    assertEquals(2, found.size());
  }

  @Test
  void predicatesOfTimes() throws Exception {
    TimeSeries<Row> mine = timeSeries("times", series(column("at", GSType.TIMESTAMP), column("v", GSType.LONG)));
    for (long i = 0; i < 10; i++) {
      mine.put(row(mine, at(i * 1000), i));
    }
    RowKeyPredicate<Date> range = RowKeyPredicate.create(Date.class);
    range.setStart(at(2500));
    range.setFinish(at(5000));
    List<Row> found = store.multiGet(Map.of(name("times"), range)).get(name("times"));
    assertEquals(3, found.size());
    assertEquals(3, found.get(0).getLong(1));
  }

  @Test
  void predicatesOfSeveralColumns() throws Exception {
    ContainerInfo info = composite(2, column("a", GSType.INTEGER), column("b", GSType.STRING), column("v", GSType.LONG));
    Collection<Row.Key, Row> mine = collection("pairs", info);
    for (int a = 0; a < 3; a++) {
      for (String b : List.of("x", "y")) {
        mine.put(row(mine, a, b, a * 10L));
      }
    }
    RowKeyPredicate<Row.Key> chosen = RowKeyPredicate.create(info);
    chosen.add(row(mine, 1, "y", 0L).createKey());
    chosen.add(row(mine, 2, "x", 0L).createKey());
    chosen.add(row(mine, 2, "z", 0L).createKey());
    List<Row> found = store.multiGet(Map.of(name("pairs"), chosen)).get(name("pairs"));
    assertEquals(2, found.size());
    long sum = 0;
    for (Row row : found) {
      sum += row.getLong(2);
    }
    assertEquals(30, sum);
  }

  @Test
  void aRangeOfKeysOfSeveralColumns() throws Exception {
    ContainerInfo info = composite(2, column("a", GSType.INTEGER), column("b", GSType.INTEGER), column("v", GSType.LONG));
    Collection<Row.Key, Row> mine = collection("ranges", info);
    for (int i = 0; i < 25; i++) {
      mine.put(row(mine, i / 5, i % 5, (long) i));
    }
    Row.Key from = row(mine, 1, 2, 0L).createKey();
    Row.Key to = row(mine, 3, 1, 0L).createKey();
    for (int ends = 0; ends < 4; ends++) {
      RowKeyPredicate<Row.Key> range = RowKeyPredicate.create(info);
      if (ends % 2 == 1) {
        range.setStart(from);
      }
      if (ends / 2 == 1) {
        range.setFinish(to);
      }
      List<Row> found = store.multiGet(Map.of(name("ranges"), range)).get(name("ranges"));
      long first = ends % 2 == 1 ? 7 : 0;
      long last = ends / 2 == 1 ? 16 : 24;
      assertEquals(last - first + 1, found.size());
      assertEquals(first, found.get(0).getLong(2));
      assertEquals(last, found.get(found.size() - 1).getLong(2));
    }
  }

  @Test
  void aMultiPutReplacesRows() throws Exception {
    collection("replaced", INFO);
    store.multiPut(Map.of(name("replaced"), List.of(fill(store.createRow(INFO), 1L, "one"), fill(store.createRow(INFO), 2L, "two"))));
    store.multiPut(Map.of(name("replaced"), List.of(fill(store.createRow(INFO), 1L, "uno"))));
    Collection<Long, Row> mine = store.getCollection(name("replaced"));
    assertEquals("uno", mine.get(1L).getString(1));
    assertEquals("two", mine.get(2L).getString(1));
  }

  @Test
  void aMultiPutTakesCollectionsAndSeries() throws Exception {
    ContainerInfo time = series(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE));
    ContainerInfo log = unkeyed(column("line", GSType.STRING));
    timeSeries("mixedSeries", time);
    collection("mixedLog", log);
    collection("mixedRows", INFO);
    store.multiPut(
        Map.of(
            name("mixedSeries"), List.of(fill(store.createRow(time), at(5), 1.5)),
            name("mixedLog"), List.of(fill(store.createRow(log), "a"), fill(store.createRow(log), "a")),
            name("mixedRows"), List.of(fill(store.createRow(INFO), 1L, null))));
    assertEquals(1.5, store.getTimeSeries(name("mixedSeries")).get(at(5)).getDouble(1));
    assertEquals(2, count(store.getContainer(name("mixedLog"))));
    assertTrue(store.<Long>getCollection(name("mixedRows")).get(1L).isNull(1));
  }

  @Test
  void aMultiPutWithOtherColumnsIsRefused() throws Exception {
    collection("other", INFO);
    ContainerInfo wrong = keyed(column("id", GSType.LONG), column("text", GSType.STRING), column("more", GSType.LONG));
    assertThrows(GSException.class, () -> store.multiPut(Map.of(name("other"), List.of(fill(store.createRow(wrong), 1L, "x", 2L)))));
    assertEquals(0, count(store.getContainer(name("other"))));
  }

  @Test
  void aMultiPutIntoNothingIsRefused() {
    assertThrows(GSException.class, () -> store.multiPut(Map.of(name("nothing"), List.of(fill(store.createRow(INFO), 1L, "x")))));
  }

  @Test
  void queriesAreFetchedTogether() throws Exception {
    List<Query<Row>> queries = new ArrayList<>();
    for (int k = 0; k < CONTAINERS; k++) {
      queries.add(store.getCollection(name("c" + k)).query("SELECT * WHERE id < " + k % 7 + " ORDER BY id DESC"));
    }
    store.fetchAll(queries);
    for (int k = 0; k < CONTAINERS; k++) {
      RowSet<Row> rows = queries.get(k).getRowSet();
      assertEquals(k % 7, rows.size());
      if (rows.hasNext()) {
        assertEquals(k + "/" + (k % 7 - 1), rows.next().getString(1));
      }
    }
  }

  @Test
  void queriesOfOneContainerAreFetchedTogether() throws Exception {
    Container<Object, Row> mine = store.getContainer(name("c1"));
    List<Query<Row>> queries = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      queries.add(mine.query("SELECT * WHERE id = " + i % ROWS));
    }
    store.fetchAll(queries);
    for (int i = 0; i < 100; i++) {
      assertEquals("1/" + i % ROWS, queries.get(i).getRowSet().next().getString(1));
    }
  }

  @Test
  void oneWrongQueryFailsTheFetch() throws Exception {
    Container<Object, Row> mine = store.getContainer(name("c1"));
    List<Query<Row>> queries = List.of(mine.query("SELECT *"), mine.query("SELECT * WHERE nothing = 1"));
    assertThrows(GSException.class, () -> store.fetchAll(queries));
    assertNotNull(mine.get(1L));
  }
}
