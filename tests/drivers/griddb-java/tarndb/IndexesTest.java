package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.Container;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.IndexInfo;
import com.toshiba.mwcloud.gs.IndexType;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.QueryAnalysisEntry;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import com.toshiba.mwcloud.gs.TimeSeries;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Indexes: declared, listed, dropped, and what queries find by them. */
class IndexesTest extends Suite {
  static final int NOT_SUPPORTED = 1_007;
  static final int SERIES_KEY = 60_081;
  private static final ContainerInfo PARTS =
      keyed(column("id", GSType.LONG), column("kind", GSType.STRING), column("size", GSType.INTEGER), column("tags", GSType.STRING_ARRAY), column("raw", GSType.BLOB));

  /** Indexes as `name(columns)`. */
  private List<String> listed(String ending) throws GSException {
    List<String> listed = new ArrayList<>();
    for (IndexInfo index : store.getContainerInfo(name(ending)).getIndexInfoList()) {
      assertEquals(IndexType.TREE, index.getType());
      listed.add((index.getName() == null ? "" : index.getName()) + String.join(",", index.getColumnNameList()));
    }
    return listed;
  }

  private static IndexInfo named(String name, String... columns) {
    IndexInfo info = IndexInfo.createByColumnList(List.of(columns), IndexType.TREE);
    info.setName(name);
    return info;
  }

  /** What EXPLAIN ANALYZE says of a query: whose entries it has looked at, and how many rows it has found. */
  static String analysis(Container<?, Row> container, String tql) throws GSException {
    String map = "";
    try (RowSet<QueryAnalysisEntry> told = container.query("EXPLAIN ANALYZE " + tql, QueryAnalysisEntry.class).fetch()) {
      while (told.hasNext()) {
        QueryAnalysisEntry entry = told.next();
        if (entry.getType().equals("SEARCH_MAP")) {
          map = entry.getValue();
        } else if (entry.getType().equals("QUERY_EXECUTE_RESULT_ROWS")) {
          return map + " " + entry.getValue();
        }
      }
    }
    return "nothing";
  }

  /** Waits until an index answers a query. */
  static void untilAnalysis(String expected, Container<?, Row> container, String tql) throws InterruptedException {
    Server.until(
        tql + " is answered by " + expected,
        () -> {
          try {
            return analysis(container, tql).equals(expected);
          } catch (GSException refused) {
            throw new AssertionError(refused);
          }
        });
  }

  @Test
  void anIndexIsListedUntilItIsDropped() throws Exception {
    Collection<Long, Row> parts = collection("listed", PARTS);
    assertEquals(List.of("id"), listed("listed"), "the row key's own");
    parts.createIndex("kind");
    parts.createIndex("kind", IndexType.TREE);
    parts.createIndex(named("By_Size", "size"));
    parts.createIndex(named("by_size", "size"));
    parts.createIndex(named("both", "size", "kind"));
    assertEquals(List.of("id", "kind", "By_Sizesize", "bothsize,kind"), listed("listed"));
    assertEquals(Set.of(IndexType.TREE), store.getContainerInfo(name("listed")).getColumnInfo(1).getIndexTypes());
    parts.dropIndex("kind");
    parts.dropIndex("kind");
    parts.dropIndex(IndexInfo.createByName("BOTH", null));
    assertEquals(List.of("id", "By_Sizesize"), listed("listed"));
    parts.dropIndex(new IndexInfo());
    assertEquals(List.of("id"), listed("listed"));
    store.dropContainer(name("listed"));
    collection("listed", PARTS).createIndex("size");
    assertEquals(List.of("id", "size"), listed("listed"), "nothing is left of the container that was dropped");
  }

  @Test
  void whatCannotBeIndexedIsRefused() throws Exception {
    Collection<Long, Row> parts = collection("refused", PARTS);
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex("kind", IndexType.HASH));
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex("kind", IndexType.SPATIAL));
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex("tags"));
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex("raw"));
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex(named("twice", "kind", "kind")));
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex(named("mine", "id")));
    assertThrows(GSException.class, () -> parts.createIndex("missing"));
    parts.createIndex(named("one", "kind"));
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex(named("two", "kind")));
    assertRefused(NOT_SUPPORTED, () -> parts.createIndex(named("ONE", "size")));
    TimeSeries<Row> series = timeSeries("series", series(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE)));
    assertRefused(SERIES_KEY, () -> series.createIndex("at"));
    assertRefused(SERIES_KEY, () -> series.createIndex(named("both", "v", "at")));
    assertEquals(List.of("id", "onekind"), listed("refused"));
    assertEquals(List.of(), listed("series"));
  }

  @ParameterizedTest
  @EnumSource(names = {"BOOL", "BYTE", "SHORT", "INTEGER", "LONG", "FLOAT", "DOUBLE", "TIMESTAMP", "STRING"})
  void everyTypeIsFoundByItsIndex(GSType type) throws Exception {
    Collection<Long, Row> rows = collection("typed_" + type, keyed(column("id", GSType.LONG), column("v", type)));
    for (long id = 0; id < 200; id++) {
      rows.put(row(rows, id, id % 20 == 7 ? null : value(type, id % 10)));
    }
    rows.createIndex("v");
    for (long id = 200; id < 400; id++) {
      rows.put(row(rows, id, value(type, id % 10)));
    }
    rows.remove(203L);
    rows.put(row(rows, 213L, value(type, 4)));
    List<Object> expected = LongStream.range(0, 400)
        .filter(id -> type == GSType.BOOL ? id >= 200 && id % 2 == 1 || id % 2 == 1 && id % 20 != 7 : id % 10 == 3)
        .filter(id -> id != 203 && id != 213)
        .boxed()
        .collect(Collectors.toList());
    String condition = "SELECT * WHERE v = " + literal(type, 3);
    untilAnalysis("v " + expected.size(), rows, condition);
    assertEquals(expected, keys(rows, condition));
  }

  private static Object value(GSType type, long n) {
    switch (type) {
      case BOOL: return n % 2 == 1;
      case BYTE: return (byte) (n - 5);
      case SHORT: return (short) (n - 5);
      case INTEGER: return (int) (n - 5);
      case LONG: return n - 5;
      case FLOAT: return (n - 5) / 2f;
      case DOUBLE: return (n - 5) / 2d;
      case TIMESTAMP: return at(n);
      default: return "v" + n;
    }
  }

  private static String literal(GSType type, long n) {
    switch (type) {
      case BOOL: return "TRUE";
      case TIMESTAMP: return "TO_TIMESTAMP_MS(" + n + ")";
      case STRING: return "'v" + n + "'";
      default: return value(type, n).toString();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "size = 7", "size < 7", "size <= 7 AND size > 3", "7 >= size", "size = 7 AND kind = 'k3'", "size > 90 ORDER BY id DESC", "kind = 'k1' AND id > 500",
    "size = 7 LIMIT 3 OFFSET 2", "size = -1", "size > 20 AND size < 20", "size = 7 OR kind = 'k3'", "size <> 7 AND size < 9", "size = 7 ORDER BY kind"
  })
  void aQueryGivesWhatItGivesWithoutIndexes(String condition) throws Exception {
    Container<Long, Row> plain = many("plain");
    Container<Long, Row> indexed = many("indexed");
    indexed.createIndex("size");
    indexed.createIndex("kind");
    untilAnalysis("size 10", indexed, "SELECT * WHERE size = 7");
    List<Object> expected = keys(plain, "SELECT * WHERE " + condition);
    assertEquals(expected, keys(indexed, "SELECT * WHERE " + condition));
    if (!condition.contains("ORDER") && !condition.contains("LIMIT")) {
      assertEquals(expected.size(), aggregate(indexed, "SELECT COUNT(*) WHERE " + condition).getLong());
    }
  }

  /** A thousand rows; made once. */
  private Container<Long, Row> many(String ending) throws GSException {
    Container<Long, Row> known = store.getCollection(name(ending));
    if (known != null) {
      return known;
    }
    Collection<Long, Row> made = collection(ending, keyed(column("id", GSType.LONG), column("kind", GSType.STRING), column("size", GSType.INTEGER)));
    List<Row> rows = new ArrayList<>();
    for (long id = 0; id < 1_000; id++) {
      rows.add(row(made, id, "k" + id % 7, (int) (id % 100)));
    }
    made.put(rows);
    return made;
  }

  @Test
  void columnsComeAndGo() throws Exception {
    Collection<Long, Row> before = collection("changed", keyed(column("id", GSType.LONG), column("a", GSType.INTEGER), column("b", GSType.INTEGER)));
    before.put(row(before, 1L, 10, 20));
    before.createIndex("a");
    before.createIndex("b");
    before.createIndex(named("both", "a", "b"));
    ColumnInfo later = required("later", GSType.INTEGER);
    Collection<Long, Row> after = store.putCollection(name("changed"), keyed(column("id", GSType.LONG), later, column("b", GSType.INTEGER)), true);
    assertEquals(List.of("id", "b"), listed("changed"), "what was of the column that has gone went with it");
    after.createIndex("later");
    after.put(row(after, 2L, 5, 20));
    untilAnalysis("b 2", after, "SELECT * WHERE b = 20");
    untilAnalysis("later 1", after, "SELECT * WHERE later = 5");
    assertEquals(List.of(1L), keys(after, "SELECT * WHERE later = 0"), "a row that is older than the column has its zero");
    assertEquals(List.of(1L), keys(after, "SELECT * WHERE later < 5"));
  }

  @Test
  void aTransactionFindsWhatItHasPut() throws Exception {
    Collection<Long, Row> rows = collection("transaction", keyed(column("id", GSType.LONG), column("v", GSType.INTEGER)));
    rows.createIndex("v");
    rows.put(row(rows, 1L, 5));
    rows.put(row(rows, 2L, 5));
    untilAnalysis("v 2", rows, "SELECT * WHERE v = 5");
    rows.setAutoCommit(false);
    rows.put(row(rows, 3L, 5));
    rows.put(row(rows, 1L, 6));
    assertEquals(List.of(2L, 3L), keys(rows, "SELECT * WHERE v = 5"));
    rows.abort();
    rows.setAutoCommit(true);
    assertEquals(List.of(1L, 2L), keys(rows, "SELECT * WHERE v = 5"));
  }

  @Test
  void aTimeSeriesIsFoundByAnotherColumn() throws Exception {
    TimeSeries<Row> readings = timeSeries("readings", series(column("at", GSType.TIMESTAMP), column("sensor", GSType.STRING)));
    for (int i = 0; i < 300; i++) {
      readings.put(row(readings, at(i), "s" + i % 30));
    }
    readings.createIndex("sensor");
    String mine = "SELECT * WHERE sensor = 's4' AND at >= TO_TIMESTAMP_MS(100) AND at < TO_TIMESTAMP_MS(190)";
    untilAnalysis("sensor 2", readings, mine.replace("190", "160"));
    assertEquals(List.of(at(124), at(154), at(184)), keys(readings, mine));
    assertEquals(List.of(at(184), at(154), at(124)), keys(readings, mine + " ORDER BY at DESC"));
  }

  @Test
  void aContainerWithoutARowKeyIsFoundByAnIndex() throws Exception {
    Collection<Void, Row> log = collection("log", unkeyed(column("level", GSType.BYTE), column("text", GSType.STRING)));
    log.createIndex("level");
    for (int i = 0; i < 50; i++) {
      log.put(row(log, (byte) (i % 10), "t" + i));
    }
    untilAnalysis("level 5", log, "SELECT * WHERE level = 3");
    Query<Row> query = log.query("SELECT * WHERE level = 3");
    assertEquals(List.of("t3", "t13", "t23", "t33", "t43"), values(query, 1));
  }

  @Test
  void aPlanIsToldWithoutTheQuery() throws Exception {
    Collection<Long, Row> rows = collection("plan", keyed(column("id", GSType.LONG), column("v", GSType.INTEGER)));
    rows.put(row(rows, 1L, 5));
    rows.createIndex("v");
    Set<String> told = new TreeSet<>();
    int number = 0;
    try (RowSet<QueryAnalysisEntry> plan = rows.query("EXPLAIN SELECT * WHERE v = 5 ORDER BY v DESC", QueryAnalysisEntry.class).fetch()) {
      while (plan.hasNext()) {
        QueryAnalysisEntry entry = plan.next();
        assertEquals(number++, entry.getId());
        told.add(entry.getDepth() + " " + entry.getType() + " " + entry.getValueType() + " " + entry.getValue() + " " + entry.getStatement());
      }
    }
    assertEquals(
        Set.of("0 SELECTION CONDITION NULL ", "1 USE_INDEX STRING v ", "0 QUERY_RESULT_SORT BOOLEAN TRUE ", "1 QUERY_RESULT_SORT_EXPRESSION STRING v DESC"),
        told);
    assertEquals("ROWMAP 1", analysis(rows, "SELECT MAX(v)"));
  }
}
