package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.pattern.Patterns;
import org.apache.pekko.persistence.cassandra.query.javadsl.CassandraReadJournal;
import org.apache.pekko.persistence.query.EventEnvelope;
import org.apache.pekko.persistence.query.Offset;
import org.apache.pekko.persistence.query.PersistenceQuery;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** Pekko Persistence: event-sourced actors that come back from the journal and from snapshots, and queries of events by actor and by tag. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class PekkoTest {
  static final Duration PATIENCE = Duration.ofSeconds(120);
  static ActorSystem system;
  static CassandraReadJournal journal;

  @BeforeAll
  static void start() {
    try (CqlSession session = Server.connect()) {
      session.execute("DROP KEYSPACE IF EXISTS pekko");
      session.execute("DROP KEYSPACE IF EXISTS pekko_snapshot");
    }
    Map<String, Object> settings =
        Map.ofEntries(
            Map.entry("datastax-java-driver.basic.contact-points", List.of(Server.host() + ":" + Server.port())),
            Map.entry("datastax-java-driver.basic.load-balancing-policy.local-datacenter", "datacenter1"),
            Map.entry("datastax-java-driver.basic.request.timeout", "120 s"),
            Map.entry("datastax-java-driver.advanced.connection.init-query-timeout", "120 s"),
            Map.entry("datastax-java-driver.advanced.metadata.schema.debouncer.window", "20 ms"),
            Map.entry("datastax-java-driver.advanced.reconnection-policy.base-delay", "100 ms"),
            Map.entry("datastax-java-driver.advanced.reconnection-policy.max-delay", "500 ms"),
            Map.entry("pekko.persistence.journal.plugin", "pekko.persistence.cassandra.journal"),
            Map.entry("pekko.persistence.snapshot-store.plugin", "pekko.persistence.cassandra.snapshot"),
            Map.entry("pekko.persistence.cassandra.journal.keyspace-autocreate", true),
            Map.entry("pekko.persistence.cassandra.journal.tables-autocreate", true),
            Map.entry("pekko.persistence.cassandra.snapshot.keyspace-autocreate", true),
            Map.entry("pekko.persistence.cassandra.snapshot.tables-autocreate", true),
            // Small, so that a journal of some hundred events has several partitions.
            Map.entry("pekko.persistence.cassandra.journal.target-partition-size", 50),
            Map.entry("pekko.persistence.cassandra.events-by-tag.eventual-consistency-delay", "100 ms"),
            // From here on buckets of tags are read, an hour each; the default is a day of 2015.
            Map.entry("pekko.persistence.cassandra.events-by-tag.first-time-bucket", LocalDate.now(ZoneOffset.UTC).minusDays(1).format(DateTimeFormatter.BASIC_ISO_DATE) + "T00:00"),
            Map.entry("pekko.actor.allow-java-serialization", true),
            Map.entry("pekko.actor.warn-about-java-serializer-usage", false),
            Map.entry("pekko.loglevel", "OFF"),
            Map.entry("pekko.stdout-loglevel", "OFF"));
    system = ActorSystem.create("applications", ConfigFactory.parseMap(settings).withFallback(ConfigFactory.load()));
    journal = PersistenceQuery.get(system).getReadJournalFor(CassandraReadJournal.class, CassandraReadJournal.Identifier());
  }

  @AfterAll
  static void stop() throws Exception {
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().get(120, TimeUnit.SECONDS);
  }

  static <T> T get(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(120, TimeUnit.SECONDS);
  }

  static ActorRef actor(String id) {
    return system.actorOf(Counter.props(id));
  }

  static Object ask(ActorRef actor, Object message) throws Exception {
    return get(Patterns.ask(actor, message, PATIENCE));
  }

  static Counter.State state(ActorRef actor) throws Exception {
    return (Counter.State) ask(actor, new Counter.Tell());
  }

  /** Ends the actor and starts it again: its state is then what the server has. */
  static ActorRef again(ActorRef actor, String id) throws Exception {
    assertTrue(get(Patterns.gracefulStop(actor, PATIENCE)));
    return actor(id);
  }

  static List<Integer> numbers(Source<EventEnvelope, ?> events) throws Exception {
    return get(events.map(envelope -> ((Counter.Added) envelope.event()).number()).runWith(Sink.seq(), system));
  }

  @Test
  void actorComesBackWithItsEvents() throws Exception {
    ActorRef actor = actor("events");
    assertEquals(0, state(actor).lastSequence());
    for (int number = 1; number <= 5; number++) {
      assertEquals((long) number * (number + 1) / 2, ask(actor, new Counter.Add(number, null)));
    }
    assertEquals(new Counter.State(15, 5, List.of(1, 2, 3, 4, 5), false), state(again(actor, "events")));
  }

  @Test
  void journalOfManyPartitionsComesBackInOrder() throws Exception {
    ActorRef actor = actor("long");
    List<Integer> all = IntStream.range(0, 230).boxed().toList();
    for (int from = 0; from < 230; from += 23) {
      ask(actor, new Counter.AddAll(all.subList(from, from + 23)));
    }
    assertEquals(all, state(again(actor, "long")).replayed());
    assertTrue(Server.rows("SELECT DISTINCT persistence_id, partition_nr FROM pekko.messages").stream().filter(row -> row.getString(0).equals("long")).count() > 3);
  }

  @Test
  void snapshotsShortenReplay() throws Exception {
    ActorRef actor = actor("snapshots");
    ask(actor, new Counter.AddAll(List.of(10, 20, 30)));
    assertEquals(3L, ask(actor, new Counter.Save()));
    ask(actor, new Counter.Add(4, null));
    assertEquals(new Counter.State(64, 4, List.of(4), true), state(again(actor, "snapshots")));
    assertEquals(1, Server.rows("SELECT sequence_nr FROM pekko_snapshot.snapshots WHERE persistence_id = 'snapshots'").size());
  }

  @Test
  void deletedEventsStayAway() throws Exception {
    ActorRef actor = actor("deletes");
    for (int from = 0; from < 120; from += 30) {
      ask(actor, new Counter.AddAll(IntStream.range(from, from + 30).boxed().toList()));
    }
    assertEquals(100L, ask(actor, new Counter.DeleteTo(100)));
    actor = again(actor, "deletes");
    assertEquals(IntStream.range(100, 120).boxed().toList(), state(actor).replayed());
    assertEquals(120, state(actor).lastSequence());
    assertEquals(List.of(118, 119), numbers(journal.currentEventsByPersistenceId("deletes", 119, Long.MAX_VALUE)));
  }

  @Test
  void eventsOfAnActorAreQueried() throws Exception {
    ask(actor("queried"), new Counter.AddAll(IntStream.range(0, 60).boxed().toList()));
    assertEquals(IntStream.range(0, 60).boxed().toList(), numbers(journal.currentEventsByPersistenceId("queried", 0, Long.MAX_VALUE)));
    assertEquals(List.of(9, 10, 11), numbers(journal.currentEventsByPersistenceId("queried", 10, 12)));
    assertEquals(List.of(), numbers(journal.currentEventsByPersistenceId("nobody", 0, Long.MAX_VALUE)));
  }

  @Test
  void newEventsOfAnActorAreFollowed() throws Exception {
    ActorRef actor = actor("followed");
    ask(actor, new Counter.Add(1, null));
    CompletionStage<List<EventEnvelope>> following = journal.eventsByPersistenceId("followed", 0, Long.MAX_VALUE).take(3).runWith(Sink.seq(), system);
    ask(actor, new Counter.AddAll(List.of(2, 3)));
    assertEquals(List.of(1L, 2L, 3L), get(following).stream().map(EventEnvelope::sequenceNr).toList());
  }

  @Test
  void eventsByTagComeFromSeveralActors() throws Exception {
    ActorRef first = actor("tagged1");
    ActorRef second = actor("tagged2");
    for (int number = 0; number < 5; number++) {
      ask(first, new Counter.Add(number, "red"));
      ask(second, new Counter.Add(10 + number, number % 2 == 0 ? "red" : "blue"));
    }
    List<EventEnvelope> red = get(journal.eventsByTag("red", Offset.noOffset()).take(8).runWith(Sink.seq(), system));
    assertEquals(new TreeSet<>(List.of(0, 1, 2, 3, 4, 10, 12, 14)), new TreeSet<>(red.stream().map(envelope -> ((Counter.Added) envelope.event()).number()).toList()));
    // From where a reader was: what is after it only.
    List<Integer> rest = red.subList(5, 8).stream().map(envelope -> ((Counter.Added) envelope.event()).number()).toList();
    assertEquals(rest, numbers(journal.eventsByTag("red", red.get(4).offset()).take(3)));
    assertEquals(new TreeSet<>(List.of(11, 13)), new TreeSet<>(numbers(journal.eventsByTag("blue", Offset.noOffset()).take(2))));
  }

  @Test
  void actorsAreListed() throws Exception {
    ask(actor("listed"), new Counter.Add(1, null));
    List<String> ids = get(journal.currentPersistenceIds().runWith(Sink.seq(), system));
    assertTrue(ids.contains("listed"));
    assertFalse(ids.contains("nobody"));
  }

  @Test
  void twoActorsDoNotMix() throws Exception {
    ActorRef one = actor("apart1");
    ActorRef two = actor("apart2");
    ask(one, new Counter.AddAll(List.of(1, 1)));
    ask(two, new Counter.AddAll(List.of(5, 5, 5)));
    assertEquals(2, state(again(one, "apart1")).sum());
    assertEquals(15, state(again(two, "apart2")).sum());
  }

  @Test
  void tablesAreTheJournals() {
    TreeSet<String> tables = new TreeSet<>();
    Server.rows("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'pekko'").forEach(row -> tables.add(row.getString(0)));
    assertTrue(tables.containsAll(List.of("all_persistence_ids", "messages", "metadata", "tag_scanning", "tag_views", "tag_write_progress")), tables::toString);
  }

  @Test
  @Order(Integer.MAX_VALUE)
  void actorsSurviveAKill() throws Exception {
    Assumptions.assumeTrue(Server.isOurs());
    ActorRef actor = actor("killed");
    ask(actor, new Counter.AddAll(List.of(7, 8)));
    ask(actor, new Counter.Save());
    ask(actor, new Counter.Add(9, "kept"));
    get(Patterns.gracefulStop(actor, PATIENCE));
    Server.kill();
    // An actor that cannot recover ends; the next try makes a new one.
    Counter.State state = Server.whenBack(() -> (Counter.State) Patterns.ask(actor("killed"), new Counter.Tell(), Duration.ofSeconds(2)).toCompletableFuture().get());
    assertEquals(new Counter.State(24, 3, List.of(9), true), state);
    assertEquals(25L, ask(again(actor("killed2"), "killed3"), new Counter.Add(25, null)));
    assertEquals(List.of(9), Server.whenBack(() -> numbers(journal.eventsByTag("kept", Offset.noOffset()).take(1))));
  }
}
