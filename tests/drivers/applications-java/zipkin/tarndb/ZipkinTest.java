package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.cql.Row;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import zipkin2.DependencyLink;
import zipkin2.Endpoint;
import zipkin2.Span;
import zipkin2.storage.QueryRequest;
import zipkin2.storage.cassandra.CassandraStorage;

/** Zipkin's storage: it makes its schema with SASI indexes, stores spans, and searches them as Zipkin's pages do. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ZipkinTest {
  static final long NOW_MS = System.currentTimeMillis();
  static final long DAY_MS = 86_400_000;
  static final int TRACES = 60;

  static CassandraStorage storage;

  @BeforeAll
  static void open() throws IOException {
    Server.rows("DROP KEYSPACE IF EXISTS zipkin2");
    storage = connect();
    List<Span> spans = new ArrayList<>();
    for (int number = 0; number < TRACES; number++) {
      spans.add(server(number));
      spans.add(client(number));
    }
    storage.spanConsumer().accept(spans).execute();
  }

  @AfterAll
  static void close() {
    if (storage != null) {
      storage.close();
    }
  }

  static CassandraStorage connect() {
    return CassandraStorage.newBuilder()
        .contactPoints(Server.host() + ":" + Server.port())
        .localDc("datacenter1")
        .ensureSchema(true)
        .autocompleteKeys(List.of("environment"))
        .build();
  }

  static String traceId(int number) {
    return String.format("%032x", 0x1000 + number);
  }

  /** A request that "front" answers; number milliseconds long, one a second. */
  static Span server(int number) {
    return Span.newBuilder()
        .traceId(traceId(number))
        .id(1)
        .kind(Span.Kind.SERVER)
        .name(number % 2 == 0 ? "get /even" : "get /odd")
        .timestamp((NOW_MS - 1000L * number) * 1000)
        .duration(1000L * (number + 1))
        .localEndpoint(Endpoint.newBuilder().serviceName("front").ip("10.0.0.1").port(80).build())
        .putTag("http.path", "/" + number % 5)
        .putTag("environment", number % 3 == 0 ? "test" : "live")
        .addAnnotation((NOW_MS - 1000L * number) * 1000 + 5, "note" + number % 4)
        .build();
  }

  /** The request that "front" sends to "back" for it. */
  static Span client(int number) {
    Span.Builder span =
        Span.newBuilder()
            .traceId(traceId(number))
            .parentId(1)
            .id(2)
            .kind(Span.Kind.CLIENT)
            .name("query")
            .timestamp((NOW_MS - 1000L * number) * 1000 + 10)
            .duration(500L)
            .localEndpoint(Endpoint.newBuilder().serviceName("front").build())
            .remoteEndpoint(Endpoint.newBuilder().serviceName(number % 10 == 0 ? "cache" : "back").ip("2001:db8::1").build());
    return number == 7 ? span.putTag("error", "refused").build() : span.build();
  }

  static QueryRequest.Builder query() {
    return QueryRequest.newBuilder().endTs(NOW_MS + 1000).lookback(DAY_MS).limit(1000).serviceName("front");
  }

  /** The numbers of the traces found. */
  static TreeSet<Integer> found(QueryRequest.Builder query) throws IOException {
    return storage.spanStore().getTraces(query.build()).execute().stream()
        .map(trace -> Integer.parseInt(trace.get(0).traceId(), 16) - 0x1000)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  static TreeSet<Integer> numbers(java.util.function.IntPredicate chosen) {
    return java.util.stream.IntStream.range(0, TRACES).filter(chosen).boxed().collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void schemaHasItsIndexes() {
    assertTrue(storage.check().ok(), () -> storage.check().toString());
    List<String> indexes =
        Server.rows("SELECT index_name FROM system_schema.indexes WHERE keyspace_name = 'zipkin2'").stream().map(row -> row.getString(0)).sorted().toList();
    assertEquals(List.of("span_annotation_query_idx", "span_l_service_idx", "trace_by_service_span_duration_idx"), indexes);
    Row annotations = Server.rows("SELECT options FROM system_schema.indexes WHERE keyspace_name = 'zipkin2' AND table_name = 'span' AND index_name = 'span_annotation_query_idx'").get(0);
    Map<String, String> options = annotations.getMap(0, String.class, String.class);
    assertEquals("org.apache.cassandra.index.sasi.analyzer.DelimiterAnalyzer", options.get("analyzer_class"));
    assertEquals("░", options.get("delimiter"));
  }

  @Test
  void withoutSearchZipkinMakesItsSchemaByItself() throws IOException {
    Server.rows("DROP KEYSPACE IF EXISTS zipkin_by_id");
    try (CassandraStorage byId =
        CassandraStorage.newBuilder().contactPoints(Server.host() + ":" + Server.port()).localDc("datacenter1").keyspace("zipkin_by_id").searchEnabled(false).build()) {
      byId.spanConsumer().accept(List.of(server(3), client(3))).execute();
      assertEquals(2, byId.traces().getTrace(traceId(3)).execute().size());
    }
  }

  @Test
  void traceComesBackWhole() throws IOException {
    List<Span> trace = storage.traces().getTrace(traceId(7)).execute();
    assertEquals(2, trace.size());
    Span server = trace.stream().filter(span -> span.kind() == Span.Kind.SERVER).findFirst().orElseThrow();
    assertEquals(server(7), server);
    assertEquals(client(7), trace.stream().filter(span -> span.kind() == Span.Kind.CLIENT).findFirst().orElseThrow());
  }

  @Test
  void severalTracesComeBack() throws IOException {
    assertEquals(2, storage.traces().getTraces(List.of(traceId(1), traceId(2), traceId(9999))).execute().size());
    assertEquals(List.of(), storage.traces().getTrace(traceId(9999)).execute());
  }

  @Test
  void namesAreListed() throws IOException {
    assertEquals(List.of("front"), storage.serviceAndSpanNames().getServiceNames().execute());
    assertEquals(List.of("get /even", "get /odd", "query"), storage.serviceAndSpanNames().getSpanNames("front").execute());
    assertEquals(List.of("back", "cache"), storage.serviceAndSpanNames().getRemoteServiceNames("front").execute());
  }

  @Test
  void valuesOfTagsAreOffered() throws IOException {
    assertEquals(List.of("live", "test"), storage.autocompleteTags().getValues("environment").execute().stream().sorted().toList());
  }

  @Test
  void servicesFindTraces() throws IOException {
    assertEquals(numbers(number -> true), found(query()));
    assertEquals(new TreeSet<>(), found(query().serviceName("nobody")));
    assertEquals(5, found(query().limit(5)).size());
  }

  @Test
  void spanNamesAndRemoteServicesFindTraces() throws IOException {
    assertEquals(numbers(number -> number % 2 == 0), found(query().spanName("get /even")));
    assertEquals(numbers(number -> number % 10 == 0), found(query().remoteServiceName("cache")));
  }

  @Test
  void annotationsAndTagsFindTraces() throws IOException {
    assertEquals(numbers(number -> number % 5 == 3), found(query().parseAnnotationQuery("http.path=/3")));
    assertEquals(numbers(number -> number % 4 == 2), found(query().parseAnnotationQuery("note2")));
    assertEquals(numbers(number -> number % 20 == 8), found(query().parseAnnotationQuery("note0 and http.path=/3")));
    assertEquals(numbers(number -> number == 7), found(query().parseAnnotationQuery("error")));
    assertEquals(numbers(number -> number == 7), found(query().parseAnnotationQuery("error=refused")));
    assertEquals(numbers(number -> number % 3 == 0 && number % 2 == 0), found(query().spanName("get /even").parseAnnotationQuery("environment=test")));
    // Parts of an annotation, and of the text in which they all are, are none.
    assertEquals(new TreeSet<>(), found(query().parseAnnotationQuery("http.path=/9")));
    assertEquals(new TreeSet<>(), found(query().parseAnnotationQuery("note")));
    assertEquals(new TreeSet<>(), found(query().parseAnnotationQuery("refused")));
  }

  @Test
  void annotationsThatAreWrittenLaterFindTraces() throws IOException {
    // Before what other tests look at, and not so long ago that Zipkin looks at it no more.
    long then = NOW_MS - 2 * DAY_MS;
    QueryRequest.Builder query = query().endTs(then + 1000).lookback(10_000);
    Span late = server(0).toBuilder().traceId(traceId(500)).timestamp(then * 1000).clearAnnotations().putTag("kept", "yes").build();
    assertEquals(new TreeSet<>(), found(query.parseAnnotationQuery("kept=yes")));
    storage.spanConsumer().accept(List.of(late)).execute();
    assertEquals(new TreeSet<>(List.of(500)), found(query.parseAnnotationQuery("kept=yes")));
    assertEquals(new TreeSet<>(List.of(500)), found(query.parseAnnotationQuery("kept")));
    assertEquals(new TreeSet<>(List.of(500)), found(query.parseAnnotationQuery("kept and environment=test")));
    assertEquals(new TreeSet<>(), found(query.parseAnnotationQuery("kept=no")));
  }

  @Test
  void durationsFindTraces() throws IOException {
    assertEquals(numbers(number -> number + 1 >= 40), found(query().minDuration(40_000L)));
    assertEquals(numbers(number -> number + 1 >= 20 && number + 1 <= 30), found(query().minDuration(20_000L).maxDuration(30_000L)));
    assertEquals(numbers(number -> number + 1 >= 50 && number % 2 == 1), found(query().spanName("get /odd").minDuration(50_000L)));
  }

  @Test
  void timesFindTraces() throws IOException {
    assertEquals(numbers(number -> number >= 20 && number <= 30), found(query().endTs(NOW_MS - 20_000).lookback(10_000)));
  }

  @Test
  void linksAreOfTheDay() throws IOException {
    DependencyLink link = DependencyLink.newBuilder().parent("front").child("back").callCount(54).errorCount(1).build();
    long day = NOW_MS - NOW_MS % DAY_MS;
    Server.rows("INSERT INTO zipkin2.dependency (day, parent, child, calls, errors) VALUES (?, 'front', 'back', 54, 1)", java.time.LocalDate.ofEpochDay(day / DAY_MS));
    assertEquals(List.of(link), storage.spanStore().getDependencies(NOW_MS, DAY_MS).execute());
  }

  @Test
  @Order(Integer.MAX_VALUE)
  void tracesSurviveAKill() throws Exception {
    Assumptions.assumeTrue(Server.isOurs());
    Server.kill();
    assertEquals(numbers(number -> number % 2 == 1), Server.whenBack(() -> found(query().spanName("get /odd"))));
    assertEquals(2, storage.traces().getTrace(traceId(5)).execute().size());
    assertEquals(numbers(number -> number % 20 == 8), found(query().parseAnnotationQuery("note0 and http.path=/3")));
    // A second server finds the schema as it left it.
    try (CassandraStorage second = connect()) {
      assertTrue(second.check().ok());
      assertEquals(List.of("front"), second.serviceAndSpanNames().getServiceNames().execute());
    }
  }
}
