package tarndb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.aerospike.client.BatchDelete;
import com.aerospike.client.BatchRead;
import com.aerospike.client.BatchRecord;
import com.aerospike.client.BatchResults;
import com.aerospike.client.BatchWrite;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.Operation;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.Value;
import com.aerospike.client.cdt.ListOperation;
import com.aerospike.client.policy.BatchWritePolicy;
import com.aerospike.client.policy.QueryPolicy;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.ScanPolicy;
import com.aerospike.client.policy.WritePolicy;
import com.aerospike.client.query.PartitionFilter;
import com.aerospike.client.query.RecordSet;
import com.aerospike.client.query.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Many records at a time. */
class ManyTest extends Suite {
  private static final int COUNT = 3000;
  private static final Set<Integer> ALL = IntStream.range(0, COUNT).boxed().collect(Collectors.toCollection(TreeSet::new));

  private Key stored(int i) {
    return new Key(Server.NAMESPACE, set(), i);
  }

  private Key[] keys(String prefix, int count) {
    Key[] keys = new Key[count];
    for (int i = 0; i < count; i++) {
      keys[i] = new Key(Server.NAMESPACE, set() + "Batch", prefix + i);
      client.delete(null, keys[i]);
    }
    return keys;
  }

  @BeforeAll
  void fill() {
    WritePolicy policy = writes();
    policy.sendKey = true;
    for (int i = 0; i < COUNT; i++) {
      client.put(policy, stored(i), new Bin("i", i), new Bin("text", "record " + i));
    }
  }

  @Test
  void batchesAreRead() {
    Key[] keys = IntStream.range(COUNT - 100, COUNT + 100).mapToObj(this::stored).toArray(Key[]::new);
    boolean[] exist = client.exists(null, keys);
    Record[] records = client.get(null, keys);
    Record[] some = client.get(null, keys, "i");
    Record[] headers = client.getHeader(null, keys);
    for (int k = 0; k < keys.length; k++) {
      int i = COUNT - 100 + k;
      assertEquals(i < COUNT, exist[k]);
      if (i < COUNT) {
        assertEquals(map("i", (long) i, "text", "record " + i), records[k].bins);
        assertEquals(map("i", (long) i), some[k].bins);
        assertEquals(1, headers[k].generation);
      } else {
        assertNull(records[k]);
        assertNull(some[k]);
        assertNull(headers[k]);
      }
    }
    Record[] operated = client.get(null, new Key[] {stored(1)}, Operation.get("text"));
    assertEquals("record 1", operated[0].getString("text"));
  }

  @Test
  void eachReadOfABatchMayWantSomethingElse() {
    List<BatchRead> reads =
        List.of(
            new BatchRead(stored(1), new String[] {"i"}),
            new BatchRead(stored(2), true),
            new BatchRead(stored(3), false),
            new BatchRead(stored(4), new Operation[] {Operation.get("text"), Operation.get("i")}),
            new BatchRead(stored(5), new String[] {"missing"}),
            new BatchRead(stored(COUNT + 5), true));
    client.get(null, new ArrayList<>(reads));
    assertEquals(map("i", 1L), reads.get(0).record.bins);
    assertEquals(2, reads.get(1).record.bins.size());
    assertNull(reads.get(2).record.bins);
    assertEquals(map("i", 4L, "text", "record 4"), reads.get(3).record.bins);
    assertTrue(reads.get(4).record.bins == null || reads.get(4).record.bins.isEmpty());
    assertNull(reads.get(5).record);
    assertEquals(ResultCode.KEY_NOT_FOUND_ERROR, reads.get(5).resultCode);
  }

  @Test
  void batchesWriteOperateAndDelete() {
    Key[] keys = keys("write", 50);
    BatchResults written = client.operate(null, null, keys, Operation.put(new Bin("a", 1)), Operation.put(new Bin("s", "x")));
    assertTrue(written.status);
    BatchResults operated =
        client.operate(
            null,
            null,
            keys,
            ListOperation.append("list", Value.get(7)),
            Operation.add(new Bin("a", 2)),
            Operation.get("a"),
            ListOperation.size("list"));
    assertTrue(operated.status);
    for (BatchRecord record : operated.records) {
      assertEquals(ResultCode.OK, record.resultCode);
      // Every operation of a batch is answered.
      assertEquals(Arrays.asList(null, 3L), record.record.getList("a"));
      assertEquals(List.of(1L, 1L), record.record.getList("list"));
    }
    BatchResults deleted = client.delete(null, null, keys);
    assertTrue(deleted.status);
    assertFalse(client.exists(null, keys[0]));
    BatchResults again = client.delete(null, null, keys);
    assertFalse(again.status);
    assertEquals(ResultCode.KEY_NOT_FOUND_ERROR, again.records[0].resultCode);
  }

  @Test
  void aBatchMayReadWriteAndDelete() {
    Key[] keys = keys("mixed", 4);
    client.put(null, keys[0], new Bin("a", 1));
    client.put(null, keys[2], new Bin("a", 3));
    BatchWritePolicy create = new BatchWritePolicy();
    create.recordExistsAction = RecordExistsAction.CREATE_ONLY;
    List<BatchRecord> batch =
        List.of(
            new BatchRead(keys[0], true),
            new BatchWrite(keys[1], new Operation[] {Operation.put(new Bin("b", 2)), Operation.get("b")}),
            new BatchDelete(keys[2]),
            new BatchWrite(create, keys[0], new Operation[] {Operation.put(new Bin("a", 9))}),
            new BatchDelete(keys[3]));
    assertFalse(client.operate(null, new ArrayList<>(batch)));
    assertEquals(1, batch.get(0).record.getInt("a"));
    assertEquals(Arrays.asList(null, 2L), batch.get(1).record.getList("b"));
    assertEquals(ResultCode.OK, batch.get(2).resultCode);
    assertEquals(ResultCode.KEY_EXISTS_ERROR, batch.get(3).resultCode);
    assertEquals(ResultCode.KEY_NOT_FOUND_ERROR, batch.get(4).resultCode);
    assertArrayEquals(new boolean[] {true, true, false, false}, client.exists(null, keys));
    assertEquals(1, client.get(null, keys[0]).getInt("a"));
  }

  @Test
  void scansSeeEveryRecordOnce() {
    Set<Integer> seen = new ConcurrentSkipListSet<>();
    client.scanAll(
        null,
        Server.NAMESPACE,
        set(),
        (key, record) -> {
          int i = record.getInt("i");
          assertEquals(i, key.userKey.toInteger());
          assertEquals("record " + i, record.getString("text"));
          assertTrue(seen.add(i), i + " comes twice");
        });
    assertEquals(ALL, seen);
    seen.clear();
    client.scanAll(null, Server.NAMESPACE, set(), (key, record) -> seen.add(record.getInt("i")), "i");
    assertEquals(ALL, seen);
    ScanPolicy headers = new ScanPolicy(client.getScanPolicyDefault());
    headers.includeBinData = false;
    seen.clear();
    client.scanAll(headers, Server.NAMESPACE, set(), (key, record) -> seen.add(key.userKey.toInteger()));
    assertEquals(ALL, seen);
  }

  @Test
  void aScanGoesOnWhereItStopped() {
    PartitionFilter filter = PartitionFilter.all();
    ScanPolicy policy = new ScanPolicy(client.getScanPolicyDefault());
    policy.maxRecords = 700;
    Set<Integer> seen = new ConcurrentSkipListSet<>();
    int rounds = 0;
    while (!filter.isDone()) {
      assertTrue(++rounds < 20, "a scan of 3000 by 700 ends");
      client.scanPartitions(
          policy, filter, Server.NAMESPACE, set(), (key, record) -> assertTrue(seen.add(record.getInt("i")), "comes twice"));
    }
    assertEquals(ALL, seen);
    assertTrue(rounds >= 5, rounds + " rounds");
  }

  @Test
  void partitionsAreScannedByThemselves() {
    Set<Integer> seen = new ConcurrentSkipListSet<>();
    for (int begin = 0; begin < 4096; begin += 1024) {
      client.scanPartitions(
          null, PartitionFilter.range(begin, 1024), Server.NAMESPACE, set(), (key, record) -> assertTrue(seen.add(record.getInt("i"))));
    }
    assertEquals(ALL, seen);
  }

  @Test
  void queriesWithoutAFilterSeeEveryRecord() {
    Statement statement = new Statement();
    statement.setNamespace(Server.NAMESPACE);
    statement.setSetName(set());
    statement.setBinNames("i");
    Set<Integer> seen = new TreeSet<>();
    QueryPolicy policy = new QueryPolicy(client.getQueryPolicyDefault());
    try (RecordSet records = client.query(policy, statement)) {
      while (records.next()) {
        assertEquals(Map.of("i", records.getRecord().getValue("i")), records.getRecord().bins);
        assertTrue(seen.add(records.getRecord().getInt("i")));
      }
    }
    assertEquals(ALL, seen);
    statement.setRecordsPerSecond(20000);
    seen.clear();
    try (RecordSet records = client.query(policy, statement)) {
      records.forEach(record -> seen.add(record.record.getInt("i")));
    }
    assertEquals(ALL, seen);
  }

  @Test
  void aSetIsTruncated() throws InterruptedException {
    String set = set() + "Truncated";
    for (int i = 0; i < 100; i++) {
      client.put(null, new Key(Server.NAMESPACE, set, i), new Bin("i", i));
    }
    client.truncate(null, Server.NAMESPACE, set, null);
    Server.until("the set is empty", () -> !client.exists(null, new Key(Server.NAMESPACE, set, 99)));
    for (int i = 0; i < 100; i++) {
      assertFalse(client.exists(null, new Key(Server.NAMESPACE, set, i)));
    }
    client.put(null, new Key(Server.NAMESPACE, set, 1), new Bin("i", 2));
    assertEquals(2, client.get(null, new Key(Server.NAMESPACE, set, 1)).getInt("i"));
  }
}
