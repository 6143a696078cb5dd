package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.TimeSeries;
import com.toshiba.mwcloud.gs.TimeUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The server ends under writers and comes back. */
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
class RestartTest extends Suite {
  private static final int WRITERS = 4;

  /** One writer: one row after the other, each fifth time a group of ten. */
  private static final class Writer extends Thread {
    final AtomicInteger acknowledged = new AtomicInteger();
    final AtomicReference<Exception> error = new AtomicReference<>();
    final AtomicBoolean stopping = new AtomicBoolean();
    private final String name;

    Writer(String name) {
      this.name = name;
    }

    @Override
    public void run() {
      try (GridStore connection = Server.connect("failoverTimeout", "120")) {
        Collection<Long, Row> mine = connection.getCollection(name);
        long next = 0;
        while (!stopping.get()) {
          if (next % 50 == 40) {
            List<Row> rows = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
              rows.add(row(mine, next + i, "v" + (next + i)));
            }
            mine.put(rows);
            next += 10;
          } else {
            mine.put(row(mine, next, "v" + next));
            next++;
          }
          acknowledged.set((int) next);
        }
      } catch (GSException ended) {
        error.set(ended);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"kill", "term"})
  void whatWasAcknowledgedIsThere(String how) throws Exception {
    List<Writer> writers = new ArrayList<>();
    for (int i = 0; i < WRITERS; i++) {
      collection(how + i, keyed(column("id", GSType.LONG), column("v", GSType.STRING)));
      writers.add(new Writer(name(how + i)));
    }
    TimeSeries<Row> readings = timeSeries(how + "Series", series(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE)));
    readings.put(row(readings, at(5), 1.5));
    collection(how + "Dropped", keyed(column("id", GSType.LONG)));
    store.dropContainer(name(how + "Dropped"));
    Collection<Long, Row> removed = collection(how + "Removed", keyed(column("id", GSType.LONG)));
    removed.put(row(removed, 1L));
    removed.remove(1L);

    Collection<Long, Row> indexed = collection(how + "Indexed", keyed(column("id", GSType.LONG), column("v", GSType.LONG)));
    indexed.createIndex("v");
    for (long id = 0; id < 100; id++) {
      indexed.put(row(indexed, id, id % 10));
    }
    indexed.remove(13L);

    Collection<Integer, Row> precise = collection(how + "Precise",
        keyed(column("id", GSType.INTEGER), PreciseTimesTest.times("us", TimeUnit.MICROSECOND), PreciseTimesTest.times("ns", TimeUnit.NANOSECOND)));
    precise.createIndex("ns");
    precise.put(row(precise, 1, PreciseTimesTest.time(7, 123_456_000), PreciseTimesTest.time(7, 123_456_789)));

    Collection<Integer, Row> places = collection(how + "Places", GeometryTest.PLACES);
    places.createIndex("geom");
    for (int id = 0; id < 50; id++) {
      places.put(row(places, id, GeometryTest.geometry("POINT(" + id + " 0.5;4326)"), "after"));
    }
    places.remove(7);

    writers.forEach(Thread::start);
    for (Writer writer : writers) {
      Server.until("some rows are acknowledged", () -> writer.acknowledged.get() > 300 || writer.error.get() != null);
    }
    Server.restart(how);
    List<Integer> before = new ArrayList<>();
    for (Writer writer : writers) {
      before.add(writer.acknowledged.get());
    }
    for (int i = 0; i < WRITERS; i++) {
      Writer writer = writers.get(i);
      int goal = before.get(i) + 100;
      Server.until("a client goes on within its failover timeout", () -> writer.acknowledged.get() > goal || writer.error.get() != null);
      writer.stopping.set(true);
      writer.join();
      assertNull(writer.error.get());
    }

    for (int i = 0; i < WRITERS; i++) {
      int acknowledged = writers.get(i).acknowledged.get();
      Collection<Long, Row> mine = store.getCollection(name(how + i));
      List<Object> values = values(mine.query("SELECT *"), 1);
      assertTrue(values.size() >= acknowledged, values.size() + " rows of " + acknowledged);
      for (int id = 0; id < acknowledged; id++) {
        assertEquals("v" + id, values.get(id));
      }
    }
    assertEquals(1.5, store.getTimeSeries(name(how + "Series")).get(at(5)).getDouble(1));
    Collection<Integer, Row> stillPrecise = store.getCollection(name(how + "Precise"));
    assertEquals(TimeUnit.NANOSECOND, store.getContainerInfo(name(how + "Precise")).getColumnInfo(2).getTimePrecision());
    assertEquals(PreciseTimesTest.time(7, 123_456_000), stillPrecise.get(1).getPreciseTimestamp(1));
    assertEquals(List.of(1), keys(stillPrecise, "SELECT * WHERE ns = TIMESTAMP_NS('1970-01-01T00:00:07.123456789Z')"));
    Collection<Integer, Row> stillPlaces = store.getCollection(name(how + "Places"));
    assertEquals(GeometryTest.geometry("POINT(3 0.5;4326)"), stillPlaces.get(3).getGeometry(1));
    String near = "SELECT * WHERE ST_MBRIntersects(geom, ST_MakeRect(4.5, 0, 9, 1))";
    IndexesTest.untilAnalysis("geom 4", stillPlaces, near);
    assertEquals(List.of(5, 6, 8, 9), keys(stillPlaces, near));
    Collection<Long, Row> stillIndexed = store.getCollection(name(how + "Indexed"));
    IndexesTest.untilAnalysis("v 9", stillIndexed, "SELECT * WHERE v = 3");
    assertEquals(List.of(3L, 23L, 33L, 43L, 53L, 63L, 73L, 83L, 93L), keys(stillIndexed, "SELECT * WHERE v = 3"));
    assertNull(store.getContainerInfo(name(how + "Dropped")), "a dropped container does not come back");
    assertNotNull(store.getContainerInfo(name(how + "Removed")));
    assertEquals(0, count(store.getContainer(name(how + "Removed"))), "a removed row does not come back");
  }
}
