package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.Container;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.ContainerType;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.PartitionController;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowKey;
import com.toshiba.mwcloud.gs.TimeSeries;
import com.toshiba.mwcloud.gs.TimeSeriesProperties;
import com.toshiba.mwcloud.gs.TimeUnit;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Containers: made, found, listed, changed, dropped. */
class ContainersTest extends Suite {
  private static final ContainerInfo PLAIN = keyed(column("id", GSType.LONG), column("text", GSType.STRING));
  private static final ContainerInfo WIDER =
      keyed(column("id", GSType.LONG), column("text", GSType.STRING), column("number", GSType.INTEGER), required("size", GSType.DOUBLE));

  /** A row class: columns by name and type of its fields. */
  static class Person {
    @RowKey String name;
    int age;
    double size;
    Date born;
    int[] numbers;
  }

  /** A row class of a time series. */
  static class Reading {
    @RowKey Date at;
    double value;
  }

  @Test
  void whatIsDeclaredComesBack() throws Exception {
    collection("declared", WIDER);
    ContainerInfo info = store.getContainerInfo(name("declared"));
    assertEquals(name("declared"), info.getName());
    assertEquals(ContainerType.COLLECTION, info.getType());
    assertTrue(info.isRowKeyAssigned());
    assertEquals(List.of(0), info.getRowKeyColumnList());
    List<String> names = new ArrayList<>();
    List<GSType> types = new ArrayList<>();
    List<Boolean> nullable = new ArrayList<>();
    for (int i = 0; i < info.getColumnCount(); i++) {
      ColumnInfo column = info.getColumnInfo(i);
      names.add(column.getName());
      types.add(column.getType());
      nullable.add(column.getNullable());
    }
    assertEquals(List.of("id", "text", "number", "size"), names);
    assertEquals(List.of(GSType.LONG, GSType.STRING, GSType.INTEGER, GSType.DOUBLE), types);
    assertEquals(List.of(false, true, true, false), nullable);
  }

  @Test
  void aTimeSeriesSaysSo() throws Exception {
    timeSeries("kind", series(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE)));
    assertEquals(ContainerType.TIME_SERIES, store.getContainerInfo(name("kind")).getType());
    assertEquals(ContainerType.TIME_SERIES, store.getContainer(name("kind")).getType());
    assertNotNull(store.getTimeSeries(name("kind")));
  }

  @Test
  void rowClassesDeclareContainers() throws Exception {
    store.dropCollection(name("person"));
    Collection<String, Person> people = store.putCollection(name("person"), Person.class);
    Person ada = new Person();
    ada.name = "Ada";
    ada.age = 36;
    ada.size = 1.7;
    ada.born = at(-1);
    ada.born = at(1_234_567_890_123L);
    ada.numbers = new int[] {5, -6};
    assertFalse(people.put(ada));
    assertTrue(people.put(ada));
    Person found = people.get("Ada");
    assertEquals(36, found.age);
    assertEquals(1.7, found.size);
    assertEquals(ada.born, found.born);
    assertEquals(-6, found.numbers[1]);
    assertNull(people.get("Bob"));
  }

  @Test
  void rowClassesDeclareTimeSeries() throws Exception {
    store.dropTimeSeries(name("reading"));
    TimeSeries<Reading> readings = store.putTimeSeries(name("reading"), Reading.class);
    Reading reading = new Reading();
    reading.at = at(5);
    reading.value = 1.5;
    readings.put(reading);
    assertEquals(1.5, readings.get(at(5)).value);
    assertThrows(GSException.class, () -> store.getCollection(name("reading"), Reading.class));
  }

  @Test
  void putAgainLeavesRowsAlone() throws Exception {
    Collection<Long, Row> first = collection("again", PLAIN);
    first.put(row(first, 1L, "one"));
    Collection<Long, Row> second = store.putCollection(name("again"), PLAIN, false);
    assertEquals("one", second.get(1L).getString(1));
    Collection<Long, Row> third = store.putCollection(name("again"), PLAIN, true);
    assertEquals("one", third.get(1L).getString(1));
  }

  @Test
  void whatIsNotThereIsNull() throws Exception {
    assertNull(store.getContainerInfo(name("nothing")));
    assertNull(store.getContainer(name("nothing")));
    assertNull(store.getCollection(name("nothing")));
    assertNull(store.getTimeSeries(name("nothing")));
  }

  @Test
  void capitalsMakeNoOtherContainer() throws Exception {
    Collection<Long, Row> first = collection("Capitals", PLAIN);
    first.put(row(first, 1L, "one"));
    Collection<Long, Row> found = store.getCollection(name("cAPITALS"));
    assertEquals("one", found.get(1L).getString(1));
    assertEquals(name("Capitals"), store.getContainerInfo(name("capitals")).getName());
  }

  @Test
  void capitalsMakeNoOtherColumn() throws Exception {
    Collection<Long, Row> mine = collection("columnCapitals", keyed(column("Id", GSType.LONG), column("Text", GSType.STRING)));
    mine.put(row(mine, 1L, "x"));
    assertEquals(List.of(1L), keys(mine, "SELECT * WHERE TEXT = 'x' AND id = 1"));
    assertEquals("Text", store.getContainerInfo(name("columnCapitals")).getColumnInfo(1).getName());
  }

  @Test
  void affinityIsPartOfTheName() throws Exception {
    Collection<Long, Row> a = collection("affine@1", PLAIN);
    Collection<Long, Row> b = collection("affine@Two", PLAIN);
    a.put(row(a, 1L, "a"));
    assertEquals(0, count(b));
    assertEquals(name("affine@Two"), store.getContainerInfo(name("affine@two")).getName());
    PartitionController partitions = store.getPartitionController();
    assertEquals(partitions.getPartitionIndexOfContainer("other@1"), partitions.getPartitionIndexOfContainer(name("affine@1")));
  }

  @Test
  void namesOfColumnsHaveOtherLetters() throws Exception {
    Collection<Integer, Row> mine = collection("a.b-c/d=e", keyed(column("größe", GSType.INTEGER), column("_x", GSType.STRING)));
    mine.put(row(mine, 3, "y"));
    assertEquals("y", mine.get(3).getString(1));
    assertEquals("größe", store.getContainerInfo(name("a.b-c/d=e")).getColumnInfo(0).getName());
    assertEquals(List.of(3), keys(mine, "SELECT * WHERE _x = 'y'"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "1@", "a@b@c", "a.b.c%"})
  void namesThatCannotBe(String wrong) {
    assertThrows(GSException.class, () -> store.putContainer(wrong, PLAIN, false));
  }

  @Test
  void anotherKindIsRefused() throws Exception {
    collection("kinds", PLAIN);
    ContainerInfo other = series(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE));
    assertRefused(OTHER_KIND, () -> store.putTimeSeries(name("kinds"), other, true));
    assertRefused(CLIENT_SCHEMA, () -> store.getTimeSeries(name("kinds")));
    assertRefused(OTHER_KIND, () -> store.dropTimeSeries(name("kinds")));
    assertNotNull(store.getCollection(name("kinds")));
  }

  @Test
  void columnsChangeOnlyWithLeave() throws Exception {
    collection("leave", PLAIN);
    assertRefused(CANNOT_CHANGE, () -> store.putContainer(name("leave"), WIDER, false));
  }

  @Test
  void columnsCome() throws Exception {
    Collection<Long, Row> before = collection("wider", PLAIN);
    before.put(row(before, 1L, "one"));
    Collection<Long, Row> after = store.putCollection(name("wider"), WIDER, true);
    Row old = after.get(1L);
    assertEquals("one", old.getString(1));
    assertTrue(old.isNull(2));
    assertFalse(old.isNull(3));
    assertEquals(0.0, old.getDouble(3));
    after.put(row(after, 2L, "two", 2, 2.5));
    assertEquals(List.of(1L, 2L), keys(after, "SELECT * ORDER BY size"));
    assertEquals(List.of(1L), keys(after, "SELECT * WHERE size = 0"));
    assertEquals(List.of(1L), keys(after, "SELECT * WHERE number IS NULL"));
  }

  @Test
  void columnsGoAndDoNotComeBackWithValues() throws Exception {
    Collection<Long, Row> before = collection("narrower", WIDER);
    before.put(row(before, 1L, "one", 11, 1.5));
    Collection<Long, Row> narrow = store.putCollection(name("narrower"), PLAIN, true);
    assertEquals(2, narrow.get(1L).getSchema().getColumnCount());
    Collection<Long, Row> after = store.putCollection(name("narrower"), WIDER, true);
    Row row = after.get(1L);
    assertEquals("one", row.getString(1));
    assertTrue(row.isNull(2));
    assertEquals(0.0, row.getDouble(3));
  }

  @Test
  void columnsChangePlaces() throws Exception {
    Collection<Long, Row> before = collection("places", keyed(column("id", GSType.LONG), column("a", GSType.STRING), column("b", GSType.INTEGER)));
    before.put(row(before, 1L, "one", 11));
    ContainerInfo other = keyed(column("id", GSType.LONG), column("b", GSType.INTEGER), column("a", GSType.STRING));
    Collection<Long, Row> after = store.putCollection(name("places"), other, true);
    assertEquals("b", store.getContainerInfo(name("places")).getColumnInfo(1).getName());
    assertEquals(11, after.get(1L).getInteger(1));
    assertEquals("one", after.get(1L).getString(2));
  }

  @Test
  void typesAndKeysDoNotChange() throws Exception {
    collection("types", PLAIN);
    ContainerInfo type = keyed(column("id", GSType.LONG), column("text", GSType.INTEGER));
    assertRefused(CANNOT_CHANGE, () -> store.putContainer(name("types"), type, true));
    ContainerInfo key = keyed(column("id", GSType.STRING), column("text", GSType.STRING));
    assertRefused(CANNOT_CHANGE, () -> store.putContainer(name("types"), key, true));
    assertRefused(CANNOT_CHANGE, () -> store.putContainer(name("types"), unkeyed(column("id", GSType.LONG), column("text", GSType.STRING)), true));
    ContainerInfo notNull = keyed(column("id", GSType.LONG), required("text", GSType.STRING));
    assertRefused(CANNOT_CHANGE, () -> store.putContainer(name("types"), notNull, true));
  }

  @Test
  void aStaleClientIsTold() throws Exception {
    collection("stale", PLAIN);
    try (GridStore other = Server.connect()) {
      Collection<Long, Row> theirs = other.getCollection(name("stale"));
      theirs.put(row(theirs, 1L, "one"));
      store.putCollection(name("stale"), WIDER, true);
      assertRefused(OTHER_SCHEMA, () -> theirs.put(row(theirs, 2L, "two")));
      assertRefused(OTHER_SCHEMA, () -> theirs.query("SELECT *").fetch());
      Collection<Long, Row> fresh = other.getCollection(name("stale"));
      fresh.put(row(fresh, 2L, "two", 2, 2.0));
      assertEquals(2, count(fresh));
    }
  }

  @Test
  void aDroppedContainerIsGone() throws Exception {
    Collection<Long, Row> mine = collection("dropped", PLAIN);
    mine.put(row(mine, 1L, "one"));
    try (GridStore other = Server.connect()) {
      Collection<Long, Row> theirs = other.getCollection(name("dropped"));
      store.dropCollection(name("dropped"));
      assertNull(store.getContainerInfo(name("dropped")));
      assertNull(other.getContainerInfo(name("dropped")));
      assertRefused(NO_CONTAINER, () -> theirs.put(row(theirs, 1L, "one")));
      assertRefused(NO_CONTAINER, () -> theirs.get(1L));
      Collection<Long, Row> next = store.putCollection(name("dropped"), PLAIN, false);
      assertEquals(0, count(next));
    }
  }

  @Test
  void whatIsNotThereIsDroppedWithoutAWord() throws Exception {
    store.dropContainer(name("nothing"));
    store.dropCollection(name("nothing"));
    store.dropTimeSeries(name("nothing"));
  }

  @Test
  void namesAreListedByPartition() throws Exception {
    Set<String> expected = new TreeSet<>();
    for (int i = 0; i < 40; i++) {
      collection("listed" + i, PLAIN);
      expected.add(name("listed" + i));
    }
    PartitionController partitions = store.getPartitionController();
    Set<String> found = new TreeSet<>();
    for (int i = 0; i < partitions.getPartitionCount(); i++) {
      List<String> names = partitions.getContainerNames(i, 0, null);
      assertEquals(names.size(), partitions.getContainerCount(i));
      for (String name : names) {
        assertEquals(i, partitions.getPartitionIndexOfContainer(name));
        if (name.contains("_listed")) {
          found.add(name);
        }
      }
    }
    assertEquals(expected, found);
  }

  @Test
  void namesAreListedInPages() throws Exception {
    for (int i = 0; i < 10; i++) {
      collection("page" + i + "@paged", PLAIN);
    }
    PartitionController partitions = store.getPartitionController();
    int partition = partitions.getPartitionIndexOfContainer(name("page0@paged"));
    List<String> all = partitions.getContainerNames(partition, 0, null);
    assertTrue(all.size() >= 10);
    List<String> pages = new ArrayList<>();
    for (long start = 0; start < all.size(); start += 3) {
      pages.addAll(partitions.getContainerNames(partition, start, 3L));
    }
    assertEquals(all, pages);
    assertEquals(List.of(), partitions.getContainerNames(partition, all.size(), 3L));
    assertEquals(List.of(), partitions.getContainerNames(partition, 0, 0L));
  }

  @Test
  void thousandColumns() throws Exception {
    ColumnInfo[] columns = new ColumnInfo[1000];
    Object[] values = new Object[1000];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = column("c" + i, i % 2 == 0 ? GSType.INTEGER : GSType.STRING);
      values[i] = i % 7 == 3 ? null : i % 2 == 0 ? (Object) i : (Object) ("v" + i);
    }
    Collection<Integer, Row> wide = collection("wide", keyed(columns));
    wide.put(row(wide, values));
    Row found = wide.get(0);
    for (int i = 0; i < columns.length; i++) {
      assertEquals(values[i], found.isNull(i) ? null : found.getValue(i), "column " + i);
    }
  }

  @Test
  void columnsOfOneNameAreRefused() {
    assertThrows(GSException.class, () -> collection("twice", keyed(column("id", GSType.LONG), column("ID", GSType.STRING))));
  }

  @Test
  void atMost1024Columns() {
    ColumnInfo[] columns = new ColumnInfo[1025];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = column("c" + i, GSType.INTEGER);
    }
    assertRefused(60_015, () -> collection("tooWide", keyed(columns)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"BOOL", "BYTE", "SHORT", "FLOAT", "DOUBLE", "BLOB", "INTEGER_ARRAY"})
  void typesThatMakeNoRowKey(String type) {
    assertThrows(GSException.class, () -> collection("key" + type, keyed(column("id", GSType.valueOf(type)), column("v", GSType.LONG))));
  }

  @Test
  void aTimeSeriesNeedsATime() {
    assertThrows(GSException.class, () -> timeSeries("noTime", series(column("id", GSType.LONG), column("v", GSType.DOUBLE))));
  }

  @Test
  void whatIsNotServedIsRefused() throws Exception {
    Collection<Long, Row> mine = collection("unsupported", PLAIN);
    TimeSeriesProperties expiring = new TimeSeriesProperties();
    expiring.setRowExpiration(1, TimeUnit.HOUR);
    ContainerInfo info = series(column("at", GSType.TIMESTAMP), column("v", GSType.DOUBLE));
    info.setTimeSeriesProperties(expiring);
    assertRefused(IndexesTest.NOT_SUPPORTED, () -> timeSeries("expiring", info));
    mine.put(row(mine, 1L, "still there"));
  }

  @Test
  void theOrderOfColumnsMayNotMatter() throws Exception {
    Collection<Long, Row> first = collection("ignorable", keyed(column("id", GSType.LONG), column("a", GSType.STRING), column("b", GSType.INTEGER)));
    first.put(row(first, 1L, "one", 11));
    ContainerInfo other = keyed(column("id", GSType.LONG), column("b", GSType.INTEGER), column("a", GSType.STRING));
    other.setColumnOrderIgnorable(true);
    Collection<Long, Row> second = store.putCollection(name("ignorable"), other, false);
    assertEquals("a", second.get(1L).getSchema().getColumnInfo(1).getName());
    assertEquals("one", second.get(1L).getString(1));
    assertEquals("a", store.getContainerInfo(name("ignorable")).getColumnInfo(1).getName());
  }

  @Test
  void flushAndCloseLeaveRows() throws Exception {
    Collection<Long, Row> mine = collection("flushed", PLAIN);
    mine.put(row(mine, 1L, "one"));
    mine.flush();
    mine.close();
    assertThrows(GSException.class, () -> mine.get(1L));
    assertEquals(1, count(store.getContainer(name("flushed"))));
  }

  @Test
  void aContainerOfManyVersions() throws Exception {
    List<ColumnInfo> columns = new ArrayList<>(List.of(column("id", GSType.LONG)));
    collection("versions", keyed(columns.toArray(ColumnInfo[]::new)));
    for (int i = 1; i <= 20; i++) {
      columns.add(column("c" + i, GSType.INTEGER));
      Collection<Long, Row> now = store.putCollection(name("versions"), keyed(columns.toArray(ColumnInfo[]::new)), true);
      Row row = now.createRow();
      row.setLong(0, i);
      for (int c = 1; c <= i; c++) {
        row.setInteger(c, c * 100 + i);
      }
      now.put(row);
    }
    Collection<Long, Row> last = store.getCollection(name("versions"));
    for (int i = 1; i <= 20; i++) {
      Row row = last.get((long) i);
      for (int c = 1; c <= 20; c++) {
        assertEquals(c > i, row.isNull(c), "row " + i + ", column " + c);
        assertTrue(c > i || row.getInteger(c) == c * 100 + i);
      }
    }
  }

  @Test
  void theSystemsKeyspaceIsNoDatabase() throws Exception {
    try (GridStore system = Server.connect("database", "system", "failoverTimeout", "1")) {
      assertRefused(10_087, () -> system.putContainer("mine", PLAIN, false));
    }
  }
}
