package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.AggregationResult;
import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.FetchOption;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.InterpolationMode;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.QueryOrder;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import com.toshiba.mwcloud.gs.TimeSeries;
import com.toshiba.mwcloud.gs.TimeUnit;
import java.sql.Blob;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Row sets that come in parts: by FetchOption.SIZE, and as they are larger than a reply. */
class RowSetsTest extends Suite {
  private static final int ROWS = 3_000;
  private static final int LARGE_ROWS = 90;
  private static final int LARGE_BYTES = 500_000;
  /** What a client is told whose row set cannot go on. */
  private static final int ROW_SET_LOST = 145_043;

  /** Bytes of each row of the last numbers that were made. */
  private String padding;

  private Collection<Integer, Row> numbers;
  private Collection<Integer, Row> large;
  private TimeSeries<Row> readings;

  @BeforeAll
  void fill() throws Exception {
    numbers = numbered("numbers", ROWS);
    readings = timeSeries("readings", series(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE), column("bytes", GSType.BLOB)));
    Blob bytes = blob("p".repeat(5_000));
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      rows.add(row(readings, at(i * 10L), i / 2.0, bytes));
    }
    readings.put(rows);
    large = collection("large", keyed(column("id", GSType.INTEGER), column("text", GSType.STRING), column("bytes", GSType.BLOB)));
    for (int i = 0; i < LARGE_ROWS; i++) {
      large.put(row(large, i, largeText(i), blob("b" + i)));
    }
  }

  /**
   * Rows of a number, one of seven texts, a number that falls, and bytes, of which all rows have some 2 MB: a result of less than 1 MiB comes
   * as a whole.
   */
  private Collection<Integer, Row> numbered(String ending, int count) throws Exception {
    Collection<Integer, Row> mine = collection(
        ending, keyed(column("id", GSType.INTEGER), column("text", GSType.STRING), column("v", GSType.LONG), column("bytes", GSType.BLOB)));
    padding = "p".repeat(2_000_000 / count);
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rows.add(row(mine, i, i % 11 == 0 ? null : "t" + i % 7, (long) count - i, blob(padding)));
    }
    mine.put(rows);
    return mine;
  }

  /** Texts whose order is not that of the numbers. */
  private static String largeText(int i) {
    return String.format("%02d", i * 37 % LARGE_ROWS) + "x".repeat(LARGE_BYTES);
  }

  @SuppressWarnings("deprecation")
  static <R> Query<R> sized(Query<R> query, long size) throws GSException {
    query.setFetchOption(FetchOption.SIZE, size);
    return query;
  }

  private static List<Object> range(int from, int to) {
    return IntStream.range(from, to).boxed().collect(Collectors.toList());
  }

  private void assertLost(RowSet<Row> rows) {
    GSException lost = assertThrows(GSException.class, () -> {
      while (rows.hasNext()) {
        rows.next();
      }
    });
    assertEquals(ROW_SET_LOST, lost.getErrorCode(), lost.getMessage());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 1_000})
  void partsHaveTheRowsOfTheWhole(int size) throws Exception {
    for (String tql : List.of(
        "SELECT *",
        "SELECT * ORDER BY id DESC",
        "SELECT * WHERE id >= 100 LIMIT 2000 OFFSET 50",
        "SELECT * WHERE text = 't3' ORDER BY id DESC LIMIT 40",
        "SELECT * ORDER BY text DESC, v LIMIT 1500 OFFSET 3",
        "SELECT * WHERE v = -1",
        "SELECT MAX_ROWS(v)")) {
      List<Object> whole = keys(numbers, tql);
      assertEquals(whole, values(sized(numbers.query(tql), size), 0), tql);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 1_000})
  void partsOfTimeSeries(int size) throws Exception {
    Query<Row> descending = readings.query(at(1_000), at(4_000), QueryOrder.DESCENDING);
    List<Object> whole = values(descending, 0);
    assertEquals(301, whole.size());
    assertEquals(whole, values(sized(readings.query(at(1_000), at(4_000), QueryOrder.DESCENDING), size), 0));
    List<Object> sampled = values(readings.query(at(5), at(4_000), Collections.singleton("v"), InterpolationMode.LINEAR_OR_PREVIOUS, 7, TimeUnit.MILLISECOND), 1);
    assertTrue(sampled.size() > 500);
    assertEquals(sampled, values(sized(readings.query(at(5), at(4_000), Collections.singleton("v"), InterpolationMode.LINEAR_OR_PREVIOUS, 7, TimeUnit.MILLISECOND), size), 1));
  }

  @Test
  void whatIsSmallComesAsAWholeAndIsNotLost() throws Exception {
    Collection<Integer, Row> mine = numbered("small", 100);
    RowSet<Row> rows = sized(mine.query("SELECT * WHERE id >= 60"), 10).fetch();
    mine.remove(70);
    mine.put(row(mine, 1_000, "more", 0L, blob(padding)));
    for (int i = 60; i < 100; i++) {
      assertEquals(i, rows.next().getInteger(0));
    }
    assertTrue(!rows.hasNext());
  }

  @Test
  void anAggregationIsNotCut() throws Exception {
    var query = sized(numbers.query("SELECT COUNT(*)", AggregationResult.class), 1);
    assertEquals(ROWS, query.fetch().next().getLong());
  }

  @Test
  void whatIsLargerThanAReplyComesByItself() throws Exception {
    List<Object> byText = IntStream.range(0, LARGE_ROWS).boxed().sorted((a, b) -> largeText(a).compareTo(largeText(b))).collect(Collectors.toList());
    List<Object> all = range(0, LARGE_ROWS);
    List<Object> backwards = new ArrayList<>(all);
    Collections.reverse(backwards);
    assertEquals(all, keys(large, "SELECT *"));
    assertEquals(backwards, keys(large, "SELECT * ORDER BY id DESC"));
    assertEquals(byText, keys(large, "SELECT * ORDER BY text"));
    assertEquals(byText.subList(5, 85), keys(large, "SELECT * ORDER BY text LIMIT 80 OFFSET 5"));
    assertEquals(byText, values(sized(large.query("SELECT * ORDER BY text"), 10), 0));
    RowSet<Row> rows = large.query("SELECT *").fetch();
    assertEquals(LARGE_ROWS, rows.size());
    for (int i = 0; rows.hasNext(); i++) {
      Row row = rows.next();
      assertEquals(largeText(i), row.getString(1));
      assertEquals("b" + i, new String(row.getBlob(2).getBytes(1, ("b" + i).length())));
    }
  }

  @Test
  void aQueryInPartsThatIsSortedMayBeLarger() throws Exception {
    Query<Row> query = large.query("SELECT * ORDER BY text DESC");
    query.setFetchOption(FetchOption.PARTIAL_EXECUTION, true);
    RowSet<Row> rows = query.fetch();
    int found = 0;
    String last = null;
    while (rows.hasNext()) {
      String text = rows.next().getString(1);
      assertTrue(last == null || last.compareTo(text) > 0);
      last = text;
      found++;
    }
    assertEquals(LARGE_ROWS, found);
  }

  @Test
  void severalQueriesAtOnceHavePartsEach() throws Exception {
    List<Query<Row>> queries = List.of(
        sized(numbers.query("SELECT *"), 100),
        large.query("SELECT *"),
        numbers.query("SELECT * WHERE id < 10"),
        large.query("SELECT * ORDER BY text"),
        sized(numbers.query("SELECT * ORDER BY id DESC"), 7),
        large.query("SELECT * ORDER BY id DESC LIMIT 70"));
    store.fetchAll(queries);
    int[] sizes = {ROWS, LARGE_ROWS, 10, LARGE_ROWS, ROWS, 70};
    // In turn, a row of each.
    List<RowSet<Row>> sets = new ArrayList<>();
    for (Query<Row> query : queries) {
      sets.add(query.getRowSet());
    }
    int[] found = new int[sizes.length];
    for (boolean isOver = false; !isOver; ) {
      isOver = true;
      for (int i = 0; i < sizes.length; i++) {
        if (sets.get(i).hasNext()) {
          sets.get(i).next();
          found[i]++;
          isOver = false;
        }
      }
    }
    for (int i = 0; i < sizes.length; i++) {
      assertEquals(sizes[i], sets.get(i).size());
      assertEquals(sizes[i], found[i], "rows of query " + i);
    }
  }

  @Test
  void rowsThatChangeBetweenParts() throws Exception {
    Collection<Integer, Row> mine = numbered("changes", 100);
    RowSet<Row> rows = sized(mine.query("SELECT *"), 10).fetch();
    rows.next();
    mine.put(row(mine, 50, "new", 0L, blob(padding)));
    mine.put(row(mine, 1_000, "after the last", 0L, blob(padding)));
    mine.remove(0);
    mine.put(row(mine, -1, "before the first", 0L, blob(padding)));
    List<Object> texts = new ArrayList<>();
    for (int i = 1; rows.hasNext(); i++) {
      Row row = rows.next();
      assertEquals(i, row.getInteger(0));
      texts.add(row.isNull(1) ? null : row.getString(1));
    }
    assertEquals(99, texts.size());
    assertEquals("new", texts.get(49), "a part has the rows as they are when it is asked for");
    assertEquals(101, count(mine));
  }

  @Test
  void aRowSetThatLosesRowsIsLost() throws Exception {
    Collection<Integer, Row> mine = numbered("lost", 100);
    RowSet<Row> rows = sized(mine.query("SELECT *"), 10).fetch();
    mine.remove(70);
    assertLost(rows);
    RowSet<Row> more = sized(mine.query("SELECT * WHERE v < 1000"), 10).fetch();
    mine.put(row(mine, 70, "again", 1L, blob(padding)));
    assertLost(more);
    assertEquals(100, values(sized(mine.query("SELECT *"), 10), 0).size(), "the connection goes on");
  }

  @Test
  void rowsAreRemovedAsTheyAreRead() throws Exception {
    Collection<Integer, Row> mine = numbered("removed", 100);
    RowSet<Row> rows = sized(mine.query("SELECT *"), 7).fetch();
    while (rows.hasNext()) {
      mine.remove(rows.next().getInteger(0));
    }
    assertEquals(0, count(mine));
  }

  @Test
  void aContainerThatChangesOrGoes() throws Exception {
    Collection<Integer, Row> mine = numbered("gone", 100);
    RowSet<Row> rows = sized(mine.query("SELECT *"), 10).fetch();
    try (GridStore other = Server.connect()) {
      other.dropContainer(name("gone"));
    }
    GSException gone = assertThrows(GSException.class, () -> {
      while (rows.hasNext()) {
        rows.next();
      }
    });
    assertEquals(NO_CONTAINER, gone.getErrorCode(), gone.getMessage());
  }

  @Test
  void rowSetsAreClosedAmid() throws Exception {
    // More than may be open at once.
    for (int i = 0; i < 1_500; i++) {
      try (RowSet<Row> rows = sized(numbers.query("SELECT *"), 5).fetch()) {
        assertEquals(0, rows.next().getInteger(0));
      }
    }
    RowSet<Row> closed = sized(numbers.query("SELECT *"), 5).fetch();
    closed.close();
    assertThrows(GSException.class, closed::next);
  }

  @Test
  void openRowSetsAreBounded() throws Exception {
    try (GridStore mine = Server.connect()) {
      Collection<Integer, Row> container = mine.getCollection(name("numbers"));
      List<RowSet<Row>> open = new ArrayList<>();
      for (int i = 0; i < 1_024; i++) {
        open.add(sized(container.query("SELECT * WHERE id >= " + i), 2).fetch());
      }
      assertRefused(1_008, () -> sized(container.query("SELECT *"), 2).fetch());
      assertEquals(2, container.query("SELECT * LIMIT 2").fetch().size(), "what comes at once needs none");
      open.remove(0).close();
      open.add(sized(container.query("SELECT * WHERE id >= 1024"), 2).fetch());
      for (int i = 0; i < open.size(); i += 100) {
        RowSet<Row> rows = open.get(i);
        for (int id = i + 1; id < i + 8; id++) {
          assertEquals(id, rows.next().getInteger(0));
        }
      }
    }
  }

  @Test
  void rowsOfATransactionInParts() throws Exception {
    Collection<Integer, Row> mine = numbered("transaction", 60);
    mine.setAutoCommit(false);
    mine.put(row(mine, 60, "own", 0L, blob(padding)));
    assertEquals(range(0, 61), values(sized(mine.query("SELECT *"), 7), 0), "its own changes, too");
    RowSet<Row> rows = sized(mine.query("SELECT * WHERE id < 50"), 7).fetch(true);
    while (rows.hasNext()) {
      Row row = rows.next();
      row.setString(1, "updated");
      // Also the last row of what would be a part: rows for update come all at once.
      rows.update(row);
    }
    mine.commit();
    mine.setAutoCommit(true);
    assertEquals(range(0, 50), keys(mine, "SELECT * WHERE text = 'updated'"));
    assertEquals(61, count(mine));
  }

  @Test
  void aTransactionThatEndsTakesItsRowSetsWithIt() throws Exception {
    Collection<Integer, Row> mine = numbered("ended", 60);
    mine.setAutoCommit(false);
    mine.put(row(mine, 5, "own", 0L, blob(padding)));
    RowSet<Row> rows = sized(mine.query("SELECT *"), 7).fetch();
    mine.commit();
    assertThrows(GSException.class, () -> {
      while (rows.hasNext()) {
        rows.next();
      }
    });
    mine.setAutoCommit(true);
    assertEquals(60, count(mine));
  }
}
