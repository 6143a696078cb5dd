package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Aggregation;
import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.ContainerType;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowKey;
import com.toshiba.mwcloud.gs.RowSet;
import com.toshiba.mwcloud.gs.TimeSeries;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** Transactions of several statements and row locks: two clients, one container. */
class TransactionsTest {
  private static final int LOCKED = 60_166;
  private static final int GONE = 110_005;

  static class Account {
    @RowKey String name;
    long amount;

    static Account of(String name, long amount) {
      Account account = new Account();
      account.name = name;
      account.amount = amount;
      return account;
    }
  }

  static class Measurement {
    @RowKey Date at;
    double value;
  }

  private String name;
  private GridStore one;
  private GridStore other;
  private Collection<String, Account> mine;
  private Collection<String, Account> theirs;

  @BeforeEach
  void connect(TestInfo test) throws GSException {
    name = "tx_" + test.getTestMethod().orElseThrow().getName();
    one = Server.connect();
    // A statement waits for a lock no longer than its transactions last.
    other = Server.connect("transactionTimeout", "2");
    one.dropContainer(name);
    mine = one.putCollection(name, Account.class);
    theirs = other.getCollection(name, Account.class);
    mine.put(List.of(Account.of("ada", 1), Account.of("bob", 2), Account.of("eve", 3)));
    mine.setAutoCommit(false);
  }

  @AfterEach
  void close() throws GSException {
    other.close();
    one.close();
  }

  private static void refused(int code, Callable<?> call) {
    GSException refusal = assertThrows(GSException.class, call::call);
    assertEquals(code, refusal.getErrorCode(), refusal.getMessage());
  }

  /** Does what has to end within the two seconds of one of their transactions; once more where this machine took as long as that. */
  private static void within(Callable<?> work) throws Exception {
    for (int attempt = 1; ; attempt++) {
      long start = System.nanoTime();
      try {
        work.call();
        return;
      } catch (GSException gone) {
        if (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(1_900) || attempt == 10) {
          throw gone;
        }
      }
    }
  }

  private static String amounts(Collection<String, Account> of) throws GSException {
    StringBuilder text = new StringBuilder();
    RowSet<Account> rows = of.query("select *").fetch();
    while (rows.hasNext()) {
      Account account = rows.next();
      text.append(account.name).append(account.amount).append(' ');
    }
    return text.toString().trim();
  }

  @Test
  void ownChangesAreSeenAtOnceAndByOthersAfterTheCommit() throws Exception {
    assertTrue(mine.put(Account.of("ada", 10)), "there is one");
    assertFalse(mine.put(Account.of("kim", 4)), "there is none");
    assertTrue(mine.remove("bob"));
    mine.put(List.of(Account.of("lea", 5), Account.of("mia", 6)));
    assertEquals(10, mine.get("ada").amount);
    assertNull(mine.get("bob"));
    assertEquals("ada10 eve3 kim4 lea5 mia6", amounts(mine));
    assertEquals(28, mine.query("select sum(amount)", com.toshiba.mwcloud.gs.AggregationResult.class).fetch().next().getLong());
    assertEquals("ada1 bob2 eve3", amounts(theirs), "nobody else sees any of it");
    assertEquals(1, theirs.get("ada").amount);
    mine.commit();
    assertEquals("ada10 eve3 kim4 lea5 mia6", amounts(theirs));
    assertEquals("ada10 eve3 kim4 lea5 mia6", amounts(mine));
    mine.commit();
    mine.put(Account.of("ada", 11));
    mine.setAutoCommit(true);
    assertEquals(11, theirs.get("ada").amount, "leaving the mode commits");
  }

  @Test
  void anAbortedTransactionLeavesNothing() throws Exception {
    mine.put(Account.of("ada", 10));
    mine.remove("bob");
    mine.abort();
    assertEquals("ada1 bob2 eve3", amounts(mine));
    assertTrue(theirs.put(Account.of("ada", 7)), "its locks are released");
    mine.put(Account.of("bob", 20));
    mine.commit();
    assertEquals("ada7 bob20 eve3", amounts(theirs), "the next one is another transaction");
  }

  @Test
  void aClosedContainerAborts() throws Exception {
    mine.put(Account.of("ada", 10));
    mine.close();
    assertTrue(theirs.put(Account.of("ada", 7)));
    Collection<String, Account> again = one.getCollection(name, Account.class);
    again.setAutoCommit(false);
    again.put(Account.of("bob", 20));
    one.close();
    assertTrue(theirs.put(Account.of("bob", 8)), "so does a closed connection");
    assertEquals("ada7 bob8 eve3", amounts(theirs));
  }

  @Test
  void aStatementWaitsForALockAndThenFails() throws Exception {
    assertEquals(1, mine.get("ada", true).amount);
    assertEquals(1, theirs.get("ada").amount, "who only reads does not wait");
    long start = System.nanoTime();
    refused(LOCKED, () -> theirs.put(Account.of("ada", 9)));
    long waitedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    assertTrue(waitedMs >= 1_900 && waitedMs < 60_000, "it waited for " + waitedMs + " ms");
    refused(LOCKED, () -> theirs.remove("ada"));
    assertTrue(theirs.put(Account.of("bob", 9)), "another row is free");
    theirs.setAutoCommit(false);
    refused(LOCKED, () -> theirs.get("ada", true));
    refused(LOCKED, () -> theirs.query("select * where amount = 1").fetch(true));
    mine.commit();
    within(
        () -> {
          assertNotNull(theirs.get("ada", true));
          theirs.commit();
          return null;
        });
  }

  @Test
  void aStatementGoesOnWhenTheLockIsReleased() throws Exception {
    mine.put(Account.of("ada", 10));
    ExecutorService threads = Executors.newSingleThreadExecutor();
    try (GridStore patient = Server.connect("transactionTimeout", "120")) {
      Collection<String, Account> waiting = patient.getCollection(name, Account.class);
      Future<Long> waited =
          threads.submit(
              () -> {
                waiting.setAutoCommit(false);
                long start = System.nanoTime();
                assertEquals(10, waiting.get("ada", true).amount, "it reads what was committed meanwhile");
                waiting.commit();
                return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
              });
      Thread.sleep(400);
      assertFalse(waited.isDone(), "it waits");
      mine.commit();
      assertTrue(waited.get(150, TimeUnit.SECONDS) < 100_000, "it does not wait longer than it must");
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void noUpdateIsLost() throws Exception {
    mine.setAutoCommit(true);
    int clients = 4;
    int rounds = 25;
    ExecutorService threads = Executors.newFixedThreadPool(clients);
    List<Future<?>> done = new ArrayList<>();
    for (int client = 0; client < clients; client++) {
      done.add(
          threads.submit(
              () -> {
                try (GridStore store = Server.connect()) {
                  Collection<String, Account> accounts = store.getCollection(name, Account.class);
                  accounts.setAutoCommit(false);
                  for (int round = 0; round < rounds; round++) {
                    Account account = accounts.get("ada", true);
                    account.amount++;
                    accounts.put(account);
                    accounts.commit();
                  }
                }
                return null;
              }));
    }
    for (Future<?> each : done) {
      each.get(180, TimeUnit.SECONDS);
    }
    threads.shutdown();
    assertEquals(1 + clients * rounds, mine.get("ada").amount);
  }

  @Test
  void rowsAreUpdatedAndRemovedWhileTheyAreRead() throws Exception {
    Query<Account> query = mine.query("select * where amount < 3 order by amount desc");
    RowSet<Account> rows = query.fetch(true);
    assertEquals(2, rows.size());
    while (rows.hasNext()) {
      Account account = rows.next();
      if (account.name.equals("ada")) {
        rows.remove();
      } else {
        account.amount *= 10;
        rows.update(account);
      }
    }
    assertEquals("bob20 eve3", amounts(mine));
    assertEquals("ada1 bob2 eve3", amounts(theirs));
    refused(LOCKED, () -> theirs.put(Account.of("ada", 9)));
    assertTrue(theirs.put(Account.of("eve", 30)), "a row that was not selected is free");
    mine.commit();
    assertEquals("bob20 eve30", amounts(theirs));
    RowSet<Account> locked = mine.query("select *").fetch(true);
    Account first = locked.next();
    mine.commit();
    assertThrows(GSException.class, () -> locked.update(first), "the transaction of the rows is over");
  }

  @Test
  void rowsWithoutAKeyAreUpdatedByNumber() throws Exception {
    String log = name + "_log";
    one.dropContainer(log);
    ContainerInfo info = new ContainerInfo(log, ContainerType.COLLECTION, List.of(new ColumnInfo("text", GSType.STRING)), false);
    Collection<Void, Row> mineToo = one.putCollection(log, info, false);
    mineToo.setAutoCommit(false);
    for (String text : List.of("a", "b", "c")) {
      Row row = mineToo.createRow();
      row.setString(0, text);
      mineToo.put(row);
    }
    Collection<Void, Row> theirsToo = other.getCollection(log);
    Row row = theirsToo.createRow();
    row.setString(0, "d");
    theirsToo.put(row);
    assertEquals(1, theirsToo.query("select *").fetch().size());
    mineToo.commit();
    RowSet<Row> rows = mineToo.query("select * where text < 'c'").fetch(true);
    Row first = rows.next();
    first.setString(0, "first");
    rows.update(first);
    rows.next();
    rows.remove();
    mineToo.commit();
    RowSet<Row> left = theirsToo.query("select * order by text").fetch();
    List<String> texts = new ArrayList<>();
    while (left.hasNext()) {
      texts.add(left.next().getString(0));
    }
    assertEquals(List.of("c", "d", "first"), texts);
  }

  @Test
  void timeSeriesHaveTransactions() throws Exception {
    String series = name + "_series";
    one.dropContainer(series);
    TimeSeries<Measurement> mineToo = one.putTimeSeries(series, Measurement.class);
    mineToo.setAutoCommit(false);
    for (int i = 0; i < 10; i++) {
      Measurement measurement = new Measurement();
      measurement.at = new Date(1_000L * i);
      measurement.value = i;
      mineToo.put(measurement);
    }
    Measurement now = new Measurement();
    now.value = 10;
    mineToo.append(now);
    TimeSeries<Measurement> theirsToo = other.getTimeSeries(series, Measurement.class);
    assertEquals(11, mineToo.query("select *").fetch().size());
    assertEquals(6, mineToo.query(new Date(0), new Date(5_000)).fetch().size());
    assertEquals(15, mineToo.aggregate(new Date(0), new Date(5_000), "value", Aggregation.TOTAL).getLong());
    assertEquals(4.5, mineToo.interpolate(new Date(4_500), "value").value);
    assertEquals(0, theirsToo.query("select *").fetch().size());
    mineToo.commit();
    assertEquals(11, theirsToo.query("select *").fetch().size());
    RowSet<Measurement> rows = mineToo.query("select * where value >= 5 and value < 10").fetch(true);
    while (rows.hasNext()) {
      rows.next();
      rows.remove();
    }
    assertEquals(11, theirsToo.query("select *").fetch().size());
    mineToo.commit();
    assertEquals(6, theirsToo.query("select *").fetch().size());
  }

  @Test
  void aTransactionThatIsOpenForTooLongIsAborted() throws Exception {
    mine.setAutoCommit(true);
    theirs.setAutoCommit(false);
    theirs.put(Account.of("ada", 10));
    Thread.sleep(2_300);
    refused(GONE, () -> theirs.put(Account.of("bob", 20)));
    assertTrue(mine.put(Account.of("ada", 5)), "the lock is free");
    assertEquals("ada5 bob2 eve3", amounts(mine));
    theirs.put(Account.of("eve", 30));
    Thread.sleep(2_300);
    assertThrows(
        GSException.class,
        () -> {
          theirs.commit();
          return;
        });
    assertEquals("ada5 bob2 eve3", amounts(mine), "nothing of it was done");
    within(
        () -> {
          theirs.put(Account.of("eve", 31));
          theirs.commit();
          return null;
        });
    assertEquals(31, mine.get("eve").amount);
  }

  /** A client that begins a transaction and is gone. */
  static final class Gone {
    public static void main(String[] arguments) throws Exception {
      Collection<String, Account> accounts = Server.connect().getCollection(arguments[0], Account.class);
      accounts.setAutoCommit(false);
      accounts.put(Account.of("ada", 666));
      Runtime.getRuntime().halt(7);
    }
  }

  @Test
  void aLostConnectionAborts() throws Exception {
    String java = System.getProperty("java.home") + "/bin/java";
    Process client = new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), Gone.class.getName(), name).inheritIO().start();
    assertEquals(7, client.waitFor());
    // The server has to notice first.
    Server.until("the lock is free", () -> isFree("ada"));
    assertEquals("ada9 bob2 eve3", amounts(mine));
  }

  private boolean isFree(String account) {
    try {
      return theirs.put(Account.of(account, 9));
    } catch (GSException locked) {
      return false;
    }
  }

  @Test
  void severalContainersAreReadInTheirTransactions() throws Exception {
    mine.put(Account.of("kim", 4));
    Collection<String, Account> second = one.putCollection(name + "_second", Account.class);
    second.put(Account.of("zoe", 9));
    List<Query<?>> queries = List.of(mine.query("select *"), second.query("select *"));
    one.fetchAll(queries);
    assertEquals(4, queries.get(0).getRowSet().size(), "with its own change");
    mine.abort();
    assertEquals("ada1 bob2 eve3", amounts(mine));
  }

  @Test
  void whatIsCommittedOutlivesAKilledServerAndNothingElseIsSeen() throws Exception {
    mine.put(Account.of("ada", 10));
    mine.put(Account.of("bob", 20));
    mine.commit();
    mine.put(Account.of("ada", 100));
    mine.put(Account.of("bob", 200));
    Server.restart("kill");
    try (GridStore after = Server.connect()) {
      Collection<String, Account> again = after.getCollection(name, Account.class);
      assertEquals("ada10 bob20 eve3", amounts(again));
      mine.commit();
      assertEquals("ada100 bob200 eve3", amounts(again), "the client has connected again, and its transaction was still there");
    }
  }
}
