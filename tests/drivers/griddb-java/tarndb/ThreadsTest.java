package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Several threads, each with a connection of its own, as the client is not for several threads. */
class ThreadsTest extends Suite {
  private static final int THREADS = 6;
  private static final ContainerInfo INFO = keyed(column("id", GSType.LONG), column("a", GSType.LONG), column("b", GSType.LONG));

  /** What one thread does. */
  private interface Work {
    void run(int number, GridStore connection) throws Exception;
  }

  private static void together(Work work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    List<Future<?>> ends = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int number = i;
      ends.add(
          threads.submit(
              () -> {
                try (GridStore connection = Server.connect()) {
                  work.run(number, connection);
                }
                return null;
              }));
    }
    for (Future<?> end : ends) {
      end.get();
    }
    threads.shutdown();
  }

  @Test
  void rowsOfOneContainer() throws Exception {
    collection("one", INFO);
    together(
        (number, connection) -> {
          Collection<Long, Row> mine = connection.getCollection(name("one"));
          for (long i = 0; i < 300; i++) {
            mine.put(row(mine, number * 1000L + i, i, -i));
          }
        });
    assertEquals(300 * THREADS, count(store.getContainer(name("one"))));
  }

  @Test
  void containersAreMadeAtOnce() throws Exception {
    together(
        (number, connection) -> {
          for (int i = 0; i < 20; i++) {
            Collection<Long, Row> mine = connection.putCollection(name("made" + i), INFO, false);
            mine.put(row(mine, (long) number, 1L, 2L));
          }
        });
    for (int i = 0; i < 20; i++) {
      assertEquals(THREADS, count(store.getContainer(name("made" + i))));
    }
  }

  @Test
  void unkeyedRowsGetNumbersOfTheirOwn() throws Exception {
    collection("log", unkeyed(column("line", GSType.STRING)));
    together(
        (number, connection) -> {
          Collection<Void, Row> mine = connection.getCollection(name("log"));
          for (int i = 0; i < 200; i++) {
            mine.put(row(mine, "line"));
          }
        });
    assertEquals(200 * THREADS, count(store.getContainer(name("log"))));
  }

  @Test
  void aPutOfManyRowsIsSeenAsOne() throws Exception {
    Collection<Long, Row> mine = collection("whole", INFO);
    List<Row> first = new ArrayList<>();
    for (long id = 0; id < 50; id++) {
      first.add(row(mine, id, 0L, 0L));
    }
    mine.put(first);
    together(
        (number, connection) -> {
          Collection<Long, Row> theirs = connection.getCollection(name("whole"));
          for (long turn = 1; turn <= 60; turn++) {
            if (number % 2 == 0) {
              List<Row> rows = new ArrayList<>();
              for (long id = 0; id < 50; id++) {
                rows.add(row(theirs, id, turn, number * 1000 + turn));
              }
              theirs.put(rows);
            } else {
              RowSet<Row> rows = theirs.query("SELECT *").fetch();
              long b = rows.next().getLong(2);
              while (rows.hasNext()) {
                assertEquals(b, rows.next().getLong(2), "rows of two puts are mixed");
              }
            }
          }
        });
  }

  @Test
  void aMultiPutIntoOnePartitionIsSeenAsOne() throws Exception {
    for (int k = 0; k < 4; k++) {
      Collection<Long, Row> mine = collection("group" + k + "@group", INFO);
      mine.put(row(mine, 1L, 0L, 0L));
    }
    together(
        (number, connection) -> {
          for (long turn = 1; turn <= 60; turn++) {
            if (number % 2 == 0) {
              Map<String, List<Row>> rows = new HashMap<>();
              for (int k = 0; k < 4; k++) {
                rows.put(name("group" + k + "@group"), List.of(fill(connection.createRow(INFO), 1L, turn, number * 1000 + turn)));
              }
              connection.multiPut(rows);
            } else {
              List<Query<Row>> queries = new ArrayList<>();
              for (int k = 0; k < 4; k++) {
                queries.add(connection.getCollection(name("group" + k + "@group")).query("SELECT *"));
              }
              connection.fetchAll(queries);
              long b = queries.get(0).getRowSet().next().getLong(2);
              for (int k = 1; k < 4; k++) {
                assertEquals(b, queries.get(k).getRowSet().next().getLong(2), "rows of two puts are mixed");
              }
            }
          }
        });
  }

  @Test
  void columnsChangeWhileOthersWrite() throws Exception {
    ContainerInfo wider = keyed(column("id", GSType.LONG), column("a", GSType.LONG), column("b", GSType.LONG), column("c", GSType.STRING));
    collection("changing", INFO);
    together(
        (number, connection) -> {
          for (long i = 0; i < 60; i++) {
            if (number == 0) {
              connection.putCollection(name("changing"), i % 2 == 0 ? wider : INFO, true);
              continue;
            }
            Collection<Long, Row> theirs = connection.getCollection(name("changing"));
            try {
              theirs.put(row(theirs, number * 1000L + i, i, i));
            } catch (com.toshiba.mwcloud.gs.GSException refusal) {
              assertEquals(OTHER_SCHEMA, refusal.getErrorCode(), refusal.getMessage());
            }
          }
        });
    RowSet<Row> rows = store.<Long>getCollection(name("changing")).query("SELECT *").fetch();
    while (rows.hasNext()) {
      Row row = rows.next();
      assertEquals(row.getLong(1), row.getLong(2));
    }
  }
}
