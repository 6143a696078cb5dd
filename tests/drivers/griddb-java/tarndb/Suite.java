package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.toshiba.mwcloud.gs.AggregationResult;
import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.Container;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.ContainerType;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import com.toshiba.mwcloud.gs.TimeSeries;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import javax.sql.rowset.serial.SerialBlob;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.function.Executable;

/** A connection to the server under test, and containers whose names belong to the suite. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class Suite {
  static final int NOT_SUPPORTED = 1_007;
  static final int NO_CONTAINER = 10_016;
  static final int OTHER_SCHEMA = 10_017;
  static final int OTHER_KIND = 10_018;
  static final int UNSUPPORTED = 10_055;
  static final int CANNOT_CHANGE = 60_016;
  /** The client finds by itself that a container is not what it was asked for. */
  static final int CLIENT_SCHEMA = 145_023;

  GridStore store;

  @BeforeAll
  void connect() throws GSException {
    store = Server.connect();
  }

  @AfterAll
  void close() throws GSException {
    store.close();
  }

  /** A name that begins with the suite's. */
  String name(String ending) {
    return getClass().getSimpleName() + "_" + ending;
  }

  static ColumnInfo column(String name, GSType type) {
    return new ColumnInfo(name, type);
  }

  /** A column that is never null. */
  static ColumnInfo required(String name, GSType type) {
    return new ColumnInfo(name, type, false, null);
  }

  /** A collection's columns, the first of which is its row key. */
  static ContainerInfo keyed(ColumnInfo... columns) {
    return new ContainerInfo(null, ContainerType.COLLECTION, Arrays.asList(columns), true);
  }

  static ContainerInfo unkeyed(ColumnInfo... columns) {
    return new ContainerInfo(null, ContainerType.COLLECTION, Arrays.asList(columns), false);
  }

  /** A collection's columns, the first of which make its row key. */
  static ContainerInfo composite(int keys, ColumnInfo... columns) {
    ContainerInfo info = unkeyed(columns);
    List<Integer> positions = new ArrayList<>();
    for (int i = 0; i < keys; i++) {
      positions.add(i);
    }
    info.setRowKeyColumnList(positions);
    return info;
  }

  static ContainerInfo series(ColumnInfo... columns) {
    return new ContainerInfo(null, ContainerType.TIME_SERIES, Arrays.asList(columns), true);
  }

  /** An empty collection. */
  <K> Collection<K, Row> collection(String ending, ContainerInfo info) throws GSException {
    store.dropContainer(name(ending));
    return store.putCollection(name(ending), info, false);
  }

  /** An empty time series. */
  TimeSeries<Row> timeSeries(String ending, ContainerInfo info) throws GSException {
    store.dropContainer(name(ending));
    return store.putTimeSeries(name(ending), info, false);
  }

  /** A row of these values; none of one that is null. */
  static Row row(Container<?, Row> container, Object... values) throws GSException {
    return fill(container.createRow(), values);
  }

  static Row fill(Row row, Object... values) throws GSException {
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        row.setNull(i);
      } else {
        row.setValue(i, values[i]);
      }
    }
    return row;
  }

  /** The values of a column, of all rows that a query finds. */
  static List<Object> values(Query<Row> query, int column) throws GSException {
    List<Object> values = new ArrayList<>();
    try (RowSet<Row> rows = query.fetch()) {
      while (rows.hasNext()) {
        Row row = rows.next();
        values.add(row.isNull(column) ? null : row.getValue(column));
      }
      assertEquals(values.size(), rows.size(), "as many rows as the row set says");
    }
    return values;
  }

  static List<Object> keys(Container<?, Row> container, String tql) throws GSException {
    return values(container.query(tql), 0);
  }

  /** The value of an aggregation; null if there is none. */
  static AggregationResult aggregate(Container<?, Row> container, String tql) throws GSException {
    RowSet<AggregationResult> found = container.query(tql, AggregationResult.class).fetch();
    return found.hasNext() ? found.next() : null;
  }

  static long count(Container<?, Row> container) throws GSException {
    return aggregate(container, "SELECT COUNT(*)").getLong();
  }

  static Date at(long ms) {
    return new Date(ms);
  }

  static Blob blob(String text) throws Exception {
    return new SerialBlob(text.getBytes(StandardCharsets.UTF_8));
  }

  static void assertRefused(int code, Executable request) {
    GSException refusal = assertThrows(GSException.class, request);
    assertEquals(code, refusal.getErrorCode(), refusal.getMessage());
  }
}
