package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.Container;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowKeyPredicate;
import com.toshiba.mwcloud.gs.TimeSeries;
import com.toshiba.mwcloud.gs.TimeUnit;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Columns of TIMESTAMP with microseconds and nanoseconds. */
class PreciseTimesTest extends Suite {
  /** Microseconds, or nanoseconds, of the last moment that there may be. */
  private static final long LAST_S = 253_402_300_799L;

  static ColumnInfo times(String name, TimeUnit precision) {
    return new ColumnInfo.Builder().setName(name).setType(GSType.TIMESTAMP).setTimePrecision(precision).toInfo();
  }

  static ColumnInfo requiredTimes(String name, TimeUnit precision) {
    return new ColumnInfo.Builder(times(name, precision)).setNullable(false).toInfo();
  }

  static Timestamp time(long second, int nanos) {
    Timestamp time = new Timestamp(second * 1_000);
    time.setNanos(nanos);
    return time;
  }

  /** What the precision keeps of a time. */
  private static Timestamp cut(Timestamp time, TimeUnit precision) {
    Timestamp cut = (Timestamp) time.clone();
    cut.setNanos(precision == TimeUnit.NANOSECOND ? time.getNanos() : time.getNanos() / 1_000 * 1_000);
    return cut;
  }

  private static final List<Timestamp> SOME = List.of(time(0, 0), time(0, 1), time(0, 249), time(0, 250), time(0, 999), time(0, 999_999_999),
      time(1_706_702_400, 123_456_789), time(1_706_702_400, 123_457_000), time(LAST_S, 999_999_999));

  @ParameterizedTest
  @EnumSource(value = TimeUnit.class, names = {"MICROSECOND", "NANOSECOND"})
  void timesComeBack(TimeUnit precision) throws Exception {
    ContainerInfo info = keyed(column("id", GSType.INTEGER), times("at", precision), column("after", GSType.STRING));
    Collection<Integer, Row> mine = collection("of" + precision, info);
    ContainerInfo known = store.getContainerInfo(name("of" + precision));
    assertEquals(precision, known.getColumnInfo(1).getTimePrecision());
    assertEquals(GSType.TIMESTAMP, known.getColumnInfo(1).getType());
    for (int i = 0; i < SOME.size(); i++) {
      mine.put(row(mine, i, SOME.get(i), "after" + i));
    }
    mine.put(row(mine, SOME.size(), null, null));
    for (int i = 0; i < SOME.size(); i++) {
      assertEquals(cut(SOME.get(i), precision), mine.get(i).getPreciseTimestamp(1), precision + " " + i);
      assertEquals("after" + i, mine.get(i).getString(2));
    }
    assertTrue(mine.get(SOME.size()).isNull(1));
    List<Object> queried = values(mine.query("SELECT * WHERE at IS NOT NULL ORDER BY id"), 1);
    assertEquals(SOME.stream().map(time -> cut(time, precision)).toList(), queried);
    assertEquals(List.of(SOME.size()), keys(mine, "SELECT * WHERE at IS NULL"));
    assertThrows(GSException.class, () -> mine.put(row(mine, 99, time(-1, 5))));
    assertThrows(GSException.class, () -> mine.put(row(mine, 99, time(LAST_S + 1, 0))));
    assertNull(mine.get(99));
  }

  @ParameterizedTest
  @EnumSource(value = TimeUnit.class, names = {"MICROSECOND", "NANOSECOND"})
  void aColumnAddedLaterReadsAs1970WhereItIsNotNull(TimeUnit precision) throws Exception {
    String name = "added" + precision;
    Collection<Integer, Row> mine = collection(name, keyed(column("id", GSType.INTEGER)));
    mine.put(row(mine, 1));
    Collection<Integer, Row> wider = store.putCollection(name(name), keyed(column("id", GSType.INTEGER), requiredTimes("at", precision)), true);
    assertEquals(time(0, 0), wider.get(1).getPreciseTimestamp(1));
    assertEquals(List.of(1), keys(wider, "SELECT * WHERE at = TO_TIMESTAMP_MS(0)"));
    wider.createIndex("at");
    assertEquals(List.of(1), keys(wider, "SELECT * WHERE at < TIMESTAMP_NS('1970-01-01T00:00:00.000000001Z')"));
  }

  @ParameterizedTest
  @EnumSource(value = TimeUnit.class, names = {"MICROSECOND", "NANOSECOND"})
  void aRowKeyIsATime(TimeUnit precision) throws Exception {
    String name = "key" + precision;
    Collection<Timestamp, Row> mine = collection(name, keyed(requiredTimes("at", precision), column("n", GSType.INTEGER)));
    List<Timestamp> times = SOME.stream().map(time -> cut(time, precision)).distinct().toList();
    for (int i = times.size() - 1; i >= 0; i--) {
      mine.put(row(mine, times.get(i), i));
    }
    for (int i = 0; i < times.size(); i++) {
      assertEquals(i, mine.get(times.get(i)).getInteger(1));
    }
    assertEquals(new ArrayList<Object>(times), keys(mine, "SELECT *"), "in their order");
    assertNull(mine.get(time(7, 7_000)));
    assertTrue(mine.remove(times.get(0)));
    assertFalse(mine.remove(times.get(0)));
    assertEquals(times.size() - 1, count(mine));
    List<Object> later = keys(mine, "SELECT * WHERE at >= TIMESTAMP('2024-01-31T12:00:00.000Z')");
    assertEquals(new ArrayList<Object>(times.subList(times.size() - 3, times.size())), later);

    RowKeyPredicate<Row.Key> some = RowKeyPredicate.create(mine.createRow().getSchema());
    some.setStart(key(mine, times.get(1)));
    some.setFinish(key(mine, times.get(3)));
    Map<String, List<Row>> found = store.multiGet(Map.of(name(name), some));
    assertEquals(3, found.get(name(name)).size());
  }

  private static Row.Key key(Container<?, Row> container, Timestamp time) throws GSException {
    Row row = container.createRow();
    row.setPreciseTimestamp(0, time);
    return row.createKey();
  }

  @Test
  void aRowKeyHasSeveralColumns() throws Exception {
    ContainerInfo info = composite(2, required("device", GSType.STRING), requiredTimes("at", TimeUnit.NANOSECOND), column("n", GSType.INTEGER));
    Collection<Row.Key, Row> mine = collection("composite", info);
    for (int i = 0; i < SOME.size(); i++) {
      mine.put(List.of(row(mine, "a", SOME.get(i), i), row(mine, "b", SOME.get(i), -i)));
    }
    assertEquals(SOME.size() * 2L, count(mine));
    assertEquals(new ArrayList<Object>(SOME), values(mine.query("SELECT * WHERE device = 'b'"), 1));
    assertEquals(List.of(-6), values(mine.query("SELECT * WHERE device = 'b' AND at = TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z')"), 2));
    Row wanted = row(mine, "a", SOME.get(6), 0);
    assertEquals(6, mine.get(wanted.createKey()).getInteger(2));
  }

  @ParameterizedTest
  @EnumSource(value = TimeUnit.class, names = {"MICROSECOND", "NANOSECOND"})
  void timesAreSearchedByIndexes(TimeUnit precision) throws Exception {
    ContainerInfo info = keyed(column("id", GSType.INTEGER), times("at", precision));
    Collection<Integer, Row> plain = collection("scanned" + precision, info);
    Collection<Integer, Row> indexed = collection("indexed" + precision, info);
    indexed.createIndex("at");
    for (int i = 0; i < 200; i++) {
      Timestamp time = time(i / 50, i % 50 * 1_234_567);
      plain.put(row(plain, i, time));
      indexed.put(row(indexed, i, time));
    }
    IndexesTest.untilAnalysis("at 1", indexed, "SELECT * WHERE at = TIMESTAMP_NS('1970-01-01T00:00:00.000000000Z')");
    for (String condition : List.of("at = TIMESTAMP_US('1970-01-01T00:00:01.012345Z')", "at < TIMESTAMP_NS('1970-01-01T00:00:01.012345670Z')",
        "at >= TIMESTAMP_NS('1970-01-01T00:00:01.012345670Z')", "at > TIMESTAMP('1970-01-01T00:00:02.055Z')", "at = TIMESTAMP('1970-01-01T00:00:03Z')")) {
      String tql = "SELECT * WHERE " + condition + " ORDER BY id";
      assertEquals(keys(plain, tql), keys(indexed, tql), tql);
    }
  }

  @Test
  void tqlKnowsThem() throws Exception {
    Collection<Integer, Row> mine = collection("tql", keyed(column("id", GSType.INTEGER), times("us", TimeUnit.MICROSECOND), times("ns", TimeUnit.NANOSECOND)));
    for (int i = 0; i < SOME.size(); i++) {
      mine.put(row(mine, i, SOME.get(i), SOME.get(i)));
    }
    assertEquals(SOME.get(8), aggregate(mine, "SELECT MAX(ns)").getPreciseTimestamp());
    assertEquals(cut(SOME.get(8), TimeUnit.MICROSECOND), aggregate(mine, "SELECT MAX(us)").getPreciseTimestamp());
    assertEquals(SOME.get(8).getTime(), aggregate(mine, "SELECT MAX(us)").getTimestamp().getTime());
    assertEquals(List.of(8), keys(mine, "SELECT MAX_ROWS(ns)"));
    assertEquals(List.of(0, 5, 7, 8), keys(mine, "SELECT * WHERE NOT us < ns AND us >= ns OR TIMESTAMPDIFF(NANOSECOND, ns, us) = 999 AND id > 4"));
    assertEquals(List.of(6), keys(mine, "SELECT * WHERE id < 8 AND TIMESTAMPADD(MICROSECOND, ns, 1) = TIMESTAMP_NS('2024-01-31T12:00:00.123457789Z')"));
    assertEquals(List.of(6, 7), keys(mine, "SELECT * WHERE TO_EPOCH_MS(ns) = 1706702400123"));
    assertRefused(150_020, () -> mine.query("SELECT AVG(ns)").fetch());
  }

  @Test
  void aTimeSeriesHasColumnsOfThemAndAKeyOfMilliseconds() throws Exception {
    TimeSeries<Row> mine = timeSeries("series", series(column("at", GSType.TIMESTAMP), times("ns", TimeUnit.NANOSECOND), column("v", GSType.DOUBLE)));
    mine.put(row(mine, at(1_000), SOME.get(6), 1.0));
    mine.put(row(mine, at(3_000), SOME.get(7), 3.0));
    assertEquals(SOME.get(6), mine.get(at(1_000)).getPreciseTimestamp(1));
    Query<Row> sampled = mine.query("SELECT TIME_SAMPLING(v, TO_TIMESTAMP_MS(1000), TO_TIMESTAMP_MS(3000), 1, SECOND)");
    assertEquals(List.of(SOME.get(6), SOME.get(6), SOME.get(7)), values(sampled, 1), "the column is that of the row before");
    assertThrows(GSException.class, () -> timeSeries("fine", series(times("at", TimeUnit.MICROSECOND), column("v", GSType.DOUBLE))));
  }

  @Test
  void severalContainersAreWrittenAndReadAtOnce() throws Exception {
    ContainerInfo info = keyed(column("id", GSType.INTEGER), times("us", TimeUnit.MICROSECOND), times("ns", TimeUnit.NANOSECOND));
    Collection<Integer, Row> one = collection("one", info);
    Collection<Integer, Row> other = collection("other", info);
    store.multiPut(Map.of(name("one"), List.of(row(one, 1, SOME.get(6), SOME.get(6))), name("other"), List.of(row(other, 2, null, SOME.get(8)))));
    RowKeyPredicate<Integer> all = RowKeyPredicate.create(Integer.class);
    Map<String, List<Row>> found = store.multiGet(Map.of(name("one"), all, name("other"), all));
    assertEquals(SOME.get(6), found.get(name("one")).get(0).getPreciseTimestamp(2));
    assertEquals(cut(SOME.get(6), TimeUnit.MICROSECOND), found.get(name("one")).get(0).getPreciseTimestamp(1));
    assertEquals(SOME.get(8), found.get(name("other")).get(0).getPreciseTimestamp(2));
  }
}
