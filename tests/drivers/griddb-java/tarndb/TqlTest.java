package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.toshiba.mwcloud.gs.AggregationResult;
import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.FetchOption;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Queries over one small collection, each with the keys that it finds:
 *
 * <pre>
 * id  name   size  temperature  flag   numbers     at
 * 1   Ada    10    1.5          true               1970-01-01T00:00:00.000Z
 * 2   bob    -3    2.5          false  10          2024-01-31T12:30:15.250Z
 * 3   10%          -3.89        true   10 20       2024-02-29T00:00:00.000Z
 * 4          10    NaN          false  10 20 30    2024-12-31T23:59:59.999Z
 * 5   größe  7     -0.23        true               2030-06-01T00:00:00.000Z
 * </pre>
 */
class TqlTest extends Suite {
  private Collection<Integer, Row> people;

  @BeforeAll
  void fill() throws Exception {
    people =
        collection(
            "people",
            keyed(
                column("Id", GSType.INTEGER),
                column("name", GSType.STRING),
                column("size", GSType.LONG),
                column("temperature", GSType.DOUBLE),
                column("flag", GSType.BOOL),
                column("numbers", GSType.INTEGER_ARRAY),
                column("at", GSType.TIMESTAMP)));
    people.put(
        List.of(
            row(people, 1, "Ada", 10L, 1.5, true, new int[0], at(0)),
            row(people, 2, "bob", -3L, 2.5, false, new int[] {10}, at(1_706_704_215_250L)),
            row(people, 3, "10%", null, -3.89, true, new int[] {10, 20}, at(1_709_164_800_000L)),
            row(people, 4, null, 10L, Double.NaN, false, new int[] {10, 20, 30}, at(1_735_689_599_999L)),
            row(people, 5, "größe", 7L, -0.23, true, new int[0], at(1_906_502_400_000L))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          SELECT *                                                     | 1 2 3 4 5
          select * from TqlTest_people;                                | 1 2 3 4 5
          SELECT * FROM "TQLTEST_PEOPLE" WHERE ID = 2                  | 2
          SELECT * WHERE id > 1 AND 4 >= id                            | 2 3 4
          SELECT * WHERE id > 3 AND id < 2                             | ``
          SELECT * WHERE id <> 3 AND id != 5                           | 1 2 4
          SELECT * WHERE id > 3000000000                               | ``
          SELECT * WHERE id < 3000000000 LIMIT 2 OFFSET 1              | 2 3
          SELECT * WHERE id = 1 OR id = 5                              | 1 5
          SELECT * WHERE id = 1 OR id = 2 AND flag                     | 1
          SELECT * WHERE (id = 1 OR id = 2) AND flag                   | 1
          SELECT * WHERE id >= 4.5                                     | 5
          SELECT * WHERE flag                                          | 1 3 5
          SELECT * WHERE NOT flag                                      | 2 4
          SELECT * WHERE NOT flag XOR id = 1                           | 1 2 4
          SELECT * WHERE flag = FALSE                                  | 2 4
          SELECT * WHERE size IS NULL                                  | 3
          SELECT * WHERE size IS NOT NULL AND NOT size = 10            | 2 5
          SELECT * WHERE size = NULL                                   | ``
          SELECT * WHERE name = 'Ada'                                  | 1
          SELECT * WHERE name = 'ada'                                  | ``
          SELECT * WHERE name <> 'Ada'                                 | 2 3 5
          SELECT * WHERE name LIKE '_da'                               | 1
          SELECT * WHERE name LIKE '%b%'                               | 2
          SELECT * WHERE name NOT LIKE '%b%'                           | 1 3 5
          SELECT * WHERE name LIKE 'gr__e'                             | 5
          SELECT * WHERE name LIKE '10$%' ESCAPE '$'                   | 3
          SELECT * WHERE name LIKE '%'                                 | 1 2 3 5
          SELECT * WHERE CHAR_LENGTH(name) = 5                         | 5
          SELECT * WHERE UPPER(name) = 'BOB' AND LOWER('X') = 'x'      | 2
          SELECT * WHERE SUBSTRING(name, 2) = 'da'                     | 1
          SELECT * WHERE SUBSTRING(name, 1, 2) = 'bo'                  | 2
          SELECT * WHERE CONCAT(name, '!') = 'bob!'                    | 2
          SELECT * WHERE 'it''s' = 'it''s' AND id = 1                  | 1
          SELECT * WHERE -size + 2 * 3 % 4 = 5 - 0                     | 2
          SELECT * WHERE (id + 1) / 2 = 3                              | 5
          SELECT * WHERE temperature > 2 AND temperature < 3           | 2
          SELECT * WHERE temperature + size = 11.5                     | 1
          SELECT * WHERE ROUND(temperature) = 3                        | 2
          SELECT * WHERE FLOOR(temperature) = -4                       | 3
          SELECT * WHERE CEILING(temperature) = 0                      | 5
          SELECT * WHERE ARRAY_LENGTH(numbers) = 0                     | 1 5
          SELECT * WHERE ARRAY_LENGTH(numbers) >= 2 AND ELEMENT(1, numbers) = 20 | 3 4
          SELECT * WHERE at < TIMESTAMP('2024-01-31T12:30:15.250Z')    | 1
          SELECT * WHERE at = TIMESTAMP('2024-01-31T12:30:15.250Z')    | 2
          SELECT * WHERE at = TIMESTAMP('2024-02-29T01:00:00.000+01:00') | 3
          SELECT * WHERE at < NOW()                                    | 1 2 3 4
          SELECT * WHERE TO_EPOCH_MS(at) = 1735689599999               | 4
          SELECT * WHERE at = TO_TIMESTAMP_MS(0)                       | 1
          SELECT * WHERE TIMESTAMPADD(MONTH, at, 1) = TIMESTAMP('2024-03-29T00:00:00.000Z') | 3
          SELECT * WHERE id = 3 AND TIMESTAMP_ADD(DAY, at, -1) = TIMESTAMP('2024-02-28T00:00:00.000Z') | 3
          SELECT * WHERE TIMESTAMPDIFF(YEAR, at, TIMESTAMP('1970-01-01T00:00:00.000Z')) = 60 | 5
          SELECT * WHERE TIMESTAMPDIFF(HOUR, at, TIMESTAMP('2024-02-28T00:00:00.000Z')) = 24 | 3
          SELECT * ORDER BY id DESC LIMIT 2                            | 5 4
          SELECT * ORDER BY size, id DESC LIMIT 4 OFFSET 0             | 2 5 4 1
          SELECT * WHERE size IS NOT NULL ORDER BY size DESC, id LIMIT 2 OFFSET 1 | 4 5
          SELECT * WHERE name IS NOT NULL ORDER BY name                | 3 1 2 5
          SELECT * WHERE flag ORDER BY temperature                     | 3 5 1
          SELECT * ORDER BY at DESC                                    | 5 4 3 2 1
          SELECT * LIMIT 0                                             | ``
          SELECT * LIMIT 2 OFFSET 4                                    | 5
          SELECT * LIMIT 2 OFFSET 5                                    | ``
          SELECT MAX_ROWS(size)                                        | 1 4
          SELECT MIN_ROWS(size) WHERE id <> 2                          | 5
          """)
  void findsRows(String tql, String keys) throws Exception {
    List<Object> expected = new ArrayList<>();
    for (String key : keys.split(" ")) {
      if (!key.isEmpty()) {
        expected.add(Integer.valueOf(key));
      }
    }
    assertEquals(expected, keys(people, tql));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          SELECT COUNT(*)                                | 5
          SELECT count(*) WHERE id > 100                 | 0
          SELECT COUNT(*) FROM TqlTest_people WHERE flag | 3
          SELECT MAX(size)                               | 10
          SELECT MIN(size)                               | -3
          SELECT MAX(id) WHERE NOT flag                  | 4
          SELECT MIN(temperature)                        | -3.89
          SELECT SUM(size)                               | 24
          SELECT SUM(id)                                 | 15
          SELECT AVG(size)                               | 6
          SELECT SUM(temperature) WHERE id < 3           | 4
          SELECT VARIANCE(id)                            | 2
          SELECT STDDEV(id) WHERE id < 3                 | 0.5
          """)
  void aggregates(String tql, double expected) throws Exception {
    AggregationResult found = aggregate(people, tql);
    assertEquals(expected, found.getDouble(), 1e-9);
  }

  @Test
  void integersAggregateToIntegers() throws Exception {
    assertEquals(24L, aggregate(people, "SELECT SUM(size)").getLong());
    assertEquals(5L, aggregate(people, "SELECT COUNT(*)").getLong());
    assertEquals(10L, aggregate(people, "SELECT MAX(size)").getLong());
  }

  @Test
  void timesAggregateToTimes() throws Exception {
    assertEquals(at(0), aggregate(people, "SELECT MIN(at)").getTimestamp());
    assertEquals(at(1_906_502_400_000L), aggregate(people, "SELECT MAX(at)").getTimestamp());
    assertNull(aggregate(people, "SELECT MAX(at)").getLong());
  }

  @ParameterizedTest
  @ValueSource(strings = {"SELECT MAX(size) WHERE id > 100", "SELECT SUM(size) WHERE id = 3", "SELECT AVG(size) WHERE id = 3", "SELECT VARIANCE(size) WHERE id = 3"})
  void nothingAggregatesToNothing(String tql) throws Exception {
    assertNull(aggregate(people, tql));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          selekt                                            | 151001
          DELETE *                                          | 151001
          SELECT * WHERE                                    | 151001
          SELECT * LIMIT -1                                 | 151001
          SELECT * WHERE name = 'x                          | 151001
          SELECT * WHERE (id = 1                            | 151001
          SELECT * FROM other                               | 150010
          SELECT * WHERE nothing = 1                        | 150012
          SELECT * ORDER BY nothing                         | 150012
          SELECT SUM(nothing)                               | 150012
          SELECT * WHERE F(1) = 1                           | 150014
          SELECT * WHERE id / 0 = 1                         | 150016
          SELECT * WHERE id = 'a'                           | 150018
          SELECT * WHERE flag < TRUE                        | 150018
          SELECT * WHERE id                                 | 150018
          SELECT * WHERE ELEMENT(1, numbers) = 1            | 152009
          SELECT * WHERE TIMESTAMP('yesterday') = NOW()     | 152012
          SELECT * WHERE UPPER() = 'X'                      | 152011
          SELECT * WHERE UPPER(id) = 'X'                    | 152010
          SELECT SUM(name)                                  | 150020
          SELECT COUNT(*) ORDER BY id                       | 151005
          SELECT TIME_AVG(size)                             | 152003
          SELECT TIME_NEXT(*, NOW())                        | 152003
          EXPLAIN ANALYZE                                   | 151001
          """)
  void isRefused(String tql, int code) throws Exception {
    assertRefused(code, () -> people.query(tql).fetch());
    assertEquals(List.of(1), keys(people, "SELECT * WHERE id = 1"), "the connection goes on");
  }

  @Test
  void aLimitOfTheFetchBoundsRows() throws Exception {
    Query<Row> query = people.query("SELECT * ORDER BY id DESC");
    query.setFetchOption(FetchOption.LIMIT, 2);
    assertEquals(List.of(5, 4), values(query, 0));
    Query<Row> smaller = people.query("SELECT * LIMIT 1");
    smaller.setFetchOption(FetchOption.LIMIT, 3);
    assertEquals(List.of(1), values(smaller, 0));
  }

  @Test
  void barsConcatenate() throws Exception {
    assertEquals(List.of(2), keys(people, "SELECT * WHERE name || 'x' = 'bobx'"));
  }

  @Test
  void aQueryIsFetchedAgain() throws Exception {
    Collection<Integer, Row> mine = collection("again", keyed(column("id", GSType.INTEGER)));
    Query<Row> query = mine.query("SELECT *");
    assertEquals(List.of(), values(query, 0));
    mine.put(row(mine, 1));
    assertEquals(List.of(1), values(query, 0));
  }

  @Test
  void anAverageIsLargerThanSumsCanBe() throws Exception {
    Collection<Integer, Row> mine = collection("large", keyed(column("id", GSType.INTEGER), column("v", GSType.LONG)));
    mine.put(List.of(row(mine, 1, Long.MAX_VALUE), row(mine, 2, Long.MAX_VALUE)));
    assertEquals((double) Long.MAX_VALUE, aggregate(mine, "SELECT AVG(v)").getDouble(), 1e10);
  }

  @Test
  void manyConditions() throws Exception {
    StringBuilder tql = new StringBuilder("SELECT * WHERE id = 0");
    for (int i = 1; i < 300; i++) {
      tql.append(" OR id = ").append(i);
    }
    assertEquals(List.of(1, 2, 3, 4, 5), keys(people, tql.toString()));
  }
}
