'use strict';
// One record at a time, and the server's restart.

const assert = require('node:assert/strict');
const test = require('node:test');
const aerospike = require('aerospike');
const { NAMESPACE, PATIENT, connect, fresh, refused, restart, until } = require('./server');

const { exists, gen } = aerospike.policy;
const { status, operations: op, GeoJSON, Key } = aerospike;
const Double = aerospike.Double;

test('the client sees one node', async (context) => {
  const client = await connect(context);
  assert.ok(client.isConnected());
  assert.equal(client.getNodes().length, 1);
  const [answer] = await client.infoAll('namespaces');
  assert.match(answer.info, /\btest\b/);
});

test('every type comes back as it went', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'node', 'types');
  const bins = {
    int: 42,
    big: -(2n ** 63n),
    double: new Double(-0.25),
    string: 'päckchen',
    empty: '',
    blob: Buffer.from([0, 1, 255]),
    bool: true,
    list: [1, 'two', 3.5, null, [true]],
    map: { a: 1, nested: { b: 2 } },
    geo: new GeoJSON({ type: 'Point', coordinates: [1.5, 2.5] }),
  };
  await client.put(key, bins);
  const record = await client.get(key);
  assert.equal(record.gen, 1);
  assert.deepEqual(Object.keys(record.bins).sort(), Object.keys(bins).sort());
  assert.deepEqual({ ...record.bins, double: 0, geo: 0 }, { ...bins, double: 0, geo: 0 });
  assert.equal(record.bins.double, -0.25);
  assert.deepEqual(JSON.parse(record.bins.geo), { type: 'Point', coordinates: [1.5, 2.5] });
  assert.deepEqual((await client.select(key, ['int', 'missing'])).bins, { int: 42 });
});

test('keys of every type are different', async (context) => {
  const client = await connect(context);
  const names = [1, '1', Buffer.from([0, 0, 0, 0, 0, 0, 0, 1])];
  for (const [number, name] of names.entries()) {
    await client.put(await fresh(client, 'nodeKeys', name), { number });
  }
  for (const [number, name] of names.entries()) {
    assert.deepEqual((await client.get(new Key(NAMESPACE, 'nodeKeys', name))).bins, { number });
  }
});

test('records are put, found and removed', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'node', 'put');
  assert.equal(await client.exists(key), false);
  await refused(client.get(key), status.ERR_RECORD_NOT_FOUND);
  await refused(client.remove(key), status.ERR_RECORD_NOT_FOUND);
  await client.put(key, { a: 1, b: 2 });
  await client.put(key, { a: null, c: 3.5 });
  assert.deepEqual((await client.get(key)).bins, { b: 2, c: 3.5 });
  assert.equal(await client.exists(key), true);
  await client.remove(key, new aerospike.RemovePolicy({ ...PATIENT, durableDelete: true }));
  assert.equal(await client.exists(key), false);
});

test('generations are expected', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'node', 'generations');
  await client.put(key, { a: 1 });
  await client.put(key, { a: 2 });
  const equal = new aerospike.WritePolicy({ ...PATIENT, gen: gen.EQ });
  await client.put(key, { a: 3 }, { gen: 2 }, equal);
  await refused(client.put(key, { a: 4 }, { gen: 2 }, equal), status.ERR_RECORD_GENERATION);
  await refused(client.remove(key, new aerospike.RemovePolicy({ ...PATIENT, gen: gen.EQ, generation: 2 })), status.ERR_RECORD_GENERATION);
  assert.deepEqual((await client.get(key)).bins, { a: 3 });
});

test('records are created, updated and replaced', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'node', 'exists');
  const put = (bins, action) => client.put(key, bins, {}, new aerospike.WritePolicy({ ...PATIENT, exists: action }));
  await refused(put({ a: 1 }, exists.UPDATE), status.ERR_RECORD_NOT_FOUND);
  await refused(put({ a: 1 }, exists.REPLACE), status.ERR_RECORD_NOT_FOUND);
  await put({ a: 1, b: 1 }, exists.CREATE);
  await refused(put({ a: 2 }, exists.CREATE), status.ERR_RECORD_EXISTS);
  await put({ a: 3 }, exists.UPDATE);
  assert.deepEqual((await client.get(key)).bins, { a: 3, b: 1 });
  await put({ a: 4 }, exists.REPLACE);
  assert.deepEqual((await client.get(key)).bins, { a: 4 });
  await put({ c: 5 }, exists.CREATE_OR_REPLACE);
  assert.deepEqual((await client.get(key)).bins, { c: 5 });
});

test('times to live are set, kept and taken away', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'node', 'ttl');
  const lives = async (seconds) => {
    const { ttl } = await client.get(key);
    assert.ok(ttl <= seconds + 1 && ttl > seconds - 60, `${ttl} of ${seconds} s left`);
  };
  await client.put(key, { a: 1 }, { ttl: 1000 });
  await lives(1000);
  await client.put(key, { a: 2 }, { ttl: aerospike.ttl.DONT_UPDATE });
  await lives(1000);
  await client.operate(key, [op.touch(5000)]);
  await lives(5000);
  await client.put(key, { a: 3 }, { ttl: aerospike.ttl.NEVER_EXPIRE });
  assert.equal((await client.get(key)).ttl, aerospike.ttl.NEVER_EXPIRE);
  await client.put(key, { a: 4 }, { ttl: 1 });
  await until('a record with a second to live is gone', async () => !await client.exists(key));
});

test('operations are done in order and all or none', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'node', 'operate');
  await client.put(key, { i: 7, s: 'b' });
  const { bins } = await client.operate(key, [op.add('i', 4), op.append('s', 'c'), op.prepend('s', 'a'), op.read('i'), op.read('s')]);
  assert.deepEqual(bins, { i: 11, s: 'abc' });
  await client.add(key, { i: 1 });
  await client.append(key, { s: '!' });
  await client.prepend(key, { s: '?' });
  assert.deepEqual((await client.get(key)).bins, { i: 12, s: '?abc!' });
  await refused(client.operate(key, [op.write('i', 0), op.add('s', 1)]), status.ERR_BIN_INCOMPATIBLE_TYPE);
  assert.deepEqual((await client.get(key)).bins, { i: 12, s: '?abc!' });
  await client.operate(key, [op.delete()]);
  assert.equal(await client.exists(key), false);
});

test('what cannot be is refused', async (context) => {
  const client = await connect(context);
  const key = await fresh(client, 'node', 'refused');
  await refused(client.put(new Key('nowhere', 'set', 1), { a: 1 }), status.ERR_NAMESPACE_NOT_FOUND);
  await refused(client.put(key, { a: Buffer.alloc(9 << 20) }), status.ERR_RECORD_TOO_BIG);
  await client.put(key, { fifteen_letters: 1 });
  assert.deepEqual((await client.get(key)).bins, { fifteen_letters: 1 });
});

test('a restart keeps what was acknowledged', { skip: !process.env.TARNDB_TEST_RESTART }, async (context) => {
  const client = await connect(context);
  for (const how of ['kill', 'term']) {
    const gone = await fresh(client, `nodeRestart${how}`, 'gone');
    await client.put(gone, { a: 1 });
    await client.remove(gone);
    const key = (i) => new Key(NAMESPACE, `nodeRestart${how}`, i);
    for (let i = 0; i < 500; i += 1) {
      await client.put(key(i), { i, list: [i, 'x'] });
    }
    restart(how);
    await until('the client is back', () => client.exists(gone).then(() => true, () => false));
    for (let i = 0; i < 500; i += 1) {
      const record = await client.get(key(i));
      assert.deepEqual([record.gen, record.bins], [1, { i, list: [i, 'x'] }]);
    }
    assert.equal(await client.exists(gone), false, 'a removed record does not come back');
  }
});
