package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Aggregation;
import com.toshiba.mwcloud.gs.AggregationResult;
import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.FetchOption;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.InterpolationMode;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.QueryOrder;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.TimeOperator;
import com.toshiba.mwcloud.gs.TimeSeries;
import com.toshiba.mwcloud.gs.TimeUnit;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Searches by time over one small time series; seconds after the epoch:
 *
 * <pre>
 * at  voltage  label  level
 * 0   4.0      at 0   0
 * 10  3.0      at 10  100
 * 20  2.0      at 20
 * 40  1.0      at 40  7
 * </pre>
 */
class TimeSeriesTest extends Suite {
  private TimeSeries<Row> plant;

  @BeforeAll
  void fill() throws Exception {
    plant = empty("plant");
    plant.put(
        List.of(
            row(plant, second(40), 1.0, "at 40", 7),
            row(plant, second(0), 4.0, "at 0", 0),
            row(plant, second(20), 2.0, "at 20", null),
            row(plant, second(10), 3.0, "at 10", 100)));
  }

  private TimeSeries<Row> empty(String ending) throws GSException {
    return timeSeries(
        ending,
        series(column("at", GSType.TIMESTAMP), column("voltage", GSType.DOUBLE), column("label", GSType.STRING), column("level", GSType.INTEGER)));
  }

  private static Date second(long second) {
    return at(second * 1000);
  }

  /** The seconds of the rows found, with a space between. */
  private static String seconds(Query<Row> query) throws GSException {
    StringBuilder seconds = new StringBuilder();
    for (Object time : values(query, 0)) {
      seconds.append(((Date) time).getTime() / 1000).append(' ');
    }
    return seconds.toString().trim();
  }

  @ParameterizedTest
  @CsvSource({
    "PREVIOUS, 10, 10", "PREVIOUS, 15, 10", "PREVIOUS, 100, 40",
    "PREVIOUS_ONLY, 10, 0", "PREVIOUS_ONLY, 15, 10", "PREVIOUS_ONLY, 0, ",
    "NEXT, 10, 10", "NEXT, 15, 20", "NEXT, 41, ",
    "NEXT_ONLY, 10, 20", "NEXT_ONLY, 15, 20", "NEXT_ONLY, 40, ",
  })
  void theNearestRow(TimeOperator operator, long time, Long expected) throws Exception {
    Row found = plant.get(second(time), operator);
    assertEquals(expected, found == null ? null : (Long) (found.getTimestamp(0).getTime() / 1000));
  }

  @ParameterizedTest
  @CsvSource(
      value = {
        "0, 40, 0 10 20 40", "1, 39, 10 20", "10, 20, 10 20", "20, 10, ''", "41, 50, ''", "'', 10, 0 10", "20, '', 20 40", "'', '', 0 10 20 40",
      })
  void aRangeOfTime(String start, String end, String expected) throws Exception {
    Date from = start.isEmpty() ? null : second(Long.parseLong(start));
    Date to = end.isEmpty() ? null : second(Long.parseLong(end));
    assertEquals(expected, seconds(plant.query(from, to)));
    StringBuilder reverse = new StringBuilder();
    for (String one : expected.split(" ")) {
      reverse.insert(0, one + " ");
    }
    assertEquals(reverse.toString().trim(), seconds(plant.query(from, to, QueryOrder.DESCENDING)));
  }

  @ParameterizedTest
  @CsvSource({"voltage, 0, 4", "voltage, 5, 3.5", "voltage, 30, 1.5", "voltage, 40, 1", "level, 5, 50", "level, 10, 100"})
  void interpolatedValuesAreOnTheLine(String column, long time, double expected) throws Exception {
    Row row = plant.interpolate(second(time), column);
    assertEquals(second(time), row.getTimestamp(0));
    assertEquals(expected, column.equals("level") ? row.getInteger(3) : row.getDouble(1), 1e-9);
  }

  @Test
  void thereIsNothingToInterpolateBeyondTheEnds() throws Exception {
    assertNull(plant.interpolate(second(41), "voltage"));
    TimeSeries<Row> none = empty("nothing");
    assertNull(none.interpolate(second(1), "voltage"));
    assertThrows(GSException.class, () -> plant.interpolate(second(1), "label"));
    assertThrows(GSException.class, () -> plant.interpolate(second(1), "nothing"));
  }

  @ParameterizedTest
  @CsvSource({
    "MINIMUM, 1", "MAXIMUM, 4", "TOTAL, 10", "AVERAGE, 2.5", "VARIANCE, 1.25", "STANDARD_DEVIATION, 1.118033988749895", "COUNT, 4", "WEIGHTED_AVERAGE, 2.25",
  })
  void aggregatesOverTime(Aggregation aggregation, double expected) throws Exception {
    AggregationResult found = plant.aggregate(second(0), second(40), "voltage", aggregation);
    assertEquals(expected, found.getDouble(), 1e-9);
  }

  @Test
  void aggregatesOfAPart() throws Exception {
    assertEquals(5.0, plant.aggregate(second(10), second(20), "voltage", Aggregation.TOTAL).getDouble());
    assertEquals(2L, plant.aggregate(second(10), second(20), null, Aggregation.COUNT).getLong());
    assertEquals(100L, plant.aggregate(second(1), second(20), "level", Aggregation.TOTAL).getLong());
    assertNull(plant.aggregate(second(41), second(50), "voltage", Aggregation.TOTAL));
  }

  @ParameterizedTest
  @CsvSource({
    "LINEAR_OR_PREVIOUS, 4, 50, 8, SECOND, 4 12 20 28 36",
    "LINEAR_OR_PREVIOUS, 0, 40, 20, SECOND, 0 20 40",
    "LINEAR_OR_PREVIOUS, 0, 40, 1, MINUTE, 0",
    "EMPTY, 5, 20, 5, SECOND, 5 10 15 20",
  })
  void samplings(InterpolationMode mode, long start, long end, int interval, TimeUnit unit, String expected) throws Exception {
    assertEquals(expected, seconds(plant.query(second(start), second(end), Set.of("voltage"), mode, interval, unit)));
  }

  @Test
  void samplesAreOnTheLine() throws Exception {
    Query<Row> query = plant.query(second(0), second(40), Set.of("voltage"), InterpolationMode.LINEAR_OR_PREVIOUS, 5, TimeUnit.SECOND);
    assertEquals(List.of(4.0, 3.5, 3.0, 2.5, 2.0, 1.75, 1.5, 1.25, 1.0), values(query, 1));
  }

  @Test
  void emptySamplesAreNullBetweenRows() throws Exception {
    Query<Row> query = plant.query(second(0), second(20), Set.of("voltage"), InterpolationMode.EMPTY, 5, TimeUnit.SECOND);
    List<Object> values = new ArrayList<>(values(query, 1));
    assertEquals(4.0, values.get(0));
    assertEquals(3.0, values.get(2));
    assertEquals(5, values.size());
    assertEquals(0.0, values.get(1), "the empty value of a DOUBLE");
  }

  @ParameterizedTest
  @CsvSource({"0, SECOND", "-1, SECOND", "1, MONTH", "1, YEAR"})
  void intervalsThatCannotBe(int interval, TimeUnit unit) {
    assertThrows(GSException.class, () -> plant.query(second(0), second(9), Set.of(), InterpolationMode.EMPTY, interval, unit).fetch());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          SELECT TIME_NEXT(*, TO_TIMESTAMP_MS(10000))                                        | 10
          SELECT TIME_NEXT_ONLY(*, TO_TIMESTAMP_MS(10000))                                   | 20
          SELECT TIME_PREV(*, TO_TIMESTAMP_MS(15000))                                        | 10
          SELECT TIME_PREV_ONLY(*, TIMESTAMP('1970-01-01T00:00:10.000Z'))                    | 0
          SELECT TIME_PREV_ONLY(*, TO_TIMESTAMP_MS(0))                                       | ``
          SELECT TIME_PREV(*, TO_TIMESTAMP_MS(50000)) WHERE level > 50                       | 10
          SELECT TIME_SAMPLING(voltage, TO_TIMESTAMP_MS(4000), TO_TIMESTAMP_MS(50000), 8, SECOND) | 4 12 20 28 36
          SELECT TIME_INTERPOLATED(voltage, TO_TIMESTAMP_MS(30000))                          | 30
          SELECT TIME_INTERPOLATED(voltage, TO_TIMESTAMP_MS(41000))                          | ``
          SELECT * WHERE at >= TO_TIMESTAMP_MS(10000) AND at < TO_TIMESTAMP_MS(40000)        | 10 20
          SELECT * WHERE TIMESTAMPDIFF(SECOND, at, TO_TIMESTAMP_MS(5000)) > 5                | 20 40
          SELECT * WHERE voltage >= 2 ORDER BY voltage                                       | 20 10 0
          SELECT * ORDER BY at DESC LIMIT 2                                                  | 40 20
          SELECT MAX_ROWS(voltage)                                                           | 0
          """)
  void tqlByTime(String tql, String expected) throws Exception {
    assertEquals(expected, seconds(plant.query(tql)));
  }

  @Test
  void tqlAveragesOverTime() throws Exception {
    assertEquals(2.25, aggregate(plant, "SELECT TIME_AVG(voltage)").getDouble(), 1e-9);
  }

  @Test
  void aPutReplacesTheRowOfATime() throws Exception {
    TimeSeries<Row> mine = empty("replace");
    assertFalse(mine.put(row(mine, second(1), 1.0, "one", 1)));
    assertTrue(mine.put(row(mine, second(1), 2.0, null, null)));
    assertFalse(mine.put(second(2), row(mine, second(1), 3.0, "three", 3)));
    assertEquals(2.0, mine.get(second(1)).getDouble(1));
    assertTrue(mine.get(second(1)).isNull(2));
    assertEquals(3.0, mine.get(second(2)).getDouble(1));
    assertNull(mine.get(second(3)));
  }

  @Test
  void aRowIsRemovedByItsTime() throws Exception {
    TimeSeries<Row> mine = empty("remove");
    mine.put(row(mine, second(1), 1.0, "one", 1));
    assertTrue(mine.remove(second(1)));
    assertFalse(mine.remove(second(1)));
    assertNull(mine.get(second(1)));
    assertNull(mine.get(second(5), TimeOperator.PREVIOUS));
  }

  @Test
  void appendTakesTheServersTime() throws Exception {
    TimeSeries<Row> mine = empty("append");
    long before = System.currentTimeMillis();
    mine.append(row(mine, second(1), 1.0, "one", 1));
    long after = System.currentTimeMillis();
    long time = ((Date) values(mine.query("SELECT *"), 0).get(0)).getTime();
    assertTrue(before - 1000 <= time && time <= after + 1000, "it is the time of now: " + time);
  }

  @Test
  void appendDoesNotGoBack() throws Exception {
    TimeSeries<Row> mine = empty("appendLater");
    Date later = at(System.currentTimeMillis() + 3_600_000);
    mine.put(row(mine, later, 1.0, "later", 1));
    mine.append(row(mine, second(1), 2.0, "appended", 2));
    Row last = mine.get(at(later.getTime() + 1_000_000), TimeOperator.PREVIOUS);
    assertEquals("appended", last.getString(2));
    assertFalse(last.getTimestamp(0).before(later));
  }

  @Test
  void aCollectionHasNoTimes() throws Exception {
    Collection<Date, Row> mine = collection("collection", keyed(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE)));
    mine.put(row(mine, second(1), 1.0));
    assertEquals(1, count(mine));
    assertRefused(152_003, () -> mine.query("SELECT TIME_NEXT(*, NOW())").fetch());
    assertRefused(CLIENT_SCHEMA, () -> store.getTimeSeries(name("collection")));
  }

  @Test
  void aLongSeries() throws Exception {
    TimeSeries<Row> mine = empty("long");
    int count = 30_000;
    for (int start = 0; start < count; start += 5000) {
      List<Row> rows = new ArrayList<>();
      for (int i = start; i < start + 5000; i++) {
        rows.add(row(mine, second(i), (double) i, "at " + i, i % 10));
      }
      mine.put(rows);
    }
    assertEquals(count, count(mine));
    assertEquals(101, mine.query(second(12_000), second(12_100)).fetch().size());
    assertEquals(29_999, mine.get(second(50_000), TimeOperator.PREVIOUS).getDouble(1));
    assertEquals((count - 1) / 2.0, mine.aggregate(second(0), second(count), "voltage", Aggregation.AVERAGE).getDouble(), 1e-6);
    assertEquals(3000L, aggregate(mine, "SELECT COUNT(*) WHERE level = 3").getLong());
    assertEquals(15_000.5, mine.interpolate(at(15_000_500), "voltage").getDouble(1), 1e-9);
    assertEquals(500, mine.query(second(0), second(29_999), Set.of("voltage"), InterpolationMode.LINEAR_OR_PREVIOUS, 1, TimeUnit.MINUTE).fetch().size());
    Query<Row> limited = mine.query(second(100), null);
    limited.setFetchOption(FetchOption.LIMIT, 3);
    assertEquals("100 101 102", seconds(limited));
  }

  @ParameterizedTest
  @EnumSource(TimeOperator.class)
  void nothingIsNearInAnEmptySeries(TimeOperator operator) throws Exception {
    TimeSeries<Row> mine = empty("empty");
    assertNull(mine.get(second(1), operator));
    assertNotNull(plant.get(second(20), TimeOperator.NEXT));
  }
}
