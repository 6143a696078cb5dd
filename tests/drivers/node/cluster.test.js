'use strict';
// What the driver learns of the server: its node, schema events, and that it is back after a restart.

const fs = require('node:fs');
const test = require('node:test');
const assert = require('node:assert/strict');
const { connect, connectToNewKeyspace, restart, until } = require('./server');

test('the node describes itself', async (context) => {
  const client = await connect(context);
  assert.equal(client.hosts.length, 1);
  const host = client.hosts.values()[0];
  assert.ok(host.isUp() && host.hostId && host.rack && host.cassandraVersion && host.tokens.length);
});

test('schema changes reach a client that did not make them', async (context) => {
  const watcher = await connect(context);
  const client = await connectToNewKeyspace(context, 'node_events');
  await client.execute(
    'CREATE TABLE seen (a int, b text, c int, v text, PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC)');
  // The driver keeps what it has read of a table until an event says that it changed.
  await until('the new table is known to the other client', async () =>
    (await watcher.metadata.getTable('node_events', 'seen')) !== null);
  const table = await watcher.metadata.getTable('node_events', 'seen');
  assert.deepEqual(table.partitionKeys.map((column) => column.name), ['a', 'b']);
  assert.deepEqual(table.clusteringOrder, ['DESC']);
  await client.execute('ALTER TABLE seen ADD w int');
  await until('the new column is known too', async () =>
    'w' in (await watcher.metadata.getTable('node_events', 'seen')).columnsByName);
  await client.execute('DROP KEYSPACE node_events');
  await until('the dropped keyspace is forgotten', () => watcher.metadata.keyspaces['node_events'] === undefined);
});

test('rows pass over TLS', { skip: !process.env.TARNDB_TEST_CA }, async (context) => {
  const ca = [fs.readFileSync(process.env.TARNDB_TEST_CA)];
  const client = await connect(context, { sslOptions: { ca, rejectUnauthorized: true, servername: 'localhost' } });
  await client.execute(
    "CREATE KEYSPACE IF NOT EXISTS node_tls WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  await client.execute('CREATE TABLE IF NOT EXISTS node_tls.t (k int PRIMARY KEY, v text)');
  const value = 'x'.repeat(10000);
  await Promise.all(Array.from({ length: 100 }, (_, key) =>
    client.execute('INSERT INTO node_tls.t (k, v) VALUES (?, ?)', [key, value], { prepare: true })));
  const stored = await client.execute('SELECT v FROM node_tls.t');
  assert.ok(stored.rows.length === 100 && stored.rows.every((row) => row.v === value));
  await assert.rejects(connect(context, { sslOptions: { rejectUnauthorized: true, servername: 'localhost' } }));
});

for (const how of ['kill', 'term']) {
  test(`restart by ${how} loses nothing`, { skip: !process.env.TARNDB_TEST_RESTART }, async (context) => {
    const client = await connectToNewKeyspace(context, `node_restart_${how}`);
    await client.execute('CREATE TABLE t (k int PRIMARY KEY, v text)');
    const insert = 'INSERT INTO t (k, v) VALUES (?, ?)';
    for (let key = 0; key < 1000; key++) {
      await client.execute(insert, [key, `value ${key}`], { prepare: true });
    }
    restart(how);
    // The prepared statement is unknown to the new process: the driver prepares it again.
    await until('the client is connected again', () =>
      client.execute(insert, [1000, 'after'], { prepare: true }).then(() => true, () => false));
    const stored = await client.execute('SELECT k, v FROM t', [], { prepare: true });
    const rows = stored.rows.map((row) => [row.k, row.v]).sort((one, other) => one[0] - other[0]);
    const expected = Array.from({ length: 1000 }, (_, key) => [key, `value ${key}`]);
    assert.deepEqual(rows, [...expected, [1000, 'after']]);
  });
}
