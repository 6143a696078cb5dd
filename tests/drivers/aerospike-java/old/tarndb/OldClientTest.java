package tarndb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import com.aerospike.client.Operation;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.policy.ClientPolicy;
import com.aerospike.client.policy.GenerationPolicy;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** What YCSB's binding needs of the client of 2015, and the rest of what that client can do with one record and with many. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OldClientTest {
  private static final String SET = "OldClient";
  private static final int UNSUPPORTED_FEATURE = 16;

  private AerospikeClient client;

  @BeforeAll
  void connect() {
    ClientPolicy policy = new ClientPolicy();
    policy.timeout = 120_000;
    policy.readPolicyDefault.timeout = 120_000;
    policy.writePolicyDefault.timeout = 120_000;
    client = new AerospikeClient(policy, Server.host(), Server.port());
  }

  @AfterAll
  void close() {
    client.close();
  }

  private Key fresh(String name) {
    Key key = new Key(Server.NAMESPACE, SET, name);
    client.delete(null, key);
    return key;
  }

  private static void assertRefused(int code, org.junit.jupiter.api.function.Executable request) {
    assertEquals(code, assertThrows(AerospikeException.class, request).getResultCode());
  }

  @Test
  void theClientConnects() {
    assertTrue(client.isConnected());
    assertEquals(1, client.getNodes().length);
    assertEquals(client.getNodes()[0].getName(), Info.request(client.getNodes()[0], "node"));
  }

  @Test
  void recordsAreInsertedReadReplacedAndDeleted() {
    Key key = fresh("user1");
    WritePolicy insert = new WritePolicy(client.writePolicyDefault);
    insert.recordExistsAction = RecordExistsAction.CREATE_ONLY;
    WritePolicy update = new WritePolicy(client.writePolicyDefault);
    update.recordExistsAction = RecordExistsAction.REPLACE_ONLY;
    byte[] field = "field".getBytes(java.nio.charset.StandardCharsets.UTF_8);
    assertRefused(ResultCode.KEY_NOT_FOUND_ERROR, () -> client.put(update, key, new Bin("field0", field)));
    client.put(insert, key, new Bin("field0", field), new Bin("field1", field));
    assertRefused(ResultCode.KEY_EXISTS_ERROR, () -> client.put(insert, key, new Bin("field0", field)));
    assertArrayEquals(field, (byte[]) client.get(null, key).getValue("field1"));
    assertEquals(Set.of("field0"), client.get(null, key, "field0").bins.keySet());
    client.put(update, key, new Bin("field1", field));
    assertEquals(Set.of("field1"), client.get(null, key).bins.keySet());
    assertTrue(client.delete(null, key));
    assertFalse(client.delete(null, key));
    assertNull(client.get(null, key));
  }

  @Test
  void typesGenerationsAndOperations() {
    Key key = fresh("types");
    client.put(null, key, new Bin("i", 7), new Bin("s", "text"), new Bin("l", List.of(1, "a")), new Bin("m", Map.of("k", 1)));
    Record record = client.get(null, key);
    assertEquals(7L, record.getValue("i"));
    assertEquals("text", record.getValue("s"));
    assertEquals(List.of(1L, "a"), record.getValue("l"));
    assertEquals(Map.of("k", 1L), record.getValue("m"));
    client.add(null, key, new Bin("i", 3));
    client.append(null, key, new Bin("s", "!"));
    client.prepend(null, key, new Bin("s", "?"));
    assertTrue(client.exists(null, key));
    client.touch(null, key);
    assertEquals(5, client.getHeader(null, key).generation);
    record = client.operate(null, key, Operation.add(new Bin("i", 1)), Operation.get("i"));
    assertEquals(11L, record.getValue("i"));
    WritePolicy policy = new WritePolicy(client.writePolicyDefault);
    policy.generationPolicy = GenerationPolicy.EXPECT_GEN_EQUAL;
    policy.generation = 2;
    assertRefused(ResultCode.GENERATION_ERROR, () -> client.put(policy, key, new Bin("i", 1)));
    assertEquals("?text!", client.get(null, key).getValue("s"));
  }

  @Test
  void scansSeeEveryRecordOnce() {
    String set = SET + "Many";
    for (int i = 0; i < 400; i++) {
      client.put(null, new Key(Server.NAMESPACE, set, i), new Bin("i", i));
    }
    // Its batches are of a kind that servers have not known since 2019.
    assertRefused(UNSUPPORTED_FEATURE, () -> client.exists(null, new Key[] {new Key(Server.NAMESPACE, set, 1)}));
    Set<Long> seen = new ConcurrentSkipListSet<>();
    client.scanAll(null, Server.NAMESPACE, set, (key, record) -> assertTrue(seen.add((Long) record.getValue("i"))));
    assertEquals(IntStream.range(0, 400).mapToObj(i -> (long) i).collect(Collectors.toSet()), seen);
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
  void whatWasAcknowledgedIsThereAfterAKill() throws Exception {
    for (int i = 0; i < 500; i++) {
      client.put(null, new Key(Server.NAMESPACE, SET + "Kill", i), new Bin("i", i));
    }
    Server.restart("kill");
    Server.until("the client is back", this::isBack);
    for (int i = 0; i < 500; i++) {
      assertEquals((long) i, client.get(null, new Key(Server.NAMESPACE, SET + "Kill", i)).getValue("i"));
    }
  }

  private boolean isBack() {
    try {
      client.exists(null, new Key(Server.NAMESPACE, SET, "anything"));
      return true;
    } catch (AerospikeException error) {
      return false;
    }
  }
}
