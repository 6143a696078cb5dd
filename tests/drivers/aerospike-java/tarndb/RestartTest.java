package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.Record;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The server ends and comes back. */
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
class RestartTest extends Suite {
  @ParameterizedTest
  @ValueSource(strings = {"kill", "term"})
  void whatWasAcknowledgedIsThere(String how) throws Exception {
    AtomicInteger acknowledged = new AtomicInteger();
    AtomicBoolean done = new AtomicBoolean();
    Thread writer =
        new Thread(
            () -> {
              for (int i = 0; !done.get(); i++) {
                try {
                  client.put(null, new Key(Server.NAMESPACE, set() + how, i), new Bin("i", i), new Bin("list", List.of(i, "x")));
                  acknowledged.set(i + 1);
                } catch (AerospikeException error) {
                  return; // the server is gone; what became of this write is unknown
                }
              }
            });
    Key gone = fresh("gone" + how);
    client.put(null, gone, new Bin("a", 1));
    assertTrue(client.delete(null, gone));
    writer.start();
    Server.until("some writes are acknowledged", () -> acknowledged.get() > 200);
    Server.restart(how);
    done.set(true);
    writer.join();
    Server.until("the client is back", () -> isBack(gone));
    for (int i = 0; i < acknowledged.get(); i++) {
      Record record = client.get(null, new Key(Server.NAMESPACE, set() + how, i));
      assertEquals(map("i", (long) i, "list", List.of((long) i, "x")), record.bins);
      assertEquals(1, record.generation);
    }
    assertFalse(client.exists(null, gone), "a deleted record does not come back");
    client.put(null, gone, new Bin("a", 2));
    assertEquals(2, client.get(null, gone).getInt("a"));
  }

  private boolean isBack(Key key) {
    try {
      client.exists(null, key);
      return true;
    } catch (AerospikeException error) {
      return false;
    }
  }
}
