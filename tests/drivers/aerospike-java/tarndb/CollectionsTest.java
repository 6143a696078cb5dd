package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.Operation;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.Value;
import com.aerospike.client.cdt.CTX;
import com.aerospike.client.cdt.ListOperation;
import com.aerospike.client.cdt.ListOrder;
import com.aerospike.client.cdt.ListPolicy;
import com.aerospike.client.cdt.ListReturnType;
import com.aerospike.client.cdt.ListSortFlags;
import com.aerospike.client.cdt.ListWriteFlags;
import com.aerospike.client.cdt.MapOperation;
import com.aerospike.client.cdt.MapOrder;
import com.aerospike.client.cdt.MapPolicy;
import com.aerospike.client.cdt.MapReturnType;
import com.aerospike.client.cdt.MapWriteFlags;
import com.aerospike.client.policy.WritePolicy;
import java.util.AbstractMap.SimpleEntry;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Lists and maps. */
class CollectionsTest extends Suite {
  private static final String BIN = "bin";
  private static final ListPolicy ORDERED = new ListPolicy(ListOrder.ORDERED, ListWriteFlags.DEFAULT);
  private static final MapPolicy KEY_ORDERED = new MapPolicy(MapOrder.KEY_ORDERED, MapWriteFlags.DEFAULT);

  private static List<Value> values(Object... values) {
    return Arrays.stream(values).map(Value::get).toList();
  }

  private static Map<Value, Value> valueMap(Object... entries) {
    Map<Value, Value> map = new HashMap<>();
    map(entries).forEach((key, value) -> map.put(Value.get(key), Value.get(value)));
    return map;
  }

  private static Object entry(Object key, Object value) {
    return new SimpleEntry<>(key, value);
  }

  /** The answers of operations on the bin, nulls too. */
  private List<?> operate(Key key, Operation... operations) {
    WritePolicy policy = writes();
    policy.respondAllOps = true;
    Record record = client.operate(policy, key, operations);
    return operations.length == 1 ? Arrays.asList(record.getValue(BIN)) : record.getList(BIN);
  }

  private Object stored(Key key) {
    return client.get(null, key).getValue(BIN);
  }

  @Test
  void listsGrowAndShrink() {
    Key key = fresh("grow");
    assertEquals(
        Arrays.asList(1L, 2L, 77L, 1L),
        operate(
            key,
            ListOperation.append(BIN, Value.get(55)),
            ListOperation.append(BIN, Value.get(77)),
            ListOperation.pop(BIN, -1),
            ListOperation.size(BIN)));
    assertEquals(
        Arrays.asList(4L, 5L, null, List.of("a", 12L, "b"), 2L, 1L),
        operate(
            key,
            ListOperation.insertItems(BIN, 0, values("a", 12, -8734)),
            ListOperation.insert(BIN, -1, Value.get("c")),
            ListOperation.set(BIN, 2, Value.get("b")),
            ListOperation.getRange(BIN, 0, 3),
            ListOperation.removeRange(BIN, 3),
            ListOperation.remove(BIN, 0)));
    assertEquals(List.of(12L, "b"), stored(key));
    assertEquals(
        Arrays.asList(7L, List.of("b", 1L), List.of(4L, 5L), 1L, null, 0L),
        operate(
            key,
            ListOperation.appendItems(BIN, values(1, 2, 3, 4, 5)),
            ListOperation.popRange(BIN, 1, 2),
            ListOperation.popRange(BIN, -2),
            ListOperation.trim(BIN, 1, 2),
            ListOperation.clear(BIN),
            ListOperation.size(BIN)));
    assertEquals(List.of(), stored(key));
  }

  @Test
  void numbersInListsAreAddedTo() {
    Key key = fresh("increment");
    assertEquals(
        List.of(3L, 4L, 5L, 9L, 16L, 1L),
        operate(
            key,
            ListOperation.appendItems(BIN, values(1, 2, 3)),
            ListOperation.increment(BIN, 2),
            ListOperation.increment(ListPolicy.Default, BIN, 2),
            ListOperation.increment(BIN, 1, Value.get(7)),
            ListOperation.increment(ListPolicy.Default, BIN, 1, Value.get(7)),
            ListOperation.get(BIN, 0)));
  }

  @Test
  void listsAreReadByIndexRankAndValue() {
    Key key = fresh("by");
    client.put(null, key, new Bin(BIN, List.of(4, 3, 1, 5, 2)));
    assertEquals(
        Arrays.asList(5L, List.of(0L, 2L, 3L, 4L), 3L, List.of(0L, 2L, 4L), List.of(4L, 3L, 1L), List.of(1L, 2L)),
        operate(
            key,
            ListOperation.getByIndex(BIN, 3, ListReturnType.VALUE),
            ListOperation.getByValue(BIN, Value.get(3), ListReturnType.INDEX | ListReturnType.INVERTED),
            ListOperation.getByValueRange(BIN, Value.get(-1), Value.get(3), ListReturnType.COUNT | ListReturnType.INVERTED),
            ListOperation.getByValueList(BIN, values(4, 2), ListReturnType.RANK | ListReturnType.INVERTED),
            ListOperation.getByIndexRange(BIN, -2, 2, ListReturnType.VALUE | ListReturnType.INVERTED),
            ListOperation.getByRankRange(BIN, 2, 3, ListReturnType.VALUE | ListReturnType.INVERTED)));
    assertEquals(
        Arrays.asList(null, List.of(2L), 2L, true, List.of(3L, 1L), 4L, List.of(4L, 5L), 1L, List.of(3L, 4L, 5L)),
        operate(
            key,
            ListOperation.setOrder(BIN, ListOrder.ORDERED),
            ListOperation.getByValue(BIN, Value.get(3), ListReturnType.INDEX),
            ListOperation.getByValueRange(BIN, Value.get(-1), Value.get(3), ListReturnType.COUNT),
            ListOperation.getByValueRange(BIN, Value.get(-1), Value.get(3), ListReturnType.EXISTS),
            ListOperation.getByValueList(BIN, values(4, 2), ListReturnType.RANK),
            ListOperation.getByIndex(BIN, 3, ListReturnType.VALUE),
            ListOperation.getByIndexRange(BIN, -2, 2, ListReturnType.VALUE),
            ListOperation.getByRank(BIN, 0, ListReturnType.VALUE),
            ListOperation.getByRankRange(BIN, 2, 3, ListReturnType.VALUE)));
  }

  @Test
  void listsAreReadRelativeToAValue() {
    Key key = fresh("relative");
    assertEquals(
        List.of(6L, List.of(5L, 9L, 11L, 15L), List.of(4L, 5L), List.of(11L, 15L), List.of(), List.of(11L, 15L)),
        operate(
            key,
            ListOperation.appendItems(ORDERED, BIN, values(0, 4, 5, 9, 11, 15)),
            ListOperation.getByValueRelativeRankRange(BIN, Value.get(5), 0, ListReturnType.VALUE),
            ListOperation.getByValueRelativeRankRange(BIN, Value.get(5), -1, 2, ListReturnType.VALUE),
            ListOperation.getByValueRelativeRankRange(BIN, Value.get(3), 3, 7, ListReturnType.VALUE),
            ListOperation.getByValueRelativeRankRange(BIN, Value.get(3), -3, 2, ListReturnType.VALUE),
            ListOperation.getByValueRange(BIN, Value.get(10), Value.INFINITY, ListReturnType.VALUE)));
  }

  @Test
  void listsLoseValues() {
    Key key = fresh("lose");
    assertEquals(
        List.of(10L, List.of(5L), List.of(14L), List.of(33L, 33L), -1L, List.of(), -44L, List.of(22L)),
        operate(
            key,
            ListOperation.appendItems(BIN, values(-44, 33, -1, 33, -2, 0, 22, 11, 14, 6)),
            ListOperation.removeByValue(BIN, Value.get(0), ListReturnType.INDEX),
            ListOperation.removeByValueList(BIN, values(-45, 14), ListReturnType.VALUE),
            ListOperation.removeByValueRange(BIN, Value.get(33), Value.get(100), ListReturnType.VALUE),
            ListOperation.removeByIndex(BIN, 1, ListReturnType.VALUE),
            ListOperation.removeByIndexRange(BIN, 100, 101, ListReturnType.VALUE),
            ListOperation.removeByRank(BIN, 0, ListReturnType.VALUE),
            ListOperation.removeByRankRange(BIN, 3, 1, ListReturnType.VALUE)));
    assertEquals(
        Arrays.asList(null, List.of(11L), List.of(-2L, 6L), 0L),
        operate(
            key,
            ListOperation.sort(BIN, ListSortFlags.DROP_DUPLICATES),
            ListOperation.removeByValueRelativeRankRange(BIN, Value.get(10), 0, ListReturnType.VALUE),
            ListOperation.removeByIndexRange(BIN, 5, ListReturnType.VALUE | ListReturnType.INVERTED),
            ListOperation.size(BIN)));
  }

  @Test
  void valuesOfListsMayHaveToBeNew() {
    Key key = fresh("unique");
    ListPolicy partial =
        new ListPolicy(ListOrder.ORDERED, ListWriteFlags.ADD_UNIQUE | ListWriteFlags.PARTIAL | ListWriteFlags.NO_FAIL);
    ListPolicy none = new ListPolicy(ListOrder.ORDERED, ListWriteFlags.ADD_UNIQUE | ListWriteFlags.NO_FAIL);
    ListPolicy unique = new ListPolicy(ListOrder.ORDERED, ListWriteFlags.ADD_UNIQUE);
    ListPolicy bounded = new ListPolicy(ListOrder.UNORDERED, ListWriteFlags.INSERT_BOUNDED);
    assertEquals(
        List.of(6L, 6L, 7L),
        operate(
            key,
            ListOperation.appendItems(partial, BIN, values(0, 4, 5, 9, 9, 11, 15, 0)),
            ListOperation.appendItems(none, BIN, values(11, 3)),
            ListOperation.appendItems(partial, BIN, values(11, 3))));
    assertRefused(ResultCode.ELEMENT_EXISTS, () -> operate(key, ListOperation.append(unique, BIN, Value.get(3))));
    client.put(null, key, new Bin(BIN, List.of(1)));
    assertRefused(ResultCode.OP_NOT_APPLICABLE, () -> operate(key, ListOperation.insert(bounded, BIN, 3, Value.get(3))));
    assertEquals(List.of(4L), operate(key, ListOperation.insert(BIN, 3, Value.get(3))));
    assertEquals(Arrays.asList(1L, null, null, 3L), stored(key));
  }

  @Test
  void wildcardsMatchTheRestOfAList() {
    Key key = fresh("wildcard");
    client.put(null, key, new Bin(BIN, List.of(List.of("John", 55), List.of("Jim", 95), List.of("Joe", 80))));
    assertEquals(
        List.of(List.of(List.of("Jim", 95L))),
        operate(
            key,
            ListOperation.getByValue(BIN, Value.get(List.of(Value.get("Jim"), Value.WILDCARD)), ListReturnType.VALUE)));
  }

  @Test
  void listsInListsAndMapsAreChanged() {
    Key key = fresh("nested");
    client.put(null, key, new Bin(BIN, map("key1", List.of(List.of(7, 9, 5)), "key2", List.of(List.of(9), List.of(2, 4)))));
    assertEquals(
        List.of(3L, map("key1", List.of(List.of(7L, 9L, 5L)), "key2", List.of(List.of(9L), List.of(2L, 4L, 11L)))),
        operate(
            key,
            ListOperation.append(BIN, Value.get(11), CTX.mapKey(Value.get("key2")), CTX.listRank(0)),
            Operation.get(BIN)));
    assertEquals(
        List.of(1L, 1L),
        operate(
            key,
            ListOperation.append(BIN, Value.get(1), CTX.mapKey(Value.get("key1")), CTX.listIndexCreate(1, ListOrder.ORDERED, false)),
            ListOperation.getByIndex(BIN, 0, ListReturnType.VALUE, CTX.mapKey(Value.get("key1")), CTX.listIndex(-1))));
    assertRefused(
        ResultCode.OP_NOT_APPLICABLE,
        () -> operate(key, ListOperation.append(BIN, Value.get(1), CTX.mapKey(Value.get("key3")))));
  }

  @Test
  void listsAreCreatedWithAnOrder() {
    Key key = fresh("create");
    assertEquals(
        Arrays.asList(null, 3L, List.of(1L, 2L, 3L)),
        operate(
            key,
            ListOperation.create(BIN, ListOrder.ORDERED, false, true),
            ListOperation.appendItems(BIN, values(3, 2, 1)),
            Operation.get(BIN)));
  }

  @Test
  void pairsArePut() {
    Key key = fresh("put");
    MapPolicy create = new MapPolicy(MapOrder.UNORDERED, MapWriteFlags.CREATE_ONLY);
    MapPolicy update = new MapPolicy(MapOrder.UNORDERED, MapWriteFlags.UPDATE_ONLY);
    assertEquals(
        List.of(1L, 2L, 3L, 3L),
        operate(
            key,
            MapOperation.put(MapPolicy.Default, BIN, Value.get(11), Value.get(789)),
            MapOperation.put(MapPolicy.Default, BIN, Value.get(10), Value.get(999)),
            MapOperation.put(create, BIN, Value.get(12), Value.get(500)),
            MapOperation.put(update, BIN, Value.get(10), Value.get(1))));
    assertEquals(map(11L, 789L, 10L, 1L, 12L, 500L), stored(key));
    assertRefused(ResultCode.ELEMENT_EXISTS, () -> operate(key, MapOperation.put(create, BIN, Value.get(10), Value.get(2))));
    assertRefused(ResultCode.ELEMENT_NOT_FOUND, () -> operate(key, MapOperation.put(update, BIN, Value.get(77), Value.get(2))));
    MapPolicy partial = new MapPolicy(MapOrder.UNORDERED, MapWriteFlags.CREATE_ONLY | MapWriteFlags.PARTIAL | MapWriteFlags.NO_FAIL);
    MapPolicy none = new MapPolicy(MapOrder.UNORDERED, MapWriteFlags.CREATE_ONLY | MapWriteFlags.NO_FAIL);
    assertEquals(
        List.of(3L, 4L),
        operate(
            key,
            MapOperation.putItems(none, BIN, valueMap(11, 1, 3, 3)),
            MapOperation.putItems(partial, BIN, valueMap(11, 1, 3, 3))));
  }

  @Test
  void mapsSayHowTheyAreOrdered() {
    Key key = fresh("ordered");
    List<?> answers =
        operate(
            key,
            MapOperation.putItems(KEY_ORDERED, BIN, valueMap(12, "a", -8734, "b", 1, "c", 13, "d")),
            MapOperation.getByKeyRange(BIN, Value.get(12), Value.get(15), MapReturnType.KEY_VALUE),
            MapOperation.getByKeyRange(BIN, Value.get(12), Value.get(15), MapReturnType.UNORDERED_MAP),
            MapOperation.getByKeyRange(BIN, Value.get(12), Value.get(15), MapReturnType.ORDERED_MAP),
            Operation.get(BIN));
    assertEquals(List.of(entry(12L, "a"), entry(13L, "d")), answers.get(1));
    assertInstanceOf(HashMap.class, answers.get(2));
    assertInstanceOf(TreeMap.class, answers.get(3));
    assertEquals(map(12L, "a", 13L, "d"), answers.get(3));
    assertInstanceOf(TreeMap.class, answers.get(4));
    assertEquals(List.of(-8734L, 1L, 12L, 13L), List.copyOf(((Map<?, ?>) answers.get(4)).keySet()));
    TreeMap<Object, Object> whole = new TreeMap<>(map("b", 1, "a", 2));
    client.put(null, key, new Bin(BIN, whole));
    assertInstanceOf(TreeMap.class, stored(key));
    operate(key, MapOperation.setMapPolicy(MapPolicy.Default, BIN));
    assertInstanceOf(HashMap.class, stored(key));
  }

  @Test
  void mapsAreReadByKeyIndexRankAndValue() {
    Key key = fresh("scores");
    client.put(null, key, new Bin(BIN, map("Charlie", 55, "Jim", 98, "John", 76, "Harry", 82)));
    assertEquals(
        List.of(81L, 94L),
        operate(
            key,
            MapOperation.increment(MapPolicy.Default, BIN, Value.get("John"), Value.get(5)),
            MapOperation.increment(MapPolicy.Default, BIN, Value.get("Jim"), Value.get(-4))));
    assertEquals(
        Arrays.asList(
            List.of("Harry", "Jim"),
            List.of(entry("Charlie", 55L), entry("John", 81L)),
            55L,
            "Harry",
            List.of(3L),
            1L,
            List.of("John"),
            List.of(),
            0L,
            3L,
            null,
            4L),
        operate(
            key,
            MapOperation.getByRankRange(BIN, -2, 2, MapReturnType.KEY),
            MapOperation.getByRankRange(BIN, 0, 2, MapReturnType.KEY_VALUE),
            MapOperation.getByRank(BIN, 0, MapReturnType.VALUE),
            MapOperation.getByRank(BIN, 2, MapReturnType.KEY),
            MapOperation.getByValueRange(BIN, Value.get(90), Value.get(95), MapReturnType.RANK),
            MapOperation.getByValueRange(BIN, Value.get(90), Value.get(95), MapReturnType.COUNT),
            MapOperation.getByValueRange(BIN, Value.get(81), Value.get(82), MapReturnType.KEY),
            MapOperation.getByValue(BIN, Value.get(77), MapReturnType.KEY),
            MapOperation.getByKey(BIN, Value.get("Charlie"), MapReturnType.RANK),
            MapOperation.getByKey(BIN, Value.get("Charlie"), MapReturnType.REVERSE_RANK),
            MapOperation.getByKey(BIN, Value.get("nobody"), MapReturnType.VALUE),
            MapOperation.size(BIN)));
    assertEquals(
        List.of(
            List.of(entry("Harry", 82L), entry("Jim", 94L)),
            List.of(entry("John", 81L)),
            List.of(0L, 1L, 2L),
            List.of("Charlie", "John"),
            List.of("Jim", "John"),
            List.of("Harry", "Jim"),
            List.of(82L, 94L)),
        operate(
            key,
            MapOperation.getByKeyList(BIN, values("Harry", "Jim"), MapReturnType.KEY_VALUE),
            MapOperation.getByValueList(BIN, values(81, 50), MapReturnType.KEY_VALUE),
            MapOperation.getByValueRange(BIN, Value.get(90), Value.get(100), MapReturnType.RANK | MapReturnType.INVERTED),
            MapOperation.getByRankRange(BIN, -2, 2, MapReturnType.KEY | MapReturnType.INVERTED),
            MapOperation.getByKeyRange(BIN, Value.get("I"), Value.INFINITY, MapReturnType.KEY),
            MapOperation.getByIndexRange(BIN, 1, 2, MapReturnType.KEY),
            MapOperation.getByValueRelativeRankRange(BIN, Value.get(81), 1, MapReturnType.VALUE)));
    assertRefused(ResultCode.OP_NOT_APPLICABLE, () -> operate(key, MapOperation.getByIndex(BIN, 9, MapReturnType.KEY)));
  }

  @Test
  void mapsLosePairs() {
    Key key = fresh("losses");
    client.put(
        null,
        key,
        new Bin(BIN, map("Charlie", 55, "Jim", 98, "John", 76, "Harry", 82, "Sally", 79, "Lenny", 84, "Abe", 88)));
    assertEquals(
        Arrays.asList(null, 98L, 2L, List.of("Charlie"), 1L, 2L, null, 0L),
        operate(
            key,
            MapOperation.removeByKey(BIN, Value.get("NOTFOUND"), MapReturnType.VALUE),
            MapOperation.removeByKey(BIN, Value.get("Jim"), MapReturnType.VALUE),
            MapOperation.removeByKeyList(BIN, values("Sally", "UNKNOWN", "Lenny"), MapReturnType.COUNT),
            MapOperation.removeByValue(BIN, Value.get(55), MapReturnType.KEY),
            MapOperation.removeByKeyRange(BIN, Value.get("J"), Value.get("K"), MapReturnType.COUNT),
            MapOperation.removeByRankRange(BIN, 0, 2, MapReturnType.COUNT),
            MapOperation.clear(BIN),
            MapOperation.size(BIN)));
    Key missing = fresh("missing");
    assertRefused(
        ResultCode.KEY_NOT_FOUND_ERROR,
        () -> client.operate(null, missing, MapOperation.removeByKeyList(BIN, values("key-1"), MapReturnType.VALUE)));
  }

  @Test
  void mapsInMapsAreChangedAndCreated() {
    Key key = fresh("inner");
    client.put(null, key, new Bin(BIN, map("key1", map("key11", map("key111", 1), "key12", map("key121", 5)))));
    assertEquals(
        Arrays.asList(1L, null, 1L, 99L),
        operate(
            key,
            MapOperation.put(MapPolicy.Default, BIN, Value.get("key121"), Value.get(11), CTX.mapKey(Value.get("key1")), CTX.mapRank(-1)),
            MapOperation.create(BIN, MapOrder.KEY_ORDERED, CTX.mapKey(Value.get("key3"))),
            MapOperation.put(MapPolicy.Default, BIN, Value.get("key31"), Value.get(99), CTX.mapKey(Value.get("key3"))),
            MapOperation.getByIndex(BIN, 0, MapReturnType.VALUE, CTX.mapKey(Value.get("key3")))));
    assertEquals(
        map("key1", map("key11", map("key111", 1L), "key12", map("key121", 11L)), "key3", map("key31", 99L)), stored(key));
    assertEquals(
        List.of(11L),
        operate(
            key,
            MapOperation.getByKey(
                BIN, Value.get("key121"), MapReturnType.VALUE, CTX.mapIndex(0), CTX.mapValue(Value.get(map("key121", 11L))))));
  }

  @Test
  void operationsOfAnotherTypeAreRefused() {
    Key key = fresh("wrong");
    client.put(null, key, new Bin(BIN, 5));
    assertRefused(ResultCode.BIN_TYPE_ERROR, () -> operate(key, ListOperation.append(BIN, Value.get(1))));
    assertRefused(ResultCode.BIN_TYPE_ERROR, () -> operate(key, MapOperation.size(BIN)));
    client.put(null, key, new Bin(BIN, List.of(1)));
    assertRefused(ResultCode.BIN_TYPE_ERROR, () -> operate(key, MapOperation.put(MapPolicy.Default, BIN, Value.get(1), Value.get(1))));
    assertRefused(ResultCode.OP_NOT_APPLICABLE, () -> operate(key, ListOperation.get(BIN, 7)));
    assertNull(operate(key, ListOperation.size("other"), Operation.get("other")));
  }
}
