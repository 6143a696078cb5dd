'use strict';
// Lists and maps.

const assert = require('node:assert/strict');
const test = require('node:test');
const aerospike = require('aerospike');
const { connect, fresh, refused } = require('./server');

const { lists, maps, status, operations: op } = aerospike;
const Context = aerospike.cdt.Context;
const BIN = 'bin';

/** The answers of operations, one at a time: this client gives only the last of those on one bin. */
async function answers(client, key, operations) {
  const found = [];
  for (const operation of operations) {
    found.push((await client.operate(key, [operation])).bins[BIN]);
  }
  return found;
}

test('lists grow and shrink', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'nodeLists', 'grow');
  assert.deepEqual(
    await answers(client, key, [
      lists.append(BIN, 1), lists.appendItems(BIN, [2, 3, 4]), lists.insert(BIN, 0, 0), lists.pop(BIN, -1), lists.popRange(BIN, 0, 2),
      lists.size(BIN), lists.set(BIN, 0, 9), lists.get(BIN, 0), lists.increment(BIN, 0, 10), lists.remove(BIN, 1),
      lists.appendItems(BIN, [5, 5, 1]), lists.sort(BIN, lists.sortFlags.DROP_DUPLICATES), lists.getRange(BIN, 0, 10),
      lists.trim(BIN, 1, 1), lists.clear(BIN), lists.size(BIN),
    ]),
    [1, 4, 5, 4, [0, 1], 2, undefined, 9, 19, 1, 4, undefined, [1, 5, 19], 2, undefined, 0]);
});

test('lists are read by index, rank and value', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'nodeLists', 'read');
  await client.put(key, { [BIN]: [4, 3, 1, 5, 2] });
  const type = lists.returnType;
  assert.deepEqual(
    await answers(client, key, [
      lists.getByIndex(BIN, 3, type.VALUE),
      lists.getByValue(BIN, 3, type.INDEX).invertSelection(),
      lists.getByIndexRange(BIN, -2, 2, type.VALUE).invertSelection(),
      lists.setOrder(BIN, lists.order.ORDERED),
      lists.getByValueList(BIN, [4, 2], type.RANK),
      lists.getByValueRange(BIN, 2, 4, type.VALUE),
      lists.getByRank(BIN, -1, type.VALUE),
      lists.getByValueRelRankRange(BIN, 3, -1, 2, type.VALUE),
      lists.removeByRankRange(BIN, 0, 2, type.COUNT),
      lists.removeByValue(BIN, 5, type.INDEX),
    ]),
    [5, [0, 2, 3, 4], [4, 3, 1], undefined, [3, 1], [2, 3], 5, [2, 3], 2, [2]]);
  const unique = { order: lists.order.ORDERED, writeFlags: lists.writeFlags.ADD_UNIQUE };
  await refused(client.operate(key, [lists.append(BIN, 3, unique)]), status.ERR_FAIL_ELEMENT_EXISTS);
  await refused(client.operate(key, [lists.get(BIN, 70)]), status.ERR_OP_NOT_APPLICABLE);
});

test('what is inside lists and maps is changed', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'nodeLists', 'nested');
  await client.put(key, { [BIN]: { k: [[9], [2, 4]] } });
  await client.operate(key, [
    lists.append(BIN, 11).withContext((path) => path.addMapKey('k').addListRank(0)),
    maps.put(BIN, 'a', 1).withContext(new Context().addMapKeyCreate('new', maps.order.KEY_ORDERED)),
  ]);
  assert.deepEqual((await client.get(key)).bins[BIN], { k: [[9], [2, 4, 11]], new: { a: 1 } });
});

test('maps are put, read and lose pairs', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'nodeMaps', 'scores');
  const type = maps.returnType;
  assert.deepEqual(
    await answers(client, key, [
      maps.putItems(BIN, { Charlie: 55, Jim: 94, John: 81, Harry: 82 }),
      maps.put(BIN, 'Sally', 79),
      maps.increment(BIN, 'Sally', 1),
      maps.size(BIN),
      maps.getByKey(BIN, 'Jim', type.RANK),
      maps.getByRankRange(BIN, -2, 2, type.KEY),
      maps.getByValueRange(BIN, 80, 82, type.KEY),
      maps.getByIndex(BIN, 0, type.KEY),
      maps.getByKeyRange(BIN, 'J', 'K', type.KEY_VALUE),
      maps.getByKeyList(BIN, ['Harry', 'Jim'], type.VALUE),
      maps.removeByKey(BIN, 'Jim', type.VALUE),
      maps.removeByValue(BIN, 55, type.KEY),
      maps.removeByRankRange(BIN, 0, 2, type.COUNT),
    ]),
    [4, 5, 80, 5, 4, ['Harry', 'Jim'], ['Sally', 'John'], 'Charlie', ['Jim', 94, 'John', 81], [82, 94], 94, ['Charlie'], 2]);
  await client.operate(key, [maps.clear(BIN)]);
  assert.deepEqual((await client.get(key)).bins[BIN], {});
});

test('keys of maps may have to be new or known', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'nodeMaps', 'flags');
  const put = (name, value, writeFlags) => client.operate(key, [maps.put(BIN, name, value, new aerospike.MapPolicy({ writeFlags }))]);
  await put('a', 1, maps.writeFlags.CREATE_ONLY);
  await put('a', 2, maps.writeFlags.UPDATE_ONLY);
  await refused(put('a', 3, maps.writeFlags.CREATE_ONLY), status.ERR_FAIL_ELEMENT_EXISTS);
  await refused(put('b', 3, maps.writeFlags.UPDATE_ONLY), status.ERR_FAIL_ELEMENT_NOT_FOUND);
  await refused(client.operate(key, [lists.append(BIN, 1)]), status.ERR_BIN_INCOMPATIBLE_TYPE);
  await client.operate(key, [op.read(BIN)]);
  assert.deepEqual((await client.get(key)).bins, { [BIN]: { a: 2 } });
});
