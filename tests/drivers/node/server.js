'use strict';
// The server under test and clients of it. TARNDB_TEST_CQL is its host:port; TARNDB_TEST_RESTART is a command that ends it
// with `kill` or `term` and returns once it is ready again.

const { execSync } = require('node:child_process');
const { after } = require('node:test');
const { setTimeout: pause } = require('node:timers/promises');
const cassandra = require('cassandra-driver');

/** A connected client; the options are the driver's own. The test's context closes it at the end. */
async function connect(context, options = {}) {
  const client = new cassandra.Client({
    contactPoints: [process.env.TARNDB_TEST_CQL],
    localDataCenter: 'datacenter1',
    policies: { reconnection: new cassandra.policies.reconnection.ConstantReconnectionPolicy(100) },
    refreshSchemaDelay: 10,
    socketOptions: { connectTimeout: 120000, readTimeout: 120000 },
    protocolOptions: { maxSchemaAgreementWaitSeconds: 120 },
    ...options,
  });
  await client.connect();
  context.after(() => client.shutdown());
  return client;
}

/** A client that uses a keyspace of this name, which is empty. */
async function connectToNewKeyspace(context, name) {
  const setup = await connect(context);
  await setup.execute(`DROP KEYSPACE IF EXISTS ${name}`);
  await setup.execute(
    `CREATE KEYSPACE ${name} WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`);
  return connect(context, { keyspace: name });
}

// A client whose server went away and came back leaves sockets open after its shutdown, and the process would wait for them.
after(() => setImmediate(() => process.exit()));

/** Ends the server with `kill` or `term`; returns once it is ready again. */
function restart(how) {
  execSync(`${process.env.TARNDB_TEST_RESTART} ${how}`, { stdio: 'ignore', timeout: 300000 });
}

/** Waits for a condition, 120 s at most. */
async function until(what, condition) {
  const deadline = Date.now() + 120000;
  while (!await condition()) {
    if (Date.now() > deadline) {
      throw new Error(`waited 120 s in vain: ${what}`);
    }
    await pause(20);
  }
}

module.exports = { connect, connectToNewKeyspace, restart, until };
