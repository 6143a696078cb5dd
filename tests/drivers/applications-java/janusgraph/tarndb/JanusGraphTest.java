package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.janusgraph.core.Cardinality;
import org.janusgraph.core.JanusGraph;
import org.janusgraph.core.JanusGraphFactory;
import org.janusgraph.core.Multiplicity;
import org.janusgraph.core.PropertyKey;
import org.janusgraph.core.SchemaViolationException;
import org.janusgraph.core.schema.JanusGraphManagement;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** JanusGraph on CQL: its tables, locks and identities, a schema of a graph with indexes, traversals, transactions, a second instance. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class JanusGraphTest {
  static final int PEOPLE = 60;
  static JanusGraph graph;
  static GraphTraversalSource g;

  @BeforeAll
  static void start() {
    try (CqlSession session = Server.connect()) {
      session.execute("DROP KEYSPACE IF EXISTS app_janusgraph");
    }
    graph = open();
    JanusGraphManagement management = graph.openManagement();
    PropertyKey name = management.makePropertyKey("name").dataType(String.class).make();
    PropertyKey age = management.makePropertyKey("age").dataType(Integer.class).make();
    management.makePropertyKey("alias").dataType(String.class).cardinality(Cardinality.SET).make();
    PropertyKey since = management.makePropertyKey("since").dataType(Integer.class).make();
    management.makeVertexLabel("person").make();
    management.makeEdgeLabel("knows").multiplicity(Multiplicity.SIMPLE).make();
    management.makeEdgeLabel("boss").multiplicity(Multiplicity.MANY2ONE).make();
    management.buildEdgeIndex(management.getEdgeLabel("knows"), "knowsBySince", Direction.BOTH, org.apache.tinkerpop.gremlin.process.traversal.Order.desc, since);
    management.buildIndex("byName", Vertex.class).addKey(name).unique().buildCompositeIndex();
    management.buildIndex("byAge", Vertex.class).addKey(age).buildCompositeIndex();
    management.commit();
    g = graph.traversal();
    for (int number = 0; number < PEOPLE; number++) {
      g.addV("person").property("name", "p" + number).property("age", number % 10).iterate();
    }
    g.tx().commit();
    for (int number = 0; number < PEOPLE; number++) {
      Vertex from = person(number);
      for (int step = 1; step <= 3; step++) {
        from.addEdge("knows", person((number + step) % PEOPLE), "since", 2000 + step);
      }
    }
    g.tx().commit();
  }

  @AfterAll
  static void stop() {
    graph.close();
  }

  static JanusGraph open() {
    return JanusGraphFactory.build()
        .set("storage.backend", "cql")
        .set("storage.hostname", Server.host())
        .set("storage.port", Server.port())
        .set("storage.cql.local-datacenter", "datacenter1")
        .set("storage.cql.keyspace", "app_janusgraph")
        .set("storage.cql.replication-factor", 1)
        .set("storage.cql.read-consistency-level", "ONE")
        .set("storage.cql.write-consistency-level", "ONE")
        .set("ids.block-size", 1000)
        .set("cache.db-cache", false)
        .open();
  }

  static Vertex person(int number) {
    return g.V().has("name", "p" + number).next();
  }

  @Test
  void tablesAreThere() {
    Set<String> tables = new TreeSet<>();
    Server.rows("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'app_janusgraph'").forEach(row -> tables.add(row.getString(0)));
    assertTrue(tables.containsAll(List.of("edgestore", "graphindex", "edgestore_lock_", "graphindex_lock_", "janusgraph_ids", "system_properties")), tables::toString);
  }

  @Test
  void indexesFindVertices() {
    assertEquals(1, g.V().has("name", "p17").count().next());
    assertEquals(7, (int) g.V().has("name", "p17").<Integer>values("age").next());
    assertEquals(PEOPLE / 10, g.V().has("age", 3).count().next());
    assertFalse(g.V().has("name", "nobody").hasNext());
  }

  @Test
  void edgesAreFollowed() {
    assertEquals(Set.of("p6", "p7", "p8"), Set.copyOf(g.V().has("name", "p5").out("knows").<String>values("name").toList()));
    assertEquals(Set.of("p2", "p3", "p4"), Set.copyOf(g.V().has("name", "p5").in("knows").<String>values("name").toList()));
    assertEquals(5, g.V().has("name", "p5").out("knows").out("knows").dedup().count().next());
    assertEquals(6, g.V().has("name", "p5").both("knows").count().next());
  }

  @Test
  void edgesAreFoundByTheirOrder() {
    assertEquals(List.of("p8", "p7"), g.V().has("name", "p5").outE("knows").has("since", P.gte(2002)).order().by("since", org.apache.tinkerpop.gremlin.process.traversal.Order.desc).inV().values("name").toList());
    assertEquals(List.of("p6"), g.V().has("name", "p5").outE("knows").has("since", 2001).inV().values("name").toList());
  }

  @Test
  void wholeGraphIsScanned() {
    assertEquals(PEOPLE, g.V().hasLabel("person").has("name", P.gt("p")).count().next());
    assertEquals(3 * PEOPLE, g.E().hasLabel("knows").count().next());
    Map<Object, Long> ages = g.V().hasLabel("person").has("age").groupCount().by("age").next();
    assertTrue(ages.values().stream().allMatch(count -> count == PEOPLE / 10));
  }

  @Test
  void namesAreUnique() {
    assertThrows(SchemaViolationException.class, () -> g.addV("person").property("name", "p1").iterate());
    g.tx().rollback();
    assertEquals(1, g.V().has("name", "p1").count().next());
  }

  @Test
  void multiplicityIsKept() {
    Vertex from = person(20);
    from.addEdge("boss", person(21));
    g.tx().commit();
    assertThrows(SchemaViolationException.class, () -> person(20).addEdge("boss", person(22)));
    g.tx().rollback();
    assertEquals(List.of("p21"), g.V().has("name", "p20").out("boss").values("name").toList());
  }

  @Test
  void changesAreSeenByIndexesAndRollbackUndoes() {
    g.addV("person").property("name", "changing").property("age", 100).property("alias", "a").property("alias", "b").iterate();
    g.tx().commit();
    assertEquals(Set.of("a", "b"), Set.copyOf(g.V().has("name", "changing").<String>values("alias").toList()));
    g.V().has("name", "changing").property("age", 101).iterate();
    g.tx().commit();
    assertEquals(List.of(0L, 1L), List.of(g.V().has("age", 100).count().next(), g.V().has("age", 101).count().next()));
    g.V().has("name", "changing").property("age", 102).iterate();
    g.tx().rollback();
    assertEquals(1, g.V().has("age", 101).count().next());
    g.V().has("name", "changing").drop().iterate();
    g.tx().commit();
    assertEquals(0, g.V().has("age", 101).count().next());
    assertFalse(g.V().has("name", "changing").hasNext());
  }

  @Test
  void secondInstanceSeesTheGraph() {
    try (JanusGraph other = open()) {
      assertEquals(2, other.openManagement().getOpenInstances().size());
      assertEquals(3, other.traversal().V().has("name", "p30").out("knows").count().next());
      other.traversal().addV("person").property("name", "of the other").iterate();
      other.tx().commit();
    }
    g.tx().rollback();
    assertEquals(1, g.V().has("name", "of the other").count().next());
    g.V().has("name", "of the other").drop().iterate();
    g.tx().commit();
  }

  @Test
  @Order(Integer.MAX_VALUE)
  void graphSurvivesAKill() throws Exception {
    Assumptions.assumeTrue(Server.isOurs());
    g.addV("person").property("name", "kept").property("age", 55).iterate();
    g.tx().commit();
    Server.kill();
    g.tx().rollback();
    assertEquals(1, Server.whenBack(() -> g.V().has("age", 55).count().next()));
    assertEquals(3 * PEOPLE, g.E().hasLabel("knows").count().next());
    g.addV("person").property("name", "after").iterate();
    g.tx().commit();
    assertEquals(1, g.V().has("name", "after").count().next());
  }
}
