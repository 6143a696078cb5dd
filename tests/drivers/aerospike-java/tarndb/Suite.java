package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Key;
import com.aerospike.client.policy.ClientPolicy;
import com.aerospike.client.policy.InfoPolicy;
import com.aerospike.client.policy.WritePolicy;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.function.Executable;

/** A client of the server under test and a set that belongs to the suite. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class Suite {
  /** How long a request may take: a slow machine lets it wait for longer than the client's second. */
  static final int PATIENCE_MS = 120_000;

  AerospikeClient client;

  @BeforeAll
  void connect() {
    ClientPolicy policy = new ClientPolicy();
    policy.timeout = PATIENCE_MS;
    policy.readPolicyDefault.setTimeout(PATIENCE_MS);
    policy.writePolicyDefault.setTimeout(PATIENCE_MS);
    policy.batchPolicyDefault.setTimeout(PATIENCE_MS);
    policy.batchParentPolicyWriteDefault.setTimeout(PATIENCE_MS);
    policy.scanPolicyDefault.setTimeout(PATIENCE_MS);
    policy.queryPolicyDefault.setTimeout(PATIENCE_MS);
    client = new AerospikeClient(policy, Server.host(), Server.port());
    client.infoPolicyDefault.timeout = PATIENCE_MS;
  }

  @AfterAll
  void close() {
    client.close();
  }

  /** The name of the suite's set. */
  String set() {
    return getClass().getSimpleName();
  }

  /** A key of the suite's set; no record has it. */
  Key fresh(String name) {
    Key key = new Key(Server.NAMESPACE, set(), name);
    client.delete(null, key);
    return key;
  }

  /** The defaults of writes, to change. */
  WritePolicy writes() {
    return new WritePolicy(client.getWritePolicyDefault());
  }

  /** Requests for information that are patient. */
  static InfoPolicy infos() {
    InfoPolicy policy = new InfoPolicy();
    policy.timeout = PATIENCE_MS;
    return policy;
  }

  static void assertRefused(int code, Executable request) {
    AerospikeException refusal = assertThrows(AerospikeException.class, request);
    assertEquals(code, refusal.getResultCode(), refusal.getMessage());
  }

  /** A map from keys and values in turn. */
  static Map<Object, Object> map(Object... entries) {
    Map<Object, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < entries.length; i += 2) {
      map.put(entries[i], entries[i + 1]);
    }
    return map;
  }
}
