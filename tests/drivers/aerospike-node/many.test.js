'use strict';
// Many records at a time.

const assert = require('node:assert/strict');
const test = require('node:test');
const aerospike = require('aerospike');
const { NAMESPACE, connect, fresh, until } = require('./server');

const { status, operations: op, batchType, Key } = aerospike;
const COUNT = 1000;

/** A set with records; gives their keys. */
async function fill(client, set) {
  const keys = Array.from({ length: COUNT }, (_, i) => new Key(NAMESPACE, set, i));
  for (const [i, key] of keys.entries()) {
    await client.put(key, { i, text: 'record' });
  }
  return keys;
}

/** Wants each record once, in any order. */
function assertAll(records) {
  assert.deepEqual(records.map((record) => record.bins.i).sort((left, right) => left - right), Array.from({ length: COUNT }, (_, i) => i));
}

test('batches read, write and remove', async (context) => {
  const client = await connect(context);
  const keys = await fill(client, 'nodeBatch');
  const missing = await fresh(client, 'nodeBatch', 'missing');
  const nowhere = await fresh(client, 'nodeBatch', 'nowhere');
  const found = await client.batchRead(keys.map((key) => ({ key, readAllBins: true })));
  assert.deepEqual(found.map((result) => result.record.bins), keys.map((_, i) => ({ i, text: 'record' })));
  const exist = await client.batchExists([keys[0], nowhere]);
  assert.deepEqual(exist.map((result) => result.status), [status.OK, status.ERR_RECORD_NOT_FOUND]);
  const results = await client.batchWrite([
    { type: batchType.BATCH_WRITE, key: keys[0], ops: [op.add('i', 100), op.read('i')] },
    { type: batchType.BATCH_READ, key: keys[1], bins: ['text'] },
    { type: batchType.BATCH_REMOVE, key: keys[2] },
    { type: batchType.BATCH_REMOVE, key: nowhere },
    { type: batchType.BATCH_WRITE, key: missing, ops: [op.write('a', 1)] },
  ]);
  assert.deepEqual(results.map((result) => result.status), [status.OK, status.OK, status.OK, status.ERR_RECORD_NOT_FOUND, status.OK]);
  assert.deepEqual(results[1].record.bins, { text: 'record' });
  assert.equal((await client.get(keys[0])).bins.i, 100);
  assert.deepEqual((await client.get(missing)).bins, { a: 1 });
  assert.equal(await client.exists(keys[2]), false);
  const removed = await client.batchRemove(keys.slice(0, 4));
  assert.deepEqual(removed.map((result) => result.status), [status.OK, status.OK, status.ERR_RECORD_NOT_FOUND, status.OK]);
});

test('scans and queries see every record once', async (context) => {
  const client = await connect(context);
  await fill(client, 'nodeScan');
  assertAll(await client.scan(NAMESPACE, 'nodeScan').results());
  const query = client.query(NAMESPACE, 'nodeScan');
  query.select('i');
  assertAll(await query.results());
  const halves = [];
  for (const begin of [0, 2048]) {
    const part = client.scan(NAMESPACE, 'nodeScan');
    part.partitions(begin, 2048);
    halves.push(...await part.results());
  }
  assertAll(halves);
  const paged = client.scan(NAMESPACE, 'nodeScan', { paginate: true });
  const pages = [];
  do {
    pages.push(await paged.results({ maxRecords: 300 }));
    assert.ok(pages.length < 10, 'a scan of 1000 by 300 ends');
  } while (paged.hasNextPage());
  assertAll(pages.flat());
  assert.ok(pages.length >= 4);
  await client.truncate(NAMESPACE, 'nodeScan', 0);
  await until('the set is empty', async () => (await client.scan(NAMESPACE, 'nodeScan').results()).length === 0);
});
