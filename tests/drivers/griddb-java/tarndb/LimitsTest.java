package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.FetchOption;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Large rows, keys, results and requests: they come back, or they are refused and the connection goes on. */
class LimitsTest extends Suite {
  private Collection<Integer, Row> numbers;

  @ParameterizedTest
  @ValueSource(ints = {1_000, 65_000, 300_000, 1_000_000})
  void largeTextsComeBack(int length) throws Exception {
    Collection<Integer, Row> mine = collection("text" + length, keyed(column("id", GSType.INTEGER), column("v", GSType.STRING)));
    String text = "0123456789".repeat(length / 10);
    mine.put(row(mine, 1, text));
    assertEquals(text, mine.get(1).getString(1));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE CHAR_LENGTH(v) = " + length));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 1_000, 59_000})
  void longKeysComeBack(int length) throws Exception {
    Collection<String, Row> mine = collection("key" + length, keyed(column("id", GSType.STRING), column("v", GSType.LONG)));
    String key = "k".repeat(length);
    mine.put(row(mine, key, 5L));
    assertEquals(5, mine.get(key).getLong(1));
    assertEquals(List.of(key), keys(mine, "SELECT *"));
    assertTrue(mine.remove(key));
  }

  @Test
  void aKeyThatIsTooLongIsRefused() throws Exception {
    Collection<String, Row> mine = collection("keyTooLong", keyed(column("id", GSType.STRING), column("v", GSType.LONG)));
    assertThrows(GSException.class, () -> mine.put(row(mine, "k".repeat(60_001), 5L)));
    assertEquals(0, count(mine));
  }

  @Test
  void aRowThatIsTooLargeIsRefused() throws Exception {
    Collection<Integer, Row> mine = collection("rowTooLarge", keyed(column("id", GSType.INTEGER), column("v", GSType.STRING)));
    assertThrows(GSException.class, () -> mine.put(row(mine, 1, "x".repeat(20_000_000))));
    mine.put(row(mine, 2, "small"));
    assertEquals(List.of(2), keys(mine, "SELECT *"));
  }

  @Test
  void aResultInPartsMayBeLarger() throws Exception {
    Collection<Integer, Row> mine = collection("parts", keyed(column("id", GSType.INTEGER), column("v", GSType.STRING)));
    String text = "x".repeat(500_000);
    for (int i = 0; i < 70; i++) {
      mine.put(row(mine, i, text));
    }
    Query<Row> query = mine.query("SELECT *");
    query.setFetchOption(FetchOption.PARTIAL_EXECUTION, true);
    RowSet<Row> found = query.fetch();
    for (int i = 0; i < 70; i++) {
      Row row = found.next();
      assertEquals(i, row.getInteger(0));
      assertEquals(text, row.getString(1));
    }
    assertFalse(found.hasNext());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          SELECT *                                           | 0     | 50000
          SELECT * WHERE id >= 1000 LIMIT 30000 OFFSET 500   | 1500  | 30000
          SELECT * WHERE v = 1                               | 49999 | 1
          SELECT * WHERE v = -1                              | 0     | 0
          SELECT * ORDER BY v LIMIT 5                        | 49995 | 5
          """)
  void aQueryInPartsFindsTheSameRows(String tql, int first, int count) throws Exception {
    if (numbers == null) {
      numbers = collection("numbers", keyed(column("id", GSType.INTEGER), column("v", GSType.LONG)));
      for (int start = 0; start < 50_000; start += 10_000) {
        List<Row> rows = new ArrayList<>();
        for (int i = start; i < start + 10_000; i++) {
          rows.add(row(numbers, i, 50_000L - i));
        }
        numbers.put(rows);
      }
    }
    Query<Row> query = numbers.query(tql);
    query.setFetchOption(FetchOption.PARTIAL_EXECUTION, true);
    RowSet<Row> rows = query.fetch();
    TreeSet<Integer> found = new TreeSet<>();
    while (rows.hasNext()) {
      found.add(rows.next().getInteger(0));
    }
    assertEquals(count, found.size());
    if (count > 0) {
      assertEquals(first, found.first());
      assertEquals(first + count - 1, found.last());
    }
  }

  @Test
  void manyRowsInOneResult() throws Exception {
    Collection<Integer, Row> mine = collection("rows", keyed(column("id", GSType.INTEGER), column("v", GSType.LONG)));
    for (int start = 0; start < 100_000; start += 10_000) {
      List<Row> rows = new ArrayList<>();
      for (int i = start; i < start + 10_000; i++) {
        rows.add(row(mine, i, i * 3L));
      }
      mine.put(rows);
    }
    RowSet<Row> found = mine.query("SELECT *").fetch();
    assertEquals(100_000, found.size());
    for (int i = 0; found.hasNext(); i++) {
      Row row = found.next();
      assertEquals(i, row.getInteger(0));
      assertEquals(i * 3L, row.getLong(1));
    }
    assertEquals(List.of(99_999, 99_998), keys(mine, "SELECT * ORDER BY v DESC LIMIT 2"));
    assertEquals(4_999_950_000L, aggregate(mine, "SELECT SUM(id)").getLong());
  }

  @Test
  void rowsOfManySizes() throws Exception {
    Collection<Integer, Row> mine = collection("sizes", keyed(column("id", GSType.INTEGER), column("v", GSType.STRING), column("n", GSType.INTEGER_ARRAY)));
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      rows.add(row(mine, i, "y".repeat(i), new int[i]));
    }
    mine.put(rows);
    for (int i = 0; i < 300; i++) {
      Row row = mine.get(i);
      assertEquals(i, row.getString(1).length());
      assertEquals(i, row.getIntegerArray(2).length);
    }
    assertEquals(10, mine.query("SELECT * WHERE CHAR_LENGTH(v) >= 290").fetch().size());
  }
}
