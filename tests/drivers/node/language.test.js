'use strict';
// Types, prepared statements, paging, batches, lightweight transactions and errors through the Node driver.

const test = require('node:test');
const assert = require('node:assert/strict');
const { types } = require('cassandra-driver');
const { connect, connectToNewKeyspace } = require('./server');

const PREPARED = { prepare: true };

test('every native type comes back equal', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_types');
  const values = {
    'ascii': 'plain',
    'bigint': types.Long.MIN_VALUE,
    'blob': Buffer.from([0, 255, 7]),
    'boolean': true,
    'date': types.LocalDate.fromString('2024-02-29'),
    'decimal': types.BigDecimal.fromString('-1.50'),
    'double': -1.5e300,
    'duration': new types.Duration(14, 3, 4000000005),
    'float': 0.5,
    'inet': types.InetAddress.fromString('2001:db8::1'),
    'int': 2147483647,
    'smallint': -32768,
    'text': 'Bergsee äöü 湖 🏔',
    'time': types.LocalTime.fromString('23:59:59.999999999'),
    'timestamp': new Date(-1),
    'timeuuid': types.TimeUuid.fromString('4f1a6a80-2b5c-11ee-8c90-0242ac120002'),
    'tinyint': -128,
    'uuid': types.Uuid.fromString('c0ffee00-1234-4abc-8def-0123456789ab'),
    'varint': types.Integer.fromString('-1606938044258990275541962092341162602522202993782792835301376'),
    'list<int>': [3, 1, 3],
    'set<text>': ['a', 'b'],
    'map<text, int>': { a: 1, b: -1 },
    'frozen<map<text, frozen<list<int>>>>': { a: [1, 2], b: [3] },
  };
  let number = 0;
  for (const [kind, value] of Object.entries(values)) {
    const table = `t${number++}`;
    await client.execute(`CREATE TABLE ${table} (k int PRIMARY KEY, v ${kind}, w int)`);
    const insert = `INSERT INTO ${table} (k, v, w) VALUES (?, ?, ?)`;
    await client.execute(insert, [1, value, 1], PREPARED);
    await client.execute(insert, [2, null, 2], PREPARED);
    // A value that is not set leaves the cell alone.
    await client.execute(insert, [1, types.unset, 3], PREPARED);
    const select = `SELECT v, w FROM ${table} WHERE k = ?`;
    const first = (await client.execute(select, [1], PREPARED)).first();
    const text = (item) => (item !== null && item.toString !== Object.prototype.toString ? item.toString() : item);
    assert.deepEqual(text(first.v), text(value), kind);
    assert.equal(first.w, 3);
    assert.equal((await client.execute(select, [2], PREPARED)).first().v, null, kind);
  }
});

test('every protocol version carries large values', async (context) => {
  const setup = await connectToNewKeyspace(context, 'node_versions');
  await setup.execute('CREATE TABLE t (k int PRIMARY KEY, v text)');
  const text = 'a tarn is a small mountain lake '.repeat(10000);
  for (const maxVersion of [types.protocolVersion.v3, types.protocolVersion.v4]) {
    const client = await connect(context, { keyspace: 'node_versions', protocolOptions: { maxVersion, maxSchemaAgreementWaitSeconds: 120 } });
    assert.equal(client.controlConnection.protocolVersion, maxVersion);
    await client.execute('INSERT INTO t (k, v) VALUES (?, ?)', [maxVersion, text], PREPARED);
    assert.equal((await client.execute('SELECT v FROM t WHERE k = ?', [maxVersion], PREPARED)).first().v, text);
  }
});

test('counters and collections change in place', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_collections');
  await client.execute('CREATE TABLE n (k int PRIMARY KEY, c counter)');
  for (const amount of [1, 41, -2]) {
    await client.execute('UPDATE n SET c = c + ? WHERE k = 1', [types.Long.fromNumber(amount)], PREPARED);
  }
  assert.equal((await client.execute('SELECT c FROM n')).first().c.toString(), '40');
  await client.execute('CREATE TABLE t (k int PRIMARY KEY, l list<int>, s set<int>, m map<text, int>)');
  await client.execute("INSERT INTO t (k, l, s, m) VALUES (1, [1], {1}, {'a': 1})");
  await client.execute("UPDATE t SET l = l + [2], s = s + {2}, m['b'] = 2 WHERE k = 1");
  await client.execute("UPDATE t SET l = [0] + l, s = s - {1}, m = m - {'a'} WHERE k = 1");
  const row = (await client.execute('SELECT l, s, m FROM t')).first();
  assert.deepEqual([row.l, row.s, row.m], [[0, 1, 2], [2], { b: 2 }]);
});

test('pages give every row once and resume in another client', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_paging');
  await client.execute('CREATE TABLE t (k int, c int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)');
  for (let start = 0; start < 3000; start += 100) {
    const queries = [];
    for (let c = start; c < start + 100; c++) {
      queries.push({ query: 'INSERT INTO t (k, c) VALUES (1, ?)', params: [c] });
    }
    await client.batch(queries, { prepare: true, logged: false });
  }
  const expected = Array.from({ length: 3000 }, (_, index) => 2999 - index);
  for (const fetchSize of [7, 1000, 5000]) {
    const seen = [];
    for await (const row of client.stream('SELECT c FROM t WHERE k = 1', [], { prepare: true, autoPage: true, fetchSize })) {
      seen.push(row.c);
    }
    assert.deepEqual(seen, expected);
  }
  const seen = [];
  let pageState = null;
  do {
    const other = await connect(context);
    const options = { prepare: true, fetchSize: 700, pageState };
    const page = await other.execute('SELECT c FROM node_paging.t WHERE k = 1', [], options);
    assert.ok(page.rows.length <= 700);
    seen.push(...page.rows.map((row) => row.c));
    pageState = page.pageState;
  } while (pageState);
  assert.deepEqual(seen, expected);
});

test('batches write all their statements', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_batches');
  await client.execute('CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))');
  await client.execute('CREATE TABLE n (k int PRIMARY KEY, c counter)');
  for (const logged of [true, false]) {
    const key = logged ? 1 : 2;
    await client.batch([
      { query: 'INSERT INTO t (k, c, v) VALUES (?, ?, ?)', params: [key, 1, 'one'] },
      { query: 'UPDATE t SET v = ? WHERE k = ? AND c = ?', params: ['two', key, 2] },
    ], { prepare: true, logged, timestamp: types.Long.fromNumber(1234) });
    const rows = (await client.execute('SELECT v, writetime(v) AS at FROM t WHERE k = ?', [key], PREPARED)).rows;
    assert.deepEqual(rows.map((row) => [row.v, row.at.toString()]), [['one', '1234'], ['two', '1234']]);
  }
  const count = { query: 'UPDATE n SET c = c + ? WHERE k = 1', params: [types.Long.fromNumber(2)] };
  await client.batch([count, count], { prepare: true, counter: true });
  assert.equal((await client.execute('SELECT c FROM n')).first().c.toString(), '4');
});

test('lightweight transactions apply once', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_lwt');
  await client.execute('CREATE TABLE t (k int PRIMARY KEY, v int)');
  const insert = 'INSERT INTO t (k, v) VALUES (?, ?) IF NOT EXISTS';
  assert.equal((await client.execute(insert, [1, 1], PREPARED)).wasApplied(), true);
  const refused = await client.execute(insert, [1, 2], PREPARED);
  assert.equal(refused.wasApplied(), false);
  assert.equal(refused.first().v, 1);
  const swap = 'UPDATE t SET v = ? WHERE k = ? IF v = ?';
  assert.equal((await client.execute(swap, [5, 1, 9], PREPARED)).wasApplied(), false);
  assert.equal((await client.execute(swap, [5, 1, 1], PREPARED)).wasApplied(), true);
  assert.equal((await client.execute('SELECT v FROM t')).first().v, 5);
});

test('errors have their codes', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_errors');
  await client.execute('CREATE TABLE t (k int PRIMARY KEY)');
  const { invalid, syntaxError, alreadyExists } = types.responseErrorCodes;
  for (const [statement, code] of [
    ['SELECT * FROM no_such_table', invalid],
    ['SELECT nope FROM t', invalid],
    ['SELEC', syntaxError],
    ['CREATE TABLE t (k int PRIMARY KEY)', alreadyExists],
  ]) {
    await assert.rejects(client.execute(statement), { code }, statement);
  }
});

test('a count over a whole table is answered with a warning', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_warnings');
  await client.execute('CREATE TABLE t (k int PRIMARY KEY)');
  const counted = await client.execute('SELECT count(*) FROM t', [], { customPayload: { tarn: Buffer.from([1]) } });
  assert.ok((counted.info.warnings || []).some((text) => text.includes('partition key')));
});

test('requests in flight are answered to their askers', async (context) => {
  const client = await connectToNewKeyspace(context, 'node_concurrent');
  await client.execute('CREATE TABLE t (k int PRIMARY KEY, v int)');
  for (let start = 0; start < 4000; start += 1000) {
    const keys = Array.from({ length: 1000 }, (_, index) => start + index);
    await Promise.all(keys.map((key) => client.execute('INSERT INTO t (k, v) VALUES (?, ?)', [key, key * 3], PREPARED)));
    const read = await Promise.all(keys.map((key) => client.execute('SELECT v FROM t WHERE k = ?', [key], PREPARED)));
    read.forEach((result, index) => assert.equal(result.first().v, keys[index] * 3));
  }
});
