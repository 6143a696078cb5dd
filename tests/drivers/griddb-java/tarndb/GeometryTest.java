package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.FetchOption;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.Geometry;
import com.toshiba.mwcloud.gs.GeometryOperator;
import com.toshiba.mwcloud.gs.IndexInfo;
import com.toshiba.mwcloud.gs.IndexType;
import com.toshiba.mwcloud.gs.Query;
import com.toshiba.mwcloud.gs.QueryAnalysisEntry;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowKeyPredicate;
import com.toshiba.mwcloud.gs.RowSet;
import com.toshiba.mwcloud.gs.TimeSeries;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Columns of GEOMETRY, and queries by what they are near to. */
class GeometryTest extends Suite {
  private static final int INVALID_ROW = 60_046;
  private static final int WRONG_TYPE = 152_010;
  static final ContainerInfo PLACES = keyed(column("id", GSType.INTEGER), column("geom", GSType.GEOMETRY), column("after", GSType.STRING));

  static Geometry geometry(String text) {
    return Geometry.valueOf(text);
  }

  /** Rows whose ids count from 0. */
  private Collection<Integer, Row> places(String ending, String... texts) throws GSException {
    Collection<Integer, Row> places = collection(ending, PLACES);
    for (int i = 0; i < texts.length; i++) {
      places.put(row(places, i, texts[i] == null ? null : geometry(texts[i]), "after" + i));
    }
    return places;
  }

  @ParameterizedTest
  @ValueSource(strings = {"POINT(2 3)", "POINT(0 10 10)", "POINT(-0.1 1e300;4326)", "POINT(EMPTY)", "LINESTRING(EMPTY)", "LINESTRING(0 10 10, 10 10 10, 10 10 0)",
      "POLYGON((0 0,10 0,10 10,0 10,0 0))", "POLYGON((35 10, 45 45, 15 40, 10 20, 35 10),(20 30, 35 35, 30 20, 20 30);7)", "POLYGON(EMPTY)",
      "POLYHEDRALSURFACE(((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 0, 0 1 0, 0 1 1, 0 0 1, 0 0 0)))", "POINT(5e-324 -1.7976931348623157e308)"})
  void aGeometryComesBack(String text) throws Exception {
    Collection<Integer, Row> mine = places("back", text, null);
    Geometry sent = geometry(text);
    Row found = mine.get(0);
    assertEquals(sent, found.getGeometry(1));
    assertEquals(sent.toString(), found.getGeometry(1).toString());
    assertEquals("after0", found.getString(2));
    assertTrue(mine.get(1).isNull(1));
    assertEquals("after1", mine.get(1).getString(2));
    List<Object> both = new ArrayList<>();
    both.add(sent);
    both.add(null);
    assertEquals(both, values(mine.query("SELECT *"), 1));
    assertEquals(List.of(1), keys(mine, "SELECT * WHERE geom IS NULL"));
    assertEquals(GSType.GEOMETRY, store.getContainerInfo(name("back")).getColumnInfo(1).getType());
  }

  @Test
  void whatCannotBeStoredIsRefused() throws Exception {
    Collection<Integer, Row> mine = places("refused");
    for (String text : List.of("QUADRATICSURFACE(1 0 0 0 1 0 0 0 1 0 0 0 -1)", "LINESTRING(1 2)", "POLYGON((0 0,1 1))", "POLYHEDRALSURFACE(((0 0,1 0,1 1,0 0)))")) {
      assertRefused(INVALID_ROW, () -> mine.put(row(mine, 1, geometry(text), "")));
    }
    assertEquals(0, count(mine));
    assertThrows(GSException.class, () -> collection("key", keyed(column("g", GSType.GEOMETRY), column("v", GSType.LONG))));
    ContainerInfo strict = keyed(column("id", GSType.INTEGER), required("geom", GSType.GEOMETRY));
    Collection<Integer, Row> required = collection("required", strict);
    assertThrows(GSException.class, () -> required.put(row(required, 1, (Object) null)));
    required.put(row(required, 1, geometry("POINT(1 2)")));
    assertEquals(geometry("POINT(1 2)"), required.get(1).getGeometry(1));
  }

  @Test
  void aColumnAddedLaterIsEmptyWhereItIsNotNull() throws Exception {
    Collection<Integer, Row> narrow = collection("added", keyed(column("id", GSType.INTEGER)));
    narrow.put(row(narrow, 1));
    ContainerInfo wider = keyed(column("id", GSType.INTEGER), required("must", GSType.GEOMETRY), column("may", GSType.GEOMETRY));
    Collection<Integer, Row> wide = store.putCollection(name("added"), wider, true);
    assertEquals(geometry("POINT(EMPTY)"), wide.get(1).getGeometry(1));
    assertTrue(wide.get(1).isNull(2));
    wide.createIndex("must", IndexType.SPATIAL);
    wide.put(row(wide, 2, geometry("POINT(5 5)"), null));
    assertEquals(List.of(2), keys(wide, "SELECT * WHERE ST_MBRIntersects(must, ST_MakeRect(0, 0, 9, 9))"));
    assertEquals(List.of(1), keys(wide, "SELECT * WHERE NOT ST_MBRIntersects(must, ST_MakeRect(0, 0, 9, 9))"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      ST_MBRIntersects(geom, ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 10,0 0))'))            | 0 1 2
      ST_MBRIntersects(ST_MakeRect(0, 0, 10, 10), geom)                                        | 0 1 2
      ST_MBRIntersects(geom, ST_MakeRect(ST_GeomFromText('POINT(9 9)'), ST_GeomFromText('POINT(25 25)'))) | 1 3
      ST_MBRIntersects(geom, ST_MakeBox(0, 0, 0, 10, 10, 4))                                   | 0 1
      ST_MBRIntersects(geom, ST_GeomFromText('POINT(EMPTY)'))                                  |
      NOT ST_MBRIntersects(geom, ST_MakeRect(0, 0, 10, 10))                                    | 3 4
      ST_GetSrId(geom) = 4326                                                                  | 1
      ST_GetSrId(geom) = -1                                                                    | 0 2 3 4
      ST_QSFMBRIntersects(ST_MakeSphere(5, 5, 5, 1), geom)                                     | 2
      ST_QSFMBRIntersects(ST_MakePlane(0, 0, 7, 0, 0, 1), geom)                                | 2
      ST_QSFMBRIntersects(ST_MakePlane(0, 0, 99, 0, 0, 1), geom)                               |
      ST_QSFMBRIntersects(ST_MakePlane(0, 0, 7, 0, 0, 0), geom)                                |
      ST_QSFMBRIntersects(ST_MakeCylinder(6, 6, 0, 0, 0, 1, 1.2), geom)                        | 2
      ST_QSFMBRIntersects(ST_MakeCone(6, 6, 0, 0, 0, 1, 10), geom)                             | 2
      ST_QSFMBRIntersects(ST_MakeQSF(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, -75), geom)           | 2
      ST_QSFMBRIntersects(ST_GeomFromText('QUADRATICSURFACE(0 0 0 0 0 0 0 0 0 0 0 1 -7)'), geom) | 2
      st_mbrintersects(geom, ST_MakeRect(0, 0, 10, 10)) AND id > 0 OR id = 5                   | 1 2 5
      """)
  void tqlHasFunctionsOfGeometries(String condition, String ids) throws Exception {
    Collection<Integer, Row> mine = places("tql", "POINT(5 5)", "LINESTRING(8 8,12 12;4326)", "LINESTRING(5 5 5,7 7 7)", "POINT(20 20)", "POLYGON(EMPTY)", null);
    List<Object> expected = new ArrayList<>();
    for (String id : ids == null ? new String[0] : ids.split(" ")) {
      expected.add(Integer.valueOf(id));
    }
    assertEquals(expected, keys(mine, "SELECT * WHERE " + condition));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      ST_MBRIntersects(geom, ST_GeomFromText('CIRCLE(1 2)'))                | 152012
      ST_MBRIntersects(geom, ST_GeomFromText('POINT(1 2'))                  | 152012
      ST_MBRIntersects(geom, ST_GeomFromText('POINT(1 INF)'))               | 152012
      ST_MBRIntersects(geom, ST_GeomFromText(1))                            | 152010
      ST_MBRIntersects(geom, 'POINT(1 2)')                                  | 152010
      ST_MBRIntersects(geom, ST_MakeSphere(0, 0, 0, 1))                     | 152010
      ST_MBRIntersects(geom, ST_MakeRect(0, 0, 0, 1))                       | 152012
      ST_MBRIntersects(geom, ST_MakeRect(0, 1, 2))                          | 152010
      ST_QSFMBRIntersects(geom, ST_MakeSphere(0, 0, 0, 1))                  | 152010
      ST_QSFMBRIntersects(ST_MakeSphere(0, 0, 0, -1), geom)                 | 152012
      ST_QSFMBRIntersects(ST_MakeCone(0, 0, 0, 0, 0, 0, 1), geom)           | 152012
      geom = ST_GeomFromText('POINT(1 2)')                                  | 150018
      ST_Area(geom) > 1                                                     | 150014
      """)
  void whatIsNoConditionIsRefused(String condition, int code) throws Exception {
    Collection<Integer, Row> mine = places("conditions", "POINT(5 5)");
    assertRefused(code, () -> mine.query("SELECT * WHERE " + condition).fetch());
    assertRefused(150_020, () -> mine.query("SELECT MAX(geom)").fetch());
  }

  @Test
  @SuppressWarnings("deprecation")
  void aQueryTakesGeometries() throws Exception {
    Collection<Integer, Row> mine = places("queries", "POINT(5 5)", "LINESTRING(8 8,12 12;4326)", "LINESTRING(5 5 5,7 7 7)", "POINT(20 20)", "POLYGON(EMPTY)", null);
    Geometry square = geometry("POLYGON((0 0,10 0,10 10,0 10,0 0))");
    assertEquals(List.of(0, 1, 2), values(mine.query("geom", square, GeometryOperator.INTERSECT), 0));
    assertEquals(List.of(1), values(mine.query("geom", square, geometry("LINESTRING(0 0,6 6)")), 0));
    assertEquals(List.of(0, 1, 2), values(mine.query("geom", square, geometry("POINT(EMPTY)")), 0));
    assertEquals(List.of(2), values(mine.query("geom", geometry("QUADRATICSURFACE(1 0 0 0 1 0 0 0 1 0 0 0 -75)"), GeometryOperator.INTERSECT), 0));
    assertRefused(WRONG_TYPE, () -> mine.query("id", square, GeometryOperator.INTERSECT).fetch());
    Query<Row> inParts = mine.query("geom", geometry("LINESTRING(0 0,99 99)"), GeometryOperator.INTERSECT);
    inParts.setFetchOption(FetchOption.SIZE, 1);
    assertEquals(List.of(0, 1, 2, 3), values(inParts, 0));
    Query<Row> first = mine.query("geom", square, GeometryOperator.INTERSECT);
    first.setFetchOption(FetchOption.LIMIT, 2);
    Query<Row> second = mine.query("geom", square, square);
    store.fetchAll(List.of(first, second));
    assertEquals(2, first.getRowSet().size());
    assertFalse(second.getRowSet().hasNext());
  }

  @Test
  void anIndexIsListedAndAnswers() throws Exception {
    Collection<Integer, Row> mine = collection("indexed", PLACES);
    mine.createIndex("geom");
    mine.createIndex("geom", IndexType.SPATIAL);
    IndexInfo index = store.getContainerInfo(name("indexed")).getIndexInfoList().get(1);
    assertEquals(IndexType.SPATIAL, index.getType());
    assertEquals(List.of("geom"), index.getColumnNameList());
    assertEquals(Set.of(IndexType.SPATIAL), store.getContainerInfo(name("indexed")).getColumnInfo(1).getIndexTypes());
    assertRefused(IndexesTest.NOT_SUPPORTED, () -> mine.createIndex("geom", IndexType.TREE));
    assertRefused(IndexesTest.NOT_SUPPORTED, () -> mine.createIndex("geom", IndexType.HASH));
    assertRefused(IndexesTest.NOT_SUPPORTED, () -> mine.createIndex("after", IndexType.SPATIAL));
    assertRefused(IndexesTest.NOT_SUPPORTED, () -> mine.createIndex(IndexInfo.createByColumnList(List.of("geom", "after"), IndexType.SPATIAL)));
    mine.put(row(mine, 1, geometry("POINT(5 5)"), ""));
    String near = "SELECT * WHERE ST_MBRIntersects(geom, ST_MakeRect(0, 0, 9, 9))";
    IndexesTest.untilAnalysis("geom 1", mine, near);
    try (RowSet<QueryAnalysisEntry> told = mine.query("EXPLAIN ANALYZE " + near, QueryAnalysisEntry.class).fetch()) {
      List<String> lines = new ArrayList<>();
      while (told.hasNext()) {
        QueryAnalysisEntry entry = told.next();
        lines.add(entry.getType() + " " + entry.getValue());
      }
      assertTrue(lines.containsAll(List.of("USE_INDEX geom", "SEARCH_EXECUTE SPATIAL", "SEARCH_MAP geom")), lines.toString());
    }
    mine.dropIndex("geom", IndexType.SPATIAL);
    assertEquals("ROWMAP 1", IndexesTest.analysis(mine, near));
    TimeSeries<Row> series = timeSeries("series", series(column("at", GSType.TIMESTAMP), column("geom", GSType.GEOMETRY)));
    assertRefused(IndexesTest.NOT_SUPPORTED, () -> series.createIndex("geom"));
    series.put(row(series, at(1_000), geometry("POINT(1 2)")));
    assertEquals(geometry("POINT(1 2)"), series.get(at(1_000)).getGeometry(1));
    assertEquals(1, values(series.query("SELECT * WHERE ST_MBRIntersects(geom, ST_MakeRect(0, 0, 9, 9))"), 0).size());
  }

  @Test
  void anIndexGivesWhatAScanGives() throws Exception {
    Collection<Integer, Row> plain = collection("plain", PLACES);
    Collection<Integer, Row> indexed = collection("spatial", PLACES);
    Random random = new Random(7);
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      double x = random.nextDouble() * 360 - 180;
      double y = random.nextDouble() * 180 - 90;
      double size = random.nextInt(50) == 0 ? 60 : 0.2;
      String text = switch (random.nextInt(10)) {
        case 0 -> null;
        case 1 -> "POLYGON(EMPTY)";
        case 2, 3, 4 -> "POINT(" + x + " " + y + ")";
        default -> "LINESTRING(" + x + " " + y + "," + (x + size) + " " + (y - size) + ")";
      };
      rows.add(row(plain, i, text == null ? null : geometry(text), ""));
      if (i == 1_000) {
        indexed.put(rows);
        indexed.createIndex("geom");
      }
    }
    plain.put(rows);
    indexed.put(rows);
    for (int i = 0; i < 2_000; i += 7) {
      plain.remove(i);
      indexed.remove(i);
    }
    String anywhere = "SELECT * WHERE ST_MBRIntersects(geom, ST_MakeRect(0, 0, 1, 1))";
    IndexesTest.untilAnalysis("geom " + keys(plain, anywhere).size(), indexed, anywhere);
    int found = 0;
    for (int i = 0; i < 100; i++) {
      double x = i % 10 == 0 ? 0 : random.nextDouble() * 360 - 180;
      double y = random.nextDouble() * 180 - 90;
      Geometry box = geometry("LINESTRING(" + x + " " + y + "," + (x + 9) + " " + (y + 4) + ")");
      List<Object> expected = values(plain.query("geom", box, GeometryOperator.INTERSECT), 0);
      assertEquals(expected, values(indexed.query("geom", box, GeometryOperator.INTERSECT), 0), box.toString());
      found += expected.size();
    }
    assertTrue(found > 80, "found " + found);
  }

  @Test
  void severalContainersAndTransactionsHaveGeometries() throws Exception {
    Collection<Integer, Row> one = places("one");
    Collection<Integer, Row> other = places("other");
    one.createIndex("geom");
    Geometry point = geometry("POINT(1 2;5)");
    store.multiPut(Map.of(name("one"), List.of(row(one, 1, point, "a")), name("other"), List.of(row(other, 2, null, "b"))));
    RowKeyPredicate<Integer> all = RowKeyPredicate.create(Integer.class);
    Map<String, List<Row>> found = store.multiGet(Map.of(name("one"), all, name("other"), all));
    assertEquals(point, found.get(name("one")).get(0).getGeometry(1));
    assertTrue(found.get(name("other")).get(0).isNull(1));
    one.setAutoCommit(false);
    one.put(row(one, 2, geometry("POINT(3 3)"), "c"));
    Query<Row> near = one.query("geom", geometry("LINESTRING(0 0,9 9)"), GeometryOperator.INTERSECT);
    assertEquals(List.of(1, 2), values(near, 0), "a transaction sees what it has put");
    one.abort();
    one.setAutoCommit(true);
    assertEquals(List.of(1), values(near, 0));
  }
}
