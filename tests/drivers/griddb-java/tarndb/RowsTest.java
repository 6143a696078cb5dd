package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Rows of collections by key: put, got, removed, in the order of their keys. */
class RowsTest extends Suite {
  /** Row keys in ascending order. */
  static Stream<Arguments> keysInOrder() {
    return Stream.of(
        Arguments.of(GSType.INTEGER, List.of(Integer.MIN_VALUE, -256, -255, -1, 0, 1, 255, 256, Integer.MAX_VALUE)),
        Arguments.of(GSType.LONG, List.of(Long.MIN_VALUE, -1L << 32, -1L, 0L, 1L, 1L << 32, Long.MAX_VALUE)),
        Arguments.of(GSType.STRING, List.of("A", "AA", "B", "a", "a ", "ab", "b", "größe", "日本語")),
        Arguments.of(GSType.TIMESTAMP, List.of(at(0), at(1), at(1000), at(1L << 40), at(253_402_300_799_999L))));
  }

  @ParameterizedTest
  @MethodSource("keysInOrder")
  void rowsAreInTheOrderOfTheirKeys(GSType type, List<Object> keys) throws Exception {
    Collection<Object, Row> mine = collection("order" + type, keyed(column("id", type), column("v", GSType.LONG)));
    List<Object> shuffled = new ArrayList<>(keys);
    Collections.shuffle(shuffled, new Random(7));
    for (Object key : shuffled) {
      assertFalse(mine.put(row(mine, key, (long) keys.indexOf(key))));
    }
    assertEquals(keys, keys(mine, "SELECT *"));
    List<Object> reverse = new ArrayList<>(keys);
    Collections.reverse(reverse);
    assertEquals(reverse, keys(mine, "SELECT * ORDER BY id DESC"));
    for (Object key : keys) {
      assertEquals(keys.indexOf(key), mine.get(key).getLong(1), "key " + key);
    }
  }

  @ParameterizedTest
  @MethodSource("keysInOrder")
  void putGetRemove(GSType type, List<Object> keys) throws Exception {
    Collection<Object, Row> mine = collection("by" + type, keyed(column("id", type), column("v", GSType.LONG)));
    Object first = keys.get(0);
    Object second = keys.get(1);
    assertFalse(mine.put(row(mine, first, 1L)), "new");
    assertTrue(mine.put(row(mine, first, 2L)), "replaced");
    assertEquals(2, mine.get(first).getLong(1));
    assertNull(mine.get(second));
    assertFalse(mine.remove(second), "not there");
    assertTrue(mine.remove(first), "removed");
    assertFalse(mine.remove(first), "removed before");
    assertNull(mine.get(first));
    assertFalse(mine.put(row(mine, first, 3L)), "new again");
    assertEquals(1, count(mine));
  }

  @Test
  void aKeyBesideTheRowWins() throws Exception {
    Collection<Integer, Row> mine = collection("beside", keyed(column("id", GSType.INTEGER), column("v", GSType.LONG)));
    mine.put(9, row(mine, 1, 5L));
    assertNull(mine.get(1));
    assertEquals(5, mine.get(9).getLong(1));
  }

  @Test
  void aPutReplacesTheWholeRow() throws Exception {
    Collection<Integer, Row> mine = collection("whole", keyed(column("id", GSType.INTEGER), column("a", GSType.STRING), column("b", GSType.STRING)));
    mine.put(row(mine, 1, "a", "b"));
    mine.put(row(mine, 1, "c", null));
    assertEquals("c", mine.get(1).getString(1));
    assertTrue(mine.get(1).isNull(2));
  }

  @Test
  void theLastOfTwoRowsOfOneKeyStays() throws Exception {
    Collection<Integer, Row> mine = collection("last", keyed(column("id", GSType.INTEGER), column("v", GSType.LONG)));
    mine.put(List.of(row(mine, 1, 1L), row(mine, 2, 2L), row(mine, 1, 3L)));
    assertEquals(3, mine.get(1).getLong(1));
    assertEquals(2, count(mine));
  }

  @Test
  void manyRowsInOnePut() throws Exception {
    Collection<Integer, Row> mine = collection("many", keyed(column("id", GSType.INTEGER), column("v", GSType.STRING)));
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      rows.add(row(mine, i, "v" + i));
    }
    mine.put(rows);
    assertEquals(10_000, count(mine));
    assertEquals("v9999", mine.get(9999).getString(1));
    assertEquals(List.of(5000, 5001), keys(mine, "SELECT * LIMIT 2 OFFSET 5000"));
  }

  @Test
  void anEmptyPutDoesNothing() throws Exception {
    Collection<Integer, Row> mine = collection("empty", keyed(column("id", GSType.INTEGER), column("v", GSType.STRING)));
    mine.put(List.of());
    assertEquals(0, count(mine));
  }

  @Test
  void onlyAKeyIsARow() throws Exception {
    Collection<String, Row> mine = collection("onlyKey", keyed(column("id", GSType.STRING)));
    assertFalse(mine.put(row(mine, "x")));
    assertTrue(mine.put(row(mine, "x")));
    assertEquals("x", mine.get("x").getString(0));
    assertEquals(List.of("x"), keys(mine, "SELECT *"));
  }

  @Test
  void theEmptyTextIsAKey() throws Exception {
    Collection<String, Row> mine = collection("emptyKey", keyed(column("id", GSType.STRING), column("v", GSType.LONG)));
    mine.put(row(mine, "", 1L));
    mine.put(row(mine, " ", 2L));
    assertEquals(1, mine.get("").getLong(1));
    assertTrue(mine.remove(""));
    assertEquals(List.of(" "), keys(mine, "SELECT *"));
  }

  @Test
  void withoutARowKeyNothingIsReplaced() throws Exception {
    Collection<Void, Row> mine = collection("unkeyed", unkeyed(column("v", GSType.STRING), column("n", GSType.LONG)));
    for (long i = 0; i < 5; i++) {
      assertFalse(mine.put(row(mine, "same", i)));
    }
    mine.put(List.of(row(mine, "same", 5L), row(mine, "same", 6L)));
    assertEquals(7, count(mine));
    assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L), values(mine.query("SELECT *"), 1));
    assertFalse(store.getContainerInfo(name("unkeyed")).isRowKeyAssigned());
    assertThrows(GSException.class, () -> mine.get(null));
  }

  @Test
  void severalColumnsMakeAKey() throws Exception {
    ContainerInfo info = composite(3, column("a", GSType.STRING), column("b", GSType.INTEGER), column("c", GSType.TIMESTAMP), column("v", GSType.LONG));
    Collection<Row.Key, Row> mine = collection("composite", info);
    long value = 0;
    for (String a : List.of("b", "a", "", "aa")) {
      for (int b : List.of(2, -1, 0)) {
        assertFalse(mine.put(row(mine, a, b, at(5), value++)));
      }
    }
    assertEquals(List.of(0, 1, 2), store.getContainerInfo(name("composite")).getRowKeyColumnList());
    assertEquals(List.of("", "", "", "a", "a", "a", "aa", "aa", "aa", "b", "b", "b"), keys(mine, "SELECT *"));
    assertEquals(List.of(-1, 0, 2), values(mine.query("SELECT * WHERE a = 'aa'"), 1));
    Row row = row(mine, "aa", 0, at(5), 100L);
    assertEquals(11, mine.get(row.createKey()).getLong(3));
    assertTrue(mine.put(row));
    assertEquals(100, mine.get(row.createKey()).getLong(3));
    assertNull(mine.get(row(mine, "aa", 0, at(6), 0L).createKey()));
    assertTrue(mine.remove(row.createKey()));
    assertFalse(mine.remove(row.createKey()));
    assertEquals(11, count(mine));
  }

  @Test
  void keysOfOneTextDoNotMeet() throws Exception {
    Collection<Row.Key, Row> mine = collection("texts", composite(2, column("a", GSType.STRING), column("b", GSType.STRING), column("v", GSType.LONG)));
    List<List<String>> pairs = List.of(List.of("ab", "c"), List.of("a", "bc"), List.of("abc", ""), List.of("", "abc"), List.of("a", "b"), List.of("a\u0001", "b"));
    long value = 0;
    for (List<String> pair : pairs) {
      assertFalse(mine.put(row(mine, pair.get(0), pair.get(1), value++)));
    }
    value = 0;
    for (List<String> pair : pairs) {
      assertEquals(value++, mine.get(row(mine, pair.get(0), pair.get(1), 0L).createKey()).getLong(2));
    }
  }

  @Test
  void rowsAreLikeAModel() throws Exception {
    Collection<Integer, Row> mine = collection("model", keyed(column("id", GSType.INTEGER), column("v", GSType.LONG)));
    java.util.TreeMap<Integer, Long> model = new java.util.TreeMap<>();
    Random random = new Random(11);
    for (long i = 0; i < 2000; i++) {
      int key = random.nextInt(100);
      if (random.nextInt(3) == 0) {
        assertEquals(model.remove(key) != null, mine.remove(key));
      } else {
        assertEquals(model.put(key, i) != null, mine.put(row(mine, key, i)));
      }
    }
    assertEquals(new ArrayList<>(model.keySet()), keys(mine, "SELECT *"));
    assertEquals(new ArrayList<>(model.values()), values(mine.query("SELECT *"), 1));
  }

  @Test
  void aRowSetKnowsItsSize() throws Exception {
    Collection<Integer, Row> mine = collection("size", keyed(column("id", GSType.INTEGER)));
    assertFalse(mine.query("SELECT *").fetch().hasNext());
    mine.put(List.of(row(mine, 1), row(mine, 2)));
    RowSet<Row> rows = mine.query("SELECT *").fetch();
    assertEquals(2, rows.size());
    assertEquals(1, rows.getSchema().getColumnCount());
    rows.next();
    rows.next();
    assertThrows(GSException.class, rows::next);
  }
}
