package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.springframework.data.cassandra.core.query.Criteria.where;
import static org.springframework.data.cassandra.core.query.Query.query;

import com.datastax.oss.driver.api.core.CqlSession;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.cassandra.CassandraInvalidQueryException;
import org.springframework.data.cassandra.core.CassandraTemplate;
import org.springframework.data.cassandra.core.InsertOptions;
import org.springframework.data.cassandra.core.UpdateOptions;
import org.springframework.data.cassandra.core.mapping.BasicMapId;
import org.springframework.data.cassandra.core.query.CassandraPageRequest;
import org.springframework.data.cassandra.core.query.Query;
import org.springframework.data.cassandra.core.query.Update;
import org.springframework.data.cassandra.repository.ReactiveCassandraRepository;
import org.springframework.data.cassandra.repository.config.EnableCassandraRepositories;
import org.springframework.data.cassandra.repository.config.EnableReactiveCassandraRepositories;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;

/** A Spring Boot application: the schema made of entities, repositories with derived queries, templates, slices, versions, batches, reactive reads. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SpringTest {
  static final String KEYSPACE = "app_spring";

  @Configuration
  @EnableAutoConfiguration
  @EnableCassandraRepositories(considerNestedRepositories = true, basePackageClasses = Books.class)
  @EnableReactiveCassandraRepositories(considerNestedRepositories = true, basePackageClasses = ReactiveBooks.class)
  static class Application {}

  interface ReactiveBooks extends ReactiveCassandraRepository<Book, UUID> {}

  static ConfigurableApplicationContext context;
  static CassandraTemplate template;
  static Books books;
  static Readings readings;

  @BeforeAll
  static void start() {
    try (CqlSession session = Server.connect()) {
      session.execute("DROP KEYSPACE IF EXISTS " + KEYSPACE);
      session.execute("CREATE KEYSPACE " + KEYSPACE + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    }
    SpringApplication application = new SpringApplication(Application.class);
    application.setWebApplicationType(WebApplicationType.NONE);
    // As an application.properties has them.
    context =
        application.run(
            "--spring.cassandra.contact-points=" + Server.host() + ":" + Server.port(),
            "--spring.cassandra.local-datacenter=datacenter1",
            "--spring.cassandra.keyspace-name=" + KEYSPACE,
            "--spring.cassandra.schema-action=create_if_not_exists",
            "--spring.cassandra.request.timeout=120s",
            "--spring.cassandra.connection.connect-timeout=120s",
            "--spring.cassandra.connection.init-query-timeout=120s",
            "--spring.main.banner-mode=off",
            "--logging.level.root=off");
    template = context.getBean(CassandraTemplate.class);
    books = context.getBean(Books.class);
    readings = context.getBean(Readings.class);
  }

  @AfterAll
  static void stop() {
    context.close();
  }

  static Book book(String title, String author, int pages) {
    Book book = new Book();
    book.id = UUID.randomUUID();
    book.title = title;
    book.author = author;
    book.pages = pages;
    return book;
  }

  static Set<String> titles(Iterable<Book> found) {
    Set<String> titles = new TreeSet<>();
    found.forEach(book -> titles.add(book.title));
    return titles;
  }

  @Test
  void entitiesBecomeTablesTypesAndIndexes() {
    List<String> tables =
        Server.rows("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", KEYSPACE).stream().map(row -> row.getString(0)).toList();
    assertEquals(List.of("book", "readings", "stock"), tables);
    assertEquals(3, Server.rows("SELECT index_name FROM system_schema.indexes WHERE keyspace_name = ?", KEYSPACE).size());
    assertEquals("publisher", Server.rows("SELECT type_name FROM system_schema.types WHERE keyspace_name = ?", KEYSPACE).get(0).getString(0));
  }

  @Test
  void entityComesBackWithEveryType() {
    Book book = book("Types", "Ada", 7);
    book.tags = Set.of("a", "\u00e9");
    book.prices = Map.of("x", new BigDecimal("1.50"));
    book.notes = List.of("n2", "n1");
    book.printed = LocalDate.of(1969, 7, 20);
    book.added = Instant.ofEpochMilli(1_700_000_000_123L);
    book.kind = Book.Kind.NOVEL;
    book.publisher = new Book.Publisher("House", 1900);
    books.save(book);
    Book found = books.findById(book.id).orElseThrow();
    assertEquals(List.of("Types", "Ada", 7), List.of(found.title, found.author, found.pages));
    assertEquals(List.of(book.tags, book.prices, book.notes), List.of(found.tags, found.prices, found.notes));
    assertEquals(List.of(book.printed, book.added, book.kind), List.of(found.printed, found.added, found.kind));
    assertEquals(book.publisher, found.publisher);
    assertFalse(books.existsById(UUID.randomUUID()));
  }

  @Test
  void derivedQueriesUseIndexes() {
    List<Book> saved = new ArrayList<>();
    for (int number = 0; number < 9; number++) {
      Book book = book("derived" + number, "author" + number % 3, number);
      book.tags = Set.of("derived", "t" + number % 2);
      saved.add(book);
    }
    books.saveAll(saved);
    assertEquals(Set.of("derived1", "derived4", "derived7"), titles(books.findByAuthor("author1")));
    assertEquals("derived5", books.findByTitle("derived5").orElseThrow().title);
    assertEquals(5, books.findByTagsContaining("t0").size());
    assertEquals(3, books.countByAuthor("author2"));
    assertEquals(Set.of("derived7"), titles(books.longer("author1", 5)));
    books.delete(saved.get(4));
    Book moved = saved.get(7);
    moved.author = "other";
    books.save(moved);
    assertEquals(Set.of("derived1"), titles(books.findByAuthor("author1")));
    assertEquals(Set.of("derived7"), titles(books.findByAuthor("other")));
  }

  @Test
  void partitionsAreReadInOrderAndByRanges() {
    readings.saveAll(IntStream.range(0, 50).mapToObj(at -> new Reading("ordered", 1, at, at * 10L)).toList());
    assertEquals(List.of(49, 48, 47), readings.findByKeySensorAndKeyDay("ordered", 1).stream().limit(3).map(reading -> reading.key.at).toList());
    assertEquals(List.of(12, 11, 10), readings.findByKeySensorAndKeyDayAndKeyAtBetween("ordered", 1, 9, 13).stream().map(reading -> reading.key.at).toList());
    assertEquals(490L, readings.findFirstByKeySensorAndKeyDay("ordered", 1).orElseThrow().value);
    List<Reading> sorted = template.select(query(where("sensor").is("ordered")).and(where("day").is(1)).sort(Sort.by("at")).limit(2), Reading.class);
    assertEquals(List.of(0, 1), sorted.stream().map(reading -> reading.key.at).toList());
    assertEquals(2, template.select(query(where("sensor").is("ordered")).and(where("day").is(1)).and(where("at").in(3, 4, 99)), Reading.class).size());
  }

  @Test
  void slicesFollowOneAnother() {
    readings.saveAll(IntStream.range(0, 95).mapToObj(at -> new Reading("sliced", 2, at, at)).toList());
    List<Integer> found = new ArrayList<>();
    int slices = 0;
    Slice<Reading> slice = readings.findByKeySensorAndKeyDay("sliced", 2, CassandraPageRequest.first(10));
    while (true) {
      slices++;
      slice.forEach(reading -> found.add(reading.key.at));
      if (!slice.hasNext()) {
        break;
      }
      slice = readings.findByKeySensorAndKeyDay("sliced", 2, slice.nextPageable());
    }
    assertEquals(IntStream.range(0, 95).map(at -> 94 - at).boxed().toList(), found);
    assertEquals(10, slices);
  }

  @Test
  void collectionsAreChangedInPlace() {
    Book book = book("Changed", "c", 1);
    book.tags = Set.of("a");
    book.notes = List.of("one");
    book.prices = Map.of("x", BigDecimal.ONE);
    books.save(book);
    Query which = query(where("id").is(book.id));
    template.update(which, Update.empty().addTo("tags").append("b").addTo("notes").prepend("zero").addTo("prices").entry("y", BigDecimal.TEN), Book.class);
    template.update(which, Update.empty().remove("tags", "a").set("pages", 2), Book.class);
    template.update(which, Update.empty().set("notes").atIndex(0).to("first"), Book.class);
    Book found = books.findById(book.id).orElseThrow();
    assertEquals(List.of(Set.of("b"), List.of("first", "one"), 2), List.of(found.tags, found.notes, found.pages));
    assertEquals(Set.of("x", "y"), found.prices.keySet());
  }

  @Test
  void conditionsAndVersionsRefuseWhatWasChanged() {
    Stock stock = template.insert(new Stock("lock", 5));
    assertEquals(0L, stock.version);
    Stock first = template.selectOneById("lock", Stock.class);
    Stock second = template.selectOneById("lock", Stock.class);
    Stock old = template.selectOneById("lock", Stock.class);
    first.count = 4;
    assertEquals(1L, template.update(first).version);
    second.count = 3;
    assertThrows(OptimisticLockingFailureException.class, () -> template.update(second));
    assertThrows(OptimisticLockingFailureException.class, () -> template.insert(new Stock("lock", 9)));
    assertEquals(4, template.selectOneById("lock", Stock.class).count);
    Book book = book("Once", "o", 1);
    InsertOptions once = InsertOptions.builder().withIfNotExists().build();
    assertTrue(template.insert(book, once).wasApplied());
    assertFalse(template.insert(book, once).wasApplied());
    book.pages = 2;
    assertFalse(template.update(book, UpdateOptions.builder().ifCondition(where("pages").is(7)).build()).wasApplied());
    assertTrue(template.update(book, UpdateOptions.builder().ifCondition(where("pages").is(1)).build()).wasApplied());
    assertThrows(OptimisticLockingFailureException.class, () -> template.delete(old));
    template.delete(first);
    assertNull(template.selectOneById("lock", Stock.class));
  }

  @Test
  void timeToLiveBatchesAndDeletes() {
    Book book = book("Short", "s", 1);
    template.insert(book, InsertOptions.builder().ttl(Duration.ofMinutes(10)).build());
    int left = template.getCqlOperations().queryForObject("SELECT ttl(pages) FROM book WHERE id = ?", Integer.class, book.id);
    assertTrue(left > 590 && left <= 600);
    template.batchOps().insert(new Reading("batch", 3, 1, 1), new Reading("batch", 3, 2, 2)).insert(book("Batched", "batch", 1)).execute();
    template.batchOps().delete(new Reading("batch", 3, 1, 1)).insert(new Reading("batch", 3, 3, 3)).execute();
    assertEquals(List.of(3, 2), readings.findByKeySensorAndKeyDay("batch", 3).stream().map(reading -> reading.key.at).toList());
    assertEquals(1, books.findByAuthor("batch").size());
    assertTrue(template.delete(query(where("sensor").is("batch")).and(where("day").is(3)).and(where("at").gt(2)), Reading.class));
    assertEquals(1, template.count(query(where("sensor").is("batch")).and(where("day").is(3)), Reading.class));
  }

  @Test
  void projectionsAggregatesAndStreams() {
    readings.saveAll(IntStream.range(0, 30).mapToObj(at -> new Reading("sum", at % 2, at, at)).toList());
    assertEquals(15L * 14, template.getCqlOperations().queryForObject("SELECT sum(value) FROM readings WHERE sensor = 'sum' AND day = 0", Long.class));
    List<Map<String, Object>> groups =
        template.getCqlOperations().queryForList("SELECT day, max(value) AS best FROM readings WHERE sensor IN ('sum') AND day IN (0, 1) GROUP BY sensor, day");
    assertEquals(Set.of(28L, 29L), Set.of(groups.get(0).get("best"), groups.get(1).get("best")));
    try (var stream = template.stream(query(where("sensor").is("sum")).and(where("day").is(1)), Reading.class)) {
      assertEquals(15, stream.count());
    }
    assertEquals(List.of(29L, 27L), readings.onlyValues("sum", 1));
  }

  @Test
  void reactiveRepositoryReadsWhatAnotherWrote() {
    ReactiveBooks reactive = context.getBean(ReactiveBooks.class);
    Book book = book("Reactive", "r", 3);
    assertEquals("Reactive", reactive.save(book).block().title);
    assertEquals(3, reactive.findById(book.id).block().pages);
    assertEquals("r", books.findById(book.id).orElseThrow().author);
    assertEquals(1, reactive.findAllById(List.of(book.id, UUID.randomUUID())).count().block());
    reactive.deleteById(book.id).block();
    assertFalse(books.existsById(book.id));
  }

  @Test
  void mistakesAreTranslated() {
    assertThrows(CassandraInvalidQueryException.class, () -> template.select("SELECT nothing FROM book", Book.class));
    assertThrows(CassandraInvalidQueryException.class, () -> template.select(query(where("pages").is(1)), Book.class));
    assertNull(template.selectOneById(BasicMapId.id("sensor", "none").with("day", 0).with("at", 0), Reading.class));
  }

  @Test
  @Order(Integer.MAX_VALUE)
  void entitiesSurviveAKill() throws Exception {
    Assumptions.assumeTrue(Server.isOurs());
    Book book = books.save(book("Kept", "kept", 11));
    readings.save(new Reading("kept", 9, 1, 5));
    Server.kill();
    assertEquals(Set.of("Kept"), Server.whenBack(() -> titles(books.findByAuthor("kept"))));
    assertEquals(11, books.findById(book.id).orElseThrow().pages);
    assertEquals(5L, readings.findFirstByKeySensorAndKeyDay("kept", 9).orElseThrow().value);
  }
}
