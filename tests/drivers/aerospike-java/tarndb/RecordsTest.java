package tarndb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.aerospike.client.Bin;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import com.aerospike.client.Operation;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.Value;
import com.aerospike.client.cluster.Node;
import com.aerospike.client.policy.CommitLevel;
import com.aerospike.client.policy.GenerationPolicy;
import com.aerospike.client.policy.Policy;
import com.aerospike.client.policy.ReadModeSC;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** One record at a time. */
class RecordsTest extends Suite {
  @Test
  void clientSeesOneNodeWithAllPartitions() {
    assertTrue(client.isConnected());
    Node[] nodes = client.getNodes();
    assertEquals(1, nodes.length);
    assertTrue(nodes[0].isActive());
    assertEquals(nodes[0].getName(), Info.request(infos(), nodes[0], "node"));
    Map<String, String> answers = Info.request(infos(), nodes[0], "build", "namespaces", "namespace/" + Server.NAMESPACE);
    assertFalse(answers.get("build").isEmpty());
    assertTrue(Arrays.asList(answers.get("namespaces").split(";")).contains(Server.NAMESPACE));
    assertTrue(answers.get("namespace/" + Server.NAMESPACE).contains("="));
  }

  @Test
  void everyTypeComesBackAsItWent() {
    Key key = fresh("types");
    byte[] blob = {0, 1, -1, 127};
    Value geo = Value.getAsGeoJSON("{\"type\":\"Point\",\"coordinates\":[1.5,2.5]}");
    client.put(
        null,
        key,
        new Bin("int", Long.MIN_VALUE),
        new Bin("double", -0.25),
        new Bin("string", "päckchen"),
        new Bin("empty", ""),
        new Bin("blob", blob),
        new Bin("bool", Value.get(true)),
        new Bin("list", Arrays.asList(1, "two", 3.5, null, Arrays.asList(true))),
        new Bin("map", map("a", 1, 2, "b", "nested", map(1, 2))),
        new Bin("geo", geo));
    Record record = client.get(null, key);
    assertEquals(9, record.bins.size());
    assertEquals(Long.MIN_VALUE, record.getLong("int"));
    assertEquals(-0.25, record.getDouble("double"));
    assertEquals("päckchen", record.getString("string"));
    assertEquals("", record.getString("empty"));
    assertArrayEquals(blob, (byte[]) record.getValue("blob"));
    assertEquals(true, record.getValue("bool"));
    assertEquals(Arrays.asList(1L, "two", 3.5, null, Arrays.asList(true)), record.getList("list"));
    assertEquals(map("a", 1L, 2L, "b", "nested", map(1L, 2L)), record.getMap("map"));
    assertEquals(geo, record.getValue("geo"));
  }

  @Test
  void keysOfEveryTypeAreDifferent() {
    byte[] bytes = {0, 0, 0, 0, 0, 0, 0, 1};
    List<Key> keys =
        List.of(
            new Key(Server.NAMESPACE, set(), 1),
            new Key(Server.NAMESPACE, set(), "1"),
            new Key(Server.NAMESPACE, set(), bytes),
            new Key(Server.NAMESPACE, set() + "2", 1),
            new Key(Server.NAMESPACE, "", 1));
    for (int i = 0; i < keys.size(); i++) {
      client.put(null, keys.get(i), new Bin("i", i));
    }
    for (int i = 0; i < keys.size(); i++) {
      assertEquals(i, client.get(null, keys.get(i)).getInt("i"));
      client.delete(null, keys.get(i));
    }
  }

  @Test
  void someBinsAreReadAndNone() {
    Key key = fresh("some");
    client.put(null, key, new Bin("a", 1), new Bin("b", 2), new Bin("c", 3));
    assertEquals(Set.of("a", "c"), client.get(null, key, "a", "c", "missing").bins.keySet());
    Record header = client.getHeader(null, key);
    assertNull(header.bins);
    assertEquals(1, header.generation);
    assertTrue(client.exists(null, key));
    assertNull(client.get(null, fresh("none")));
    assertNull(client.getHeader(null, fresh("none")));
    assertFalse(client.exists(null, fresh("none")));
  }

  @Test
  void aPutChangesItsBinsOnly() {
    Key key = fresh("bins");
    client.put(null, key, new Bin("a", 1), new Bin("b", 2));
    client.put(null, key, new Bin("b", "two"), new Bin("c", 3.0));
    assertEquals(map("a", 1L, "b", "two", "c", 3.0), client.get(null, key).bins);
    client.put(null, key, Bin.asNull("b"));
    assertEquals(map("a", 1L, "c", 3.0), client.get(null, key).bins);
    client.put(null, key, Bin.asNull("a"), Bin.asNull("c"));
    assertFalse(client.exists(null, key), "a record without bins is none");
  }

  @Test
  void deleteSaysWhetherItWasThere() {
    Key key = fresh("delete");
    client.put(null, key, new Bin("a", 1));
    assertTrue(client.delete(null, key));
    assertFalse(client.delete(null, key));
    client.put(null, key, new Bin("a", 1));
    assertEquals(1, client.getHeader(null, key).generation, "a record that was deleted begins anew");
    WritePolicy durable = writes();
    durable.durableDelete = true;
    assertTrue(client.delete(durable, key));
    assertFalse(client.exists(null, key));
  }

  @Test
  void generationsAreExpected() {
    Key key = fresh("generation");
    client.put(null, key, new Bin("a", 1));
    client.put(null, key, new Bin("a", 2));
    assertEquals(2, client.get(null, key).generation);
    WritePolicy expects = writes();
    expects.generationPolicy = GenerationPolicy.EXPECT_GEN_EQUAL;
    expects.generation = 2;
    client.put(expects, key, new Bin("a", 3));
    assertRefused(ResultCode.GENERATION_ERROR, () -> client.put(expects, key, new Bin("a", 4)));
    assertRefused(ResultCode.GENERATION_ERROR, () -> client.delete(expects, key));
    assertRefused(ResultCode.GENERATION_ERROR, () -> client.touch(expects, key));
    expects.generationPolicy = GenerationPolicy.EXPECT_GEN_GT;
    assertRefused(ResultCode.GENERATION_ERROR, () -> client.put(expects, key, new Bin("a", 4)));
    expects.generation = 9;
    client.put(expects, key, new Bin("a", 5));
    assertEquals(5, client.get(null, key).getInt("a"));
    assertEquals(4, client.get(null, key).generation);
  }

  @Test
  void recordsAreCreatedUpdatedAndReplaced() {
    Key key = fresh("exists");
    WritePolicy policy = writes();
    policy.recordExistsAction = RecordExistsAction.UPDATE_ONLY;
    assertRefused(ResultCode.KEY_NOT_FOUND_ERROR, () -> client.put(policy, key, new Bin("a", 1)));
    policy.recordExistsAction = RecordExistsAction.REPLACE_ONLY;
    assertRefused(ResultCode.KEY_NOT_FOUND_ERROR, () -> client.put(policy, key, new Bin("a", 1)));
    policy.recordExistsAction = RecordExistsAction.CREATE_ONLY;
    client.put(policy, key, new Bin("a", 1), new Bin("b", 1));
    assertRefused(ResultCode.KEY_EXISTS_ERROR, () -> client.put(policy, key, new Bin("a", 2)));
    policy.recordExistsAction = RecordExistsAction.UPDATE_ONLY;
    client.put(policy, key, new Bin("a", 3));
    assertEquals(map("a", 3L, "b", 1L), client.get(null, key).bins);
    policy.recordExistsAction = RecordExistsAction.REPLACE_ONLY;
    client.put(policy, key, new Bin("a", 4));
    assertEquals(map("a", 4L), client.get(null, key).bins);
    policy.recordExistsAction = RecordExistsAction.REPLACE;
    client.put(policy, key, new Bin("c", 5));
    assertEquals(map("c", 5L), client.get(null, key).bins);
    client.delete(null, key);
    client.put(policy, key, new Bin("c", 6));
    assertEquals(map("c", 6L), client.get(null, key).bins);
  }

  @Test
  void recordsExpire() throws InterruptedException {
    Key key = fresh("expire");
    WritePolicy policy = writes();
    // A second, and longer where this machine takes as long as that to look.
    policy.expiration = 1;
    while (true) {
      long start = System.nanoTime();
      client.put(policy, key, new Bin("a", 1));
      if (client.get(null, key) != null) {
        break;
      }
      assertTrue(System.nanoTime() - start > TimeUnit.SECONDS.toNanos(policy.expiration - 1) && policy.expiration < 30, "it is there");
      policy.expiration *= 5;
    }
    Server.until("a record with some seconds to live is gone", () -> client.get(null, key) == null);
    assertFalse(client.exists(null, key));
    policy.expiration = 1000;
    policy.recordExistsAction = RecordExistsAction.CREATE_ONLY;
    client.put(policy, key, new Bin("a", 2));
    assertEquals(1, client.getHeader(null, key).generation);
  }

  @Test
  void timesToLiveAreSetKeptAndTakenAway() {
    Key key = fresh("ttl");
    WritePolicy policy = writes();
    policy.expiration = 1000;
    client.put(policy, key, new Bin("a", 1));
    assertLives(key, 1000);
    policy.expiration = -2;
    client.put(policy, key, new Bin("a", 2));
    assertLives(key, 1000);
    policy.expiration = 5000;
    client.touch(policy, key);
    assertLives(key, 5000);
    assertEquals(3, client.getHeader(null, key).generation);
    policy.expiration = -1;
    client.put(policy, key, new Bin("a", 3));
    assertEquals(0, client.getHeader(null, key).expiration);
    assertEquals(-1, client.getHeader(null, key).getTimeToLive());
  }

  private void assertLives(Key key, int seconds) {
    int left = client.getHeader(null, key).getTimeToLive();
    assertTrue(left <= seconds + 1 && left > seconds - 60, left + " of " + seconds + " s left");
  }

  @Test
  void touchNeedsARecord() {
    Key key = fresh("touch");
    assertRefused(ResultCode.KEY_NOT_FOUND_ERROR, () -> client.touch(null, key));
    assertFalse(client.touched(null, key));
    client.put(null, key, new Bin("a", 1));
    assertTrue(client.touched(null, key));
    Record record = client.operate(null, key, Operation.touch(), Operation.getHeader());
    assertEquals(3, record.generation);
  }

  @Test
  void numbersAreAddedTo() {
    Key key = fresh("add");
    client.add(null, key, new Bin("n", 10), new Bin("d", 1.5));
    client.add(null, key, new Bin("n", 5), new Bin("d", -0.5));
    assertEquals(map("n", 15L, "d", 1.0), client.get(null, key).bins);
    Record record = client.operate(null, key, Operation.add(new Bin("n", 30)), Operation.get("n"));
    assertEquals(45, record.getInt("n"));
    client.put(null, key, new Bin("n", Long.MAX_VALUE), new Bin("s", "text"));
    client.add(null, key, new Bin("n", 1));
    assertEquals(Long.MIN_VALUE, client.get(null, key).getLong("n"));
    assertRefused(ResultCode.BIN_TYPE_ERROR, () -> client.add(null, key, new Bin("s", 1)));
    assertRefused(ResultCode.BIN_TYPE_ERROR, () -> client.add(null, key, new Bin("n", 1.0)));
    assertRefused(ResultCode.PARAMETER_ERROR, () -> client.add(null, key, Bin.asNull("n")));
  }

  @Test
  void stringsAndBlobsAreJoined() {
    Key key = fresh("join");
    client.append(null, key, new Bin("s", "World"));
    client.append(null, key, new Bin("s", "!"));
    client.prepend(null, key, new Bin("s", "Hello "));
    assertEquals("Hello World!", client.get(null, key).getString("s"));
    client.put(null, key, new Bin("b", new byte[] {1, 2}));
    client.append(null, key, new Bin("b", new byte[] {3}));
    client.prepend(null, key, new Bin("b", new byte[] {0}));
    assertArrayEquals(new byte[] {0, 1, 2, 3}, (byte[]) client.get(null, key).getValue("b"));
    assertRefused(ResultCode.BIN_TYPE_ERROR, () -> client.append(null, key, new Bin("b", "text")));
  }

  @Test
  void operationsAreDoneInOrderAndAllOrNone() {
    Key key = fresh("operate");
    client.put(null, key, new Bin("i", 7), new Bin("s", "string value"));
    Record record =
        client.operate(
            null,
            key,
            Operation.add(new Bin("i", 4)),
            Operation.put(new Bin("s", "new string")),
            Operation.get());
    assertEquals(map("i", 11L, "s", "new string"), record.bins);
    record =
        client.operate(
            null, key, Operation.get("i"), Operation.add(new Bin("i", 1)), Operation.get("i"), Operation.append(new Bin("s", "!")));
    assertEquals(Arrays.asList(11L, 12L), record.getList("i"));
    assertRefused(
        ResultCode.BIN_TYPE_ERROR,
        () -> client.operate(null, key, Operation.put(new Bin("i", 0)), Operation.add(new Bin("s", 1))));
    assertEquals(map("i", 12L, "s", "new string!"), client.get(null, key).bins);
    record = client.operate(null, key, Operation.get("i"), Operation.delete());
    assertEquals(12, record.getInt("i"));
    assertFalse(client.exists(null, key));
    record = client.operate(null, key, Operation.put(new Bin("a", 1)), Operation.delete(), Operation.put(new Bin("b", 2)), Operation.get());
    assertEquals(map("b", 2L), record.bins);
  }

  @Test
  void theKeyIsKeptWhenItIsSent() {
    Key key = fresh("sent");
    WritePolicy policy = writes();
    policy.sendKey = true;
    client.put(policy, key, new Bin("a", 1));
    client.put(null, key, new Bin("a", 2));
    assertEquals(2, client.get(null, key).getInt("a"));
    Policy reads = new Policy(client.getReadPolicyDefault());
    reads.sendKey = true;
    assertEquals(2, client.get(reads, key).getInt("a"));
  }

  @Test
  void consistencyMayBeAskedFor() {
    Key key = fresh("consistency");
    WritePolicy policy = writes();
    policy.commitLevel = CommitLevel.COMMIT_MASTER;
    client.put(policy, key, new Bin("a", 1));
    for (ReadModeSC mode : ReadModeSC.values()) {
      Policy reads = new Policy(client.getReadPolicyDefault());
      reads.readModeSC = mode;
      assertEquals(1, client.get(reads, key).getInt("a"), mode.toString());
    }
  }

  @Test
  void requestsMayBeCompressed() {
    Key key = fresh("compressed");
    WritePolicy policy = writes();
    policy.compress = true;
    String text = "tarn ".repeat(20000);
    client.put(policy, key, new Bin("s", text));
    Policy reads = new Policy(client.getReadPolicyDefault());
    reads.compress = true;
    assertEquals(text, client.get(reads, key).getString("s"));
  }

  @Test
  void whatCannotBeIsRefused() {
    Key key = fresh("refused");
    assertRefused(ResultCode.INVALID_NAMESPACE, () -> client.put(null, new Key("nowhere", "set", 1), new Bin("a", 1)));
    assertRefused(ResultCode.BIN_NAME_TOO_LONG, () -> client.put(null, key, new Bin("sixteen_letters_", 1)));
    client.put(null, key, new Bin("fifteen_letters", 1));
    assertEquals(1, client.get(null, key).getInt("fifteen_letters"));
    assertRefused(ResultCode.RECORD_TOO_BIG, () -> client.put(null, key, new Bin("a", new byte[9 << 20])));
    assertEquals(1, client.get(null, key).bins.size());
  }
}
