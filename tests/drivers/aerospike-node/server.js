'use strict';
// The server under test and clients of it. TARNDB_TEST_AEROSPIKE is its host:port; TARNDB_TEST_RESTART is a command that ends it with
// `kill` or `term` and returns once it is ready again.

const assert = require('node:assert/strict');
const { execSync } = require('node:child_process');
const { setTimeout: pause } = require('node:timers/promises');
const aerospike = require('aerospike');

const NAMESPACE = 'test';
// A slow machine lets a request wait for longer than the client's second.
const PATIENT = { totalTimeout: 120000, socketTimeout: 120000 };

/** A connected client; the test's context closes it at the end. */
async function connect(context) {
  const client = await aerospike.connect({
    hosts: process.env.TARNDB_TEST_AEROSPIKE,
    connTimeoutMs: PATIENT.totalTimeout,
    policies: {
      ...Object.fromEntries(
        ['read', 'write', 'apply', 'operate', 'remove', 'batch', 'batchParentWrite', 'scan', 'query'].map((name) => [name, PATIENT])),
      info: { timeout: PATIENT.totalTimeout },
    },
    log: { level: aerospike.log.OFF },
  });
  context.after(() => client.close());
  return client;
}

/** A key of a set; no record has it. */
async function fresh(client, set, name) {
  const key = new aerospike.Key(NAMESPACE, set, name);
  await client.remove(key).catch((error) => assert.equal(error.code, aerospike.status.ERR_RECORD_NOT_FOUND, error.message));
  return key;
}

/** Wants a request to fail with a status. */
async function refused(request, status) {
  await assert.rejects(request, (error) => {
    assert.equal(error.code, status, error.message);
    return true;
  });
}

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

module.exports = { NAMESPACE, PATIENT, connect, fresh, refused, restart, until };
