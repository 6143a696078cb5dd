//! Every statement here parses to the kind it is listed under, with as many bind markers as it has `?` and `:name` outside literals.
//!
//! The lists: what drivers, cqlsh and load tools send; what the language has, family by family (all of it accepted by the grammar of
//! Apache Cassandra 5.0.9 too); what we accept beyond that.

use cql::language::parse;

/// The variant of the statement that `text` is, and its number of bind markers.
#[track_caller]
fn kind_and_markers(text: &str) -> (String, usize) {
    match parse(text) {
        Ok(parsed) => {
            let tree = format!("{:?}", parsed.statement);
            (tree.split('(').next().unwrap_or_default().to_owned(), parsed.markers.len())
        }
        Err(error) => panic!("{text}\n  {error}"),
    }
}

/// Bind markers counted by a scan that knows strings and comments only; texts with maps of bare words are counted by hand elsewhere.
fn markers_in(text: &str) -> usize {
    let mut count = 0;
    let mut quote = None;
    let mut previous = ' ';
    let characters: Vec<char> = text.chars().collect();
    for (index, character) in characters.iter().enumerate() {
        match quote {
            Some(open) if *character == open => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"') => quote = Some(*character),
            None if *character == '?' => count += 1,
            None if *character == ':' && matches!(previous, ' ' | '(' | '[' | '{' | '=' | ',') => {
                count += usize::from(characters.get(index + 1).is_some_and(|next| next.is_alphabetic() || *next == '"'));
            }
            None => {}
        }
        previous = *character;
    }
    count
}

#[track_caller]
fn accepted(kind: &str, texts: &[&str]) {
    for text in texts {
        let expected = (kind.to_owned(), markers_in(text));
        assert_eq!(kind_and_markers(text), expected, "{text}");
        assert_eq!(kind_and_markers(&format!("  {text} ;\n")), expected, "{text} with a semicolon");
        assert_eq!(kind_and_markers(&format!("/* a */ {text} -- b")), expected, "{text} with comments");
    }
}

#[test]
fn what_drivers_read_at_connect() {
    accepted(
        "Select",
        &[
            "SELECT cluster_name FROM system.local",
            "SELECT * FROM system.local WHERE key='local'",
            "select * from system.local where key = 'local'",
            "SELECT * FROM system.peers",
            "SELECT * FROM system.peers_v2",
            "SELECT schema_version FROM system.local WHERE key='local'",
            "SELECT peer, host_id, rpc_address, schema_version FROM system.peers",
            "SELECT host_id, schema_version, native_address, native_port FROM system.peers_v2",
            "SELECT host_id FROM system.local",
            "SELECT host_id, rpc_address, data_center, rack, tokens FROM system.peers",
            "SELECT host_id, rpc_address, data_center, rack, tokens, cluster_name FROM system.local WHERE key = 'local'",
            "SELECT broadcast_address, cluster_name, data_center, host_id, listen_address, partitioner, rack, release_version, rpc_address, schema_version, tokens FROM system.local WHERE key='local'",
            "SELECT * FROM system_schema.keyspaces",
            "SELECT * FROM system_schema.tables",
            "SELECT * FROM system_schema.columns",
            "SELECT * FROM system_schema.types",
            "SELECT * FROM system_schema.functions",
            "SELECT * FROM system_schema.aggregates",
            "SELECT * FROM system_schema.triggers",
            "SELECT * FROM system_schema.indexes",
            "SELECT * FROM system_schema.views",
            "SELECT * FROM system_virtual_schema.keyspaces",
            "SELECT * FROM system_virtual_schema.tables",
            "SELECT * FROM system_virtual_schema.columns",
            "SELECT * FROM system_schema.tables WHERE keyspace_name = 'ks' AND table_name = 't'",
            "SELECT * FROM system_schema.views WHERE keyspace_name = 'ks' AND view_name = 'v'",
            "SELECT keyspace_name, table_name FROM system_schema.tables WHERE keyspace_name in ?",
            "select keyspace_name, replication, durable_writes from system_schema.keyspaces where keyspace_name = ?",
            "SELECT keyspace_name, toJson(replication) AS replication FROM system_schema.keyspaces",
            "SELECT keyspace_name, initial_tablets FROM system_schema.scylla_keyspaces",
            "SELECT keyspace_name, table_name, partitioner FROM system_schema.scylla_tables",
            "SELECT prepared_id FROM system.prepared_statements",
            "SELECT * FROM system_traces.sessions WHERE session_id = 01e3b5d0-27ef-11ed-a261-0242ac120002",
            "SELECT activity, event_id, source, source_elapsed, thread FROM system_traces.events WHERE session_id=?",
            "SELECT peer, rpc_address, schema_version FROM system.peers",
            "SELECT keyspace_name, durable_writes, strategy_class, strategy_options FROM system.schema_keyspaces",
            "SELECT release_version FROM system.local",
            "SELECT * FROM system.built_views LIMIT 1",
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name='system' LIMIT 10 ALLOW FILTERING",
        ],
    );
    accepted("Use", &["USE ks", "USE \"Ks\"", "use ycsb", "USE system", "USE \"a\"\"b\"", "USE type"]);
}

#[test]
fn what_load_tools_send() {
    accepted(
        "Select",
        &[
            "SELECT * FROM usertable WHERE y_id=? LIMIT 1",
            "SELECT field0,field1,field2 FROM usertable WHERE y_id=? LIMIT 1",
            "SELECT * FROM usertable WHERE token(y_id) >= token(?) LIMIT ?",
            "SELECT y_id,field0 FROM usertable WHERE token(y_id) >= token('user1') LIMIT 100",
            "SELECT \"C0\",\"C1\",\"C2\",\"C3\",\"C4\" FROM \"standard1\" WHERE KEY=?",
            "SELECT key, \"C0\" FROM standard1 WHERE key = ?",
            "SELECT pk, ck, v FROM scylla_bench.test WHERE pk = ? AND ck IN (?, ?, ?)",
            "SELECT * FROM scylla_bench.test WHERE token(pk) >= ? AND token(pk) <= ?",
            "SELECT ck, v FROM scylla_bench.test WHERE pk = ? AND ck >= ? AND ck < ? LIMIT 10",
            "SELECT count(*) FROM latte.basic",
        ],
    );
    accepted(
        "Insert",
        &[
            "INSERT INTO usertable (y_id,field0,field1,field2,field3,field4,field5,field6,field7,field8,field9) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            "INSERT INTO usertable (y_id,field0) VALUES (?,?) IF NOT EXISTS",
            "INSERT INTO standard1 (key, \"C0\", \"C1\", \"C2\", \"C3\", \"C4\") VALUES (?, ?, ?, ?, ?, ?)",
            "INSERT INTO scylla_bench.test (pk, ck, v) VALUES (?, ?, ?) USING TTL 60",
            "INSERT INTO latte.basic(id, data) VALUES (:id, :data)",
        ],
    );
    accepted(
        "Update",
        &[
            "UPDATE usertable SET field0=?,field1=?,field9=? WHERE y_id=?",
            "UPDATE usertable SET field0=? WHERE y_id=? IF EXISTS",
            "UPDATE \"standard1\" USING TIMESTAMP ? SET \"C0\"=?,\"C1\"=? WHERE KEY=?",
            "UPDATE counter1 SET \"C0\"=\"C0\"+?,\"C1\"=\"C1\"+? WHERE KEY=?",
            "UPDATE scylla_bench.test_counters SET c1 = c1 + 1, c2 = c2 + 1 WHERE pk = ? AND ck = ?",
        ],
    );
    accepted("Delete", &["DELETE FROM usertable WHERE y_id=?", "DELETE FROM scylla_bench.test WHERE pk = ? AND ck >= ? AND ck < ?"]);
    accepted(
        "CreateKeyspace",
        &[
            "create keyspace ycsb WITH REPLICATION = {'class' : 'SimpleStrategy', 'replication_factor': 3 }",
            "CREATE KEYSPACE IF NOT EXISTS \"keyspace1\" WITH replication = {'class': 'org.apache.cassandra.locator.SimpleStrategy', 'replication_factor' : '1'} AND durable_writes = true",
            "CREATE KEYSPACE scylla_bench WITH REPLICATION = { 'class' : 'NetworkTopologyStrategy', 'replication_factor' : 1 } AND TABLETS = {'enabled': false}",
        ],
    );
    accepted(
        "CreateTable",
        &[
            "create table usertable (y_id varchar primary key, field0 varchar, field1 varchar, field2 varchar, field9 varchar)",
            "CREATE TABLE IF NOT EXISTS standard1 (key blob PRIMARY KEY , \"C0\" blob, \"C1\" blob) WITH compression = {} AND compaction = { 'class' : 'LeveledCompactionStrategy' }",
            "CREATE TABLE IF NOT EXISTS counter1 (key blob,\"C0\" counter,\"C1\" counter,PRIMARY KEY (key))",
            "CREATE TABLE IF NOT EXISTS test (pk bigint, ck bigint, v blob, PRIMARY KEY(pk, ck)) WITH compression = { }",
            "CREATE TABLE IF NOT EXISTS latte.basic(id bigint PRIMARY KEY, data blob)",
        ],
    );
    accepted("Truncate", &["TRUNCATE TABLE latte.basic", "TRUNCATE usertable", "truncate columnfamily ks.t"]);
}

#[test]
fn select_selections() {
    accepted(
        "Select",
        &[
            "SELECT a FROM t",
            "SELECT a, b, \"C\" FROM ks.t",
            "SELECT * FROM \"Ks\".\"T\"",
            "SELECT a AS b, c AS \"D\", count AS ttl FROM t",
            "SELECT DISTINCT pk FROM t",
            "SELECT DISTINCT a, b, s FROM t",
            "SELECT JSON a, b FROM t",
            "SELECT JSON * FROM t",
            "SELECT JSON DISTINCT a FROM t",
            "SELECT DISTINCT * FROM t",
            "SELECT json FROM t",
            "SELECT distinct FROM t",
            "SELECT json, distinct FROM t",
            "SELECT JSON json FROM t",
            "SELECT DISTINCT distinct FROM t",
            "SELECT count(*) FROM t",
            "SELECT COUNT ( * ) AS n FROM t",
            "SELECT count(1) FROM t",
            "SELECT count(a), min(a), max(a), avg(a), sum(a) FROM t",
            "SELECT system.count(a), ks.f(a, b) FROM t",
            "SELECT writetime(a), WRITETIME(\"B\"), ttl(a), TTL(b) FROM t",
            "SELECT maxwritetime(m), writetime(m['k']), ttl(u.f), writetime(s['a'..'b']) FROM t",
            "SELECT token(a), token(a, b) FROM t",
            "SELECT CAST(a AS text), cast(count(*) as double), CAST(CAST(a AS text) AS varchar) FROM t",
            "SELECT now(), uuid(), currentTimestamp(), current_date() FROM t",
            "SELECT toTimestamp(now()), dateOf(a), unixTimestampOf(b), toUnixTimestamp(c) FROM t",
            "SELECT blobAsInt(a), intAsBlob(1), text_as_blob('x') FROM t",
            "SELECT a + b, a - b, a * b, a / b, a % b FROM t",
            "SELECT a + b * c - (d / e) % f FROM t",
            "SELECT (a + b) * 2, -a, - (a), -f(a), a * -1 FROM t",
            "SELECT 1, -1, 1.5, 'x', true, null, 0xff, NaN, -Infinity, 1h, -1h FROM t",
            "SELECT 123e4567-e89b-12d3-a456-426614174000 FROM t",
            "SELECT m['k'], m[1], l[0], m[?], m[:k] FROM t",
            "SELECT m['a'..'b'], m['a'..], m[..'b'], m[1..2], s[?..?] FROM t",
            "SELECT u.f, u.g.h, u.\"F\", (u).f FROM t",
            "SELECT u.m['k'].f, m['a']['b'] FROM t",
            "SELECT (int) 1, (text) 'a', (list<int>) [1, 2], (map<text, int>) {'a': 1}, (ks.u) {f: 1} FROM t",
            "SELECT [a, b], {a, b}, {a: b}, {'k': a}, {}, [], (a, b), (a) FROM t",
            "SELECT f((int) ?), f(:a), g([?, ?]) FROM t",
            "SELECT similarity_cosine(v, [0.1, 0.2]) FROM t",
            "SELECT key, value, type, timestamp, ttl, count, counter, date, time, text, int FROM t",
            "SELECT as FROM t",
            "SELECT as AS as FROM t",
            "SELECT cast, writetime, cast.x FROM t",
            "SELECT key.f, values['x'] FROM t",
            "SELECT mask_inner(a, 1, null), mask_default(b) FROM t",
            "SELECT collection_count(c), map_keys(m), set_sum(s) FROM t",
            "SELECT \"writetime\"(a), \"Cast\"(a) FROM t",
            "SELECT a.b(c) FROM t",
            "SELECT text(a) FROM t",
        ],
    );
}

#[test]
fn select_clauses() {
    accepted(
        "Select",
        &[
            "SELECT * FROM t WHERE a = 1",
            "SELECT * FROM t WHERE a = 1 AND b < 2 AND c <= 3 AND d > 4 AND e >= 5 AND f != 6",
            "SELECT * FROM t WHERE a=? AND b=:b AND c=:\"C\" AND d=:e",
            "SELECT * FROM t WHERE a IN (1, 2, 3)",
            "SELECT * FROM t WHERE a IN ()",
            "SELECT * FROM t WHERE a IN ? AND b IN :b",
            "SELECT * FROM t WHERE m CONTAINS 'v' AND m CONTAINS KEY 'k'",
            "SELECT * FROM t WHERE a LIKE 'x%' AND b LIKE ?",
            "SELECT * FROM t WHERE a IS NOT NULL",
            "SELECT * FROM t WHERE m['k'] = 'v' AND m[?] = ?",
            "SELECT * FROM t WHERE (a, b) > (1, 2)",
            "SELECT * FROM t WHERE (a, b) = ? AND (c) >= (1)",
            "SELECT * FROM t WHERE (a, b, c) <= (?, :b, 3)",
            "SELECT * FROM t WHERE (a, b) IN ((1, 2), (3, 4))",
            "SELECT * FROM t WHERE (a, b) IN (?, ?)",
            "SELECT * FROM t WHERE (a, b) IN ?",
            "SELECT * FROM t WHERE (a, b) IN ()",
            "SELECT * FROM t WHERE token(a) > token(1) AND token(a) <= ?",
            "SELECT * FROM t WHERE token(a, b) > token(?, ?)",
            "SELECT * FROM t WHERE TOKEN(a) >= -9223372036854775808 AND TOKEN(a) < 9223372036854775807",
            "SELECT * FROM t WHERE (a = 1)",
            "SELECT * FROM t WHERE ((a = 1)) AND ((b, c) > (1, 2)) AND (token(a) > 0)",
            "SELECT * FROM t WHERE expr(idx, 'query')",
            "SELECT * FROM t WHERE a = 1 AND expr(idx, ?)",
            "SELECT * FROM t WHERE expr = 1",
            "SELECT * FROM t WHERE key = 1 AND value = 2 AND ttl = 3 AND timestamp = 4",
            "SELECT * FROM t WHERE contains = 1 AND like = 2 AND between = 3 AND exists = 4",
            "SELECT * FROM t WHERE a = (int) 5 AND b = (text)'x' AND c = CAST(1 AS text)",
            "SELECT * FROM t WHERE a = f(1, g(?)) AND b > minTimeuuid('2020-01-01') AND c = ks.f()",
            "SELECT * FROM t WHERE a = 1 + 2 * 3 AND b = (1 + 2) * 3 AND c > now() - 2d",
            "SELECT * FROM t WHERE a = [1, 2] AND b = {1, 2} AND c = {'a': 1} AND d = {f: 1, \"G\": [2]} AND e = (1, 'a', null)",
            "SELECT * FROM t WHERE a = '2020-01-01' AND b = 0xdeadbeef AND c = 1.5e10 AND d = -1",
            "SELECT * FROM t WHERE \"\" = 1",
            "SELECT * FROM t WHERE a = $$it's$$ AND b = 'it''s'",
            "SELECT * FROM t GROUP BY a",
            "SELECT a, max(b) FROM t WHERE pk = 1 GROUP BY pk, a, floor(ts, 1h)",
            "SELECT * FROM t WHERE a = 1 ORDER BY b",
            "SELECT * FROM t WHERE a = 1 ORDER BY b ASC, c DESC",
            "SELECT * FROM t ORDER BY v ANN OF [0.1, 0.2, 0.3] LIMIT 10",
            "SELECT * FROM t ORDER BY v ANN OF ? LIMIT ?",
            "SELECT * FROM t LIMIT 10",
            "SELECT * FROM t LIMIT ?",
            "SELECT * FROM t LIMIT :n",
            "SELECT * FROM t PER PARTITION LIMIT 2",
            "SELECT * FROM t PER PARTITION LIMIT ? LIMIT ?",
            "SELECT * FROM t ALLOW FILTERING",
            "SELECT a FROM t WHERE a = 1 AND b = 2 GROUP BY a ORDER BY b DESC PER PARTITION LIMIT 1 LIMIT 5 ALLOW FILTERING",
            "select\ta\nfrom\rt where a=-1 limit 10 allow filtering",
            "SELECT * FROM type WHERE values = 1",
            "SELECT * FROM system.size_estimates",
        ],
    );
}

#[test]
fn insert_forms() {
    accepted(
        "Insert",
        &[
            "INSERT INTO t (a) VALUES (1)",
            "INSERT INTO ks.t (a, b) VALUES (?, :b)",
            "insert into t(a,b)values(1,'x')",
            "INSERT INTO t (a, b) VALUES (1, 2) IF NOT EXISTS",
            "INSERT INTO t (a) VALUES (1) USING TTL 10",
            "INSERT INTO t (a) VALUES (1) USING TIMESTAMP 1234567890123456 AND TTL ?",
            "INSERT INTO t (a) VALUES (1) IF NOT EXISTS USING TTL :ttl AND TIMESTAMP :ts",
            "INSERT INTO t (a) VALUES (1) USING TIMESTAMP -1",
            "INSERT INTO t (a, b, c) VALUES (null, true, FALSE)",
            "INSERT INTO t (a, b) VALUES (NaN, -Infinity)",
            "INSERT INTO t (a, b) VALUES (-nan, infinity)",
            "INSERT INTO t (a) VALUES (uuid())",
            "INSERT INTO t (a) VALUES (now())",
            "INSERT INTO t (a) VALUES (system.now())",
            "INSERT INTO t (a) VALUES ([])",
            "INSERT INTO t (a) VALUES ({})",
            "INSERT INTO t (a) VALUES ([1, [2], {3}, {4: 5}, (6, 7)])",
            "INSERT INTO t (a) VALUES ({street: 'x', zip: {code: 1, \"Plus4\": 2}})",
            "INSERT INTO t (a) VALUES ({street: ?, zip: ?})",
            "INSERT INTO t (a) VALUES ({'a': ?, ?: 'b'})",
            "INSERT INTO t (a) VALUES ((1, 'a', 2.0))",
            "INSERT INTO t (a) VALUES ((1))",
            "INSERT INTO t (a) VALUES (1 + 2)",
            "INSERT INTO t (a) VALUES ((1 + 2) * 3)",
            "INSERT INTO t (a) VALUES (-(1))",
            "INSERT INTO t (a) VALUES (- ?)",
            "INSERT INTO t (a) VALUES ((int) ?)",
            "INSERT INTO t (a) VALUES ((list<frozen<map<text, int>>>) ?)",
            "INSERT INTO t (a) VALUES ((text) (varchar) 'x')",
            "INSERT INTO t (a) VALUES (('org.apache.cassandra.db.marshal.Int32Type') 1)",
            "INSERT INTO t (a) VALUES (('a'))",
            "INSERT INTO t (a) VALUES (('a', 'b'))",
            "INSERT INTO t (a) VALUES (0x)",
            "INSERT INTO t (a) VALUES (0xCAFEbabe)",
            "INSERT INTO t (a) VALUES (12.)",
            "INSERT INTO t (a) VALUES (1e-7)",
            "INSERT INTO t (a) VALUES (1y2mo3w4d5h6m7s8ms9us10ns)",
            "INSERT INTO t (a) VALUES (-1mo)",
            "INSERT INTO t (a) VALUES (P1Y2M3DT4H5M6S)",
            "INSERT INTO t (a) VALUES (-P1W)",
            "INSERT INTO t (a) VALUES (P0001-02-03T04:05:06)",
            "INSERT INTO t (a) VALUES (123E4567-e89b-12d3-a456-426614174000)",
            "INSERT INTO t (a) VALUES ('')",
            "INSERT INTO t (a) VALUES ('日本語 é ''quoted''')",
            "INSERT INTO t (a) VALUES ('line\nbreak -- not a comment')",
            "INSERT INTO t (a) VALUES (textAsBlob('x'))",
            "INSERT INTO t (a) VALUES (fromJson('[1]'))",
            "INSERT INTO t (key, value, ttl, timestamp, type, list, map) VALUES (?, ?, ?, ?, ?, ?, ?)",
            "INSERT INTO t (\"Select\", \"a b\") VALUES (1, 2)",
            "INSERT INTO t JSON '{\"a\": 1}'",
            "INSERT INTO t JSON ?",
            "INSERT INTO t JSON :doc",
            "INSERT INTO t JSON ? DEFAULT NULL",
            "INSERT INTO t JSON ? DEFAULT UNSET IF NOT EXISTS USING TTL 1",
            "INSERT INTO t JSON $$ {\"a\": 'x'} $$",
        ],
    );
}

#[test]
fn update_forms() {
    accepted(
        "Update",
        &[
            "UPDATE t SET a = 1 WHERE k = 1",
            "UPDATE ks.t USING TTL 10 SET a = 1 WHERE k = 1",
            "UPDATE t USING TIMESTAMP ? AND TTL ? SET a = ?, b = ? WHERE k = ?",
            "UPDATE t SET c = c + 1 WHERE k = 1",
            "UPDATE t SET c = c - 1 WHERE k = 1",
            "UPDATE t SET c = c + ?, d = d - ? WHERE k = ?",
            "UPDATE t SET c=c+1,d=d-1 WHERE k=1",
            "UPDATE t SET c = c -1 WHERE k = 1",
            "UPDATE t SET c = c + -1 WHERE k = 1",
            "UPDATE t SET c += 1, d -= ? WHERE k = 1",
            "UPDATE t SET l = l + [1], s = s + {1}, m = m + {'a': 1} WHERE k = 1",
            "UPDATE t SET l = [1] + l WHERE k = 1",
            "UPDATE t SET l = ? + l WHERE k = 1",
            "UPDATE t SET l = f(1) + l WHERE k = 1",
            "UPDATE t SET l = l - [1], m = m - {'a'} WHERE k = 1",
            "UPDATE t SET l += [1], m += {'a': 1}, s -= {1} WHERE k = 1",
            "UPDATE t SET l[0] = 1, m['a'] = 2, m[?] = ?, m[:k] = :v WHERE k = 1",
            "UPDATE t SET u.f = 1, u.\"G\" = ? WHERE k = 1",
            "UPDATE t SET u = {f: 1} WHERE k = 1",
            "UPDATE t SET a = 1 + 2, b = f(1) + g(2), c = 2 * 3 WHERE k = 1",
            "UPDATE t SET \"c\" = \"c\" + 1 WHERE k = 1",
            "UPDATE t SET key = key + 1, ttl = ttl + 1 WHERE k = 1",
            "UPDATE t SET a = null WHERE k IN (1, 2) AND c = 3",
            "UPDATE t SET a = 1 WHERE k = 1 IF EXISTS",
            "UPDATE t SET a = 1 WHERE k = 1 IF a = 0",
            "UPDATE t SET a = 1 WHERE k = 1 IF a = 0 AND b != ? AND c < 1 AND d <= 2 AND e > 3 AND f >= 4",
            "UPDATE t SET a = 1 WHERE k = 1 IF a IN (1, 2) AND b IN ? AND c IN ()",
            "UPDATE t SET a = 1 WHERE k = 1 IF m['k'] = 1 AND l[0] != 2 AND m[?] IN (?, ?)",
            "UPDATE t SET a = 1 WHERE k = 1 IF u.f = 1 AND u.g IN (1)",
            "UPDATE t SET a = 1 WHERE k = 1 IF m CONTAINS 1 AND m CONTAINS KEY 'a'",
            "UPDATE t SET a = 1 WHERE k = 1 IF exists = 1",
            "UPDATE t SET a = 1 WHERE k = 1 IF a = null",
            "UPDATE t SET a = (int) 1, b = CAST('1' AS int) WHERE k = 1",
            "UPDATE t SET a = now() WHERE k = 1",
        ],
    );
}

#[test]
fn delete_forms() {
    accepted(
        "Delete",
        &[
            "DELETE FROM t WHERE k = 1",
            "DELETE a FROM t WHERE k = 1",
            "DELETE a, b, \"C\" FROM ks.t WHERE k = ?",
            "DELETE m['k'], l[0], m[?] FROM t WHERE k = ?",
            "DELETE u.f FROM t WHERE k = 1",
            "DELETE FROM t USING TIMESTAMP 1 WHERE k = 1",
            "DELETE a FROM t USING TIMESTAMP ? WHERE k = ? AND c > ?",
            "DELETE FROM t WHERE k = 1 AND c >= 1 AND c < 2",
            "DELETE FROM t WHERE k = 1 AND (c, d) > (1, 2)",
            "DELETE FROM t WHERE k IN (1, 2)",
            "DELETE FROM t WHERE k = 1 IF EXISTS",
            "DELETE a FROM t WHERE k = 1 IF a = 1 AND b IN (1)",
            "DELETE key, value FROM t WHERE k = 1",
        ],
    );
}

#[test]
fn batch_forms() {
    accepted(
        "Batch",
        &[
            "BEGIN BATCH APPLY BATCH",
            "BEGIN BATCH INSERT INTO t (a) VALUES (1); APPLY BATCH",
            "BEGIN BATCH INSERT INTO t (a) VALUES (1) UPDATE t SET a = 1 WHERE k = 1 DELETE FROM t WHERE k = 1 APPLY BATCH",
            "BEGIN UNLOGGED BATCH INSERT INTO t (a) VALUES (?); INSERT INTO t (a) VALUES (?); APPLY BATCH",
            "BEGIN COUNTER BATCH UPDATE t SET c = c + 1 WHERE k = 1; UPDATE t SET c = c + ? WHERE k = ?; APPLY BATCH",
            "BEGIN BATCH USING TIMESTAMP 1 INSERT INTO t (a) VALUES (1); APPLY BATCH",
            "BEGIN UNLOGGED BATCH USING TIMESTAMP ? DELETE a FROM t WHERE k = ? IF a = ?; APPLY BATCH",
            "BEGIN BATCH INSERT INTO t (a) VALUES (1) IF NOT EXISTS; UPDATE t USING TTL 1 SET a = 1 WHERE k = 1 IF EXISTS; APPLY BATCH",
            "begin batch\n  insert into t json '{}'; -- one\n  update t set a[1] = 2 where k = 1 /* two */\napply batch",
        ],
    );
}

#[test]
fn keyspace_statements() {
    accepted(
        "CreateKeyspace",
        &[
            "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3', 'dc2': 2} AND durable_writes = false",
            "CREATE KEYSPACE \"Ks\" WITH replication = {}",
            "CREATE KEYSPACE ks WITH durable_writes = 'true'",
        ],
    );
    accepted(
        "AlterKeyspace",
        &[
            "ALTER KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "ALTER KEYSPACE IF EXISTS ks WITH durable_writes = true",
        ],
    );
    accepted("DropKeyspace", &["DROP KEYSPACE ks", "DROP KEYSPACE IF EXISTS \"Ks\""]);
}

#[test]
fn table_statements() {
    accepted(
        "CreateTable",
        &[
            "CREATE TABLE t (a int PRIMARY KEY)",
            "CREATE COLUMNFAMILY ks.t (a int, PRIMARY KEY (a))",
            "CREATE TABLE IF NOT EXISTS ks.t (a int, b text, PRIMARY KEY (a, b))",
            "CREATE TABLE t (a int, b int, c int, d int, e int STATIC, PRIMARY KEY ((a, b), c, d))",
            "CREATE TABLE t (a int, b int, PRIMARY KEY ((a), b),)",
            "CREATE TABLE t (a int static, b int)",
            "CREATE TABLE t (a ascii PRIMARY KEY, b bigint, c blob, d boolean, e counter, f date, g decimal, h double, i duration, j float, k inet, l int, m smallint, n text, o time, p timestamp, q timeuuid, r tinyint, s uuid, t varchar, u varint)",
            "CREATE TABLE t (a int PRIMARY KEY, b list<int>, c set<text>, d map<text, int>, e tuple<int, text, list<int>>, f frozen<list<int>>, g vector<float, 3>)",
            "CREATE TABLE t (a int PRIMARY KEY, b frozen<map<text, frozen<list<frozen<u>>>>>, c ks.u, d \"U\", e frozen<ks.\"U\">)",
            "CREATE TABLE t (a int PRIMARY KEY, b 'org.apache.cassandra.db.marshal.Int32Type')",
            "CREATE TABLE t (a int PRIMARY KEY, b vector<vector<float, 2>, 1536>, c list<vector<double, 1>>)",
            "CREATE TABLE t (key int PRIMARY KEY, value text, type text, timestamp timestamp, date date, list list<int>, map map<int, int>, text text)",
            "CREATE TABLE t (\"Key\" int PRIMARY KEY, \"select\" text)",
            "CREATE TABLE t (a int, b int, PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (b DESC)",
            "CREATE TABLE t (a int, b int, c int, PRIMARY KEY (a, b, c)) WITH CLUSTERING ORDER BY (b DESC, c ASC) AND comment = 'x'",
            "CREATE TABLE t (a int PRIMARY KEY) WITH COMPACT STORAGE",
            "CREATE TABLE t (a int PRIMARY KEY) WITH COMPACT STORAGE AND gc_grace_seconds = 1",
            "CREATE TABLE t (a int PRIMARY KEY) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18",
            "CREATE TABLE t (a int PRIMARY KEY) WITH id = '5a1c395e-b41f-11e5-9f22-ba0be0483c18' AND comment = ''",
            "CREATE TABLE t (a int PRIMARY KEY) WITH bloom_filter_fp_chance = 0.01 AND caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'} AND cdc = false AND compaction = {'class': 'SizeTieredCompactionStrategy', 'max_threshold': 32, 'min_threshold': '4'} AND compression = {'chunk_length_in_kb': '16', 'class': 'LZ4Compressor', 'enabled': true} AND crc_check_chance = 1.0 AND default_time_to_live = 0 AND extensions = {} AND gc_grace_seconds = 864000 AND max_index_interval = 2048 AND memtable_flush_period_in_ms = 0 AND min_index_interval = 128 AND read_repair = 'BLOCKING' AND speculative_retry = '99p' AND additional_write_policy = '99p' AND memtable = 'default' AND allow_auto_snapshot = true AND incremental_backups = true",
            "CREATE TABLE t (a int PRIMARY KEY) WITH default_time_to_live = -1",
            "CREATE TABLE t (a int PRIMARY KEY) WITH \"Option\" = 0xff AND other = type",
            "CREATE TABLE t (a int PRIMARY KEY, b text MASKED WITH DEFAULT, c text STATIC MASKED WITH mask_inner(1, null))",
            "CREATE TABLE t (a text MASKED WITH mask_null() PRIMARY KEY, b text MASKED WITH ks.f(1 + 2, 'x'))",
            "CREATE TABLE t (a clustering PRIMARY KEY, b compact, c static)",
        ],
    );
    accepted(
        "AlterTable",
        &[
            "ALTER TABLE t ADD a int",
            "ALTER TABLE t ADD a int STATIC",
            "ALTER COLUMNFAMILY ks.t ADD (a int, b text STATIC)",
            "ALTER TABLE IF EXISTS t ADD IF NOT EXISTS a frozen<list<int>>",
            "ALTER TABLE t ADD a text MASKED WITH DEFAULT",
            "ALTER TABLE t DROP a",
            "ALTER TABLE t DROP (a, \"B\")",
            "ALTER TABLE IF EXISTS t DROP IF EXISTS a",
            "ALTER TABLE t DROP a USING TIMESTAMP 1234",
            "ALTER TABLE t DROP (a, b) USING TIMESTAMP 1234",
            "ALTER TABLE t DROP COMPACT STORAGE",
            "ALTER TABLE t DROP compact",
            "ALTER TABLE t RENAME a TO b",
            "ALTER TABLE IF EXISTS t RENAME IF EXISTS a TO b AND c TO d",
            "ALTER TABLE t ALTER a TYPE text",
            "ALTER TABLE t ALTER a MASKED WITH mask_inner(1, 2)",
            "ALTER TABLE t ALTER IF EXISTS a MASKED WITH DEFAULT",
            "ALTER TABLE t ALTER a DROP MASKED",
            "ALTER TABLE t WITH comment = 'x'",
            "ALTER TABLE t WITH compaction = {'class': 'LeveledCompactionStrategy'} AND gc_grace_seconds = 1",
        ],
    );
    accepted("DropTable", &["DROP TABLE t", "DROP TABLE IF EXISTS ks.t", "DROP COLUMNFAMILY \"T\""]);
}

#[test]
fn index_statements() {
    accepted(
        "CreateIndex",
        &[
            "CREATE INDEX ON t (a)",
            "CREATE INDEX i ON t (a)",
            "CREATE INDEX IF NOT EXISTS i ON ks.t (a)",
            "CREATE INDEX IF NOT EXISTS ON t (\"A\")",
            "CREATE INDEX i ON t (keys(m))",
            "CREATE INDEX i ON t (values(m))",
            "CREATE INDEX i ON t (ENTRIES(m))",
            "CREATE INDEX i ON t (full(l))",
            "CREATE INDEX i ON t (keys)",
            "CREATE INDEX i ON t (a) USING 'sai'",
            "CREATE CUSTOM INDEX i ON t (a) USING 'StorageAttachedIndex'",
            "CREATE CUSTOM INDEX IF NOT EXISTS i ON t (a, b) USING 'x.Y' WITH OPTIONS = {'case_sensitive': false, 'normalize': 'true'}",
            "CREATE CUSTOM INDEX ON t () USING 'x.Y'",
            "CREATE CUSTOM INDEX i ON t (v) USING 'sai' WITH OPTIONS = {'similarity_function': 'DOT_PRODUCT'}",
        ],
    );
    accepted("DropIndex", &["DROP INDEX i", "DROP INDEX IF EXISTS ks.i", "DROP INDEX \"I\""]);
}

#[test]
fn type_statements() {
    accepted(
        "CreateType",
        &[
            "CREATE TYPE u (a int)",
            "CREATE TYPE IF NOT EXISTS ks.u (a int, \"B\" text, c frozen<list<ks.v>>)",
            "CREATE TYPE \"U\" (a int,)",
            "CREATE TYPE u (key int, type text, timestamp timestamp)",
            "CREATE TYPE type (a int)",
        ],
    );
    accepted(
        "AlterType",
        &[
            "ALTER TYPE u ADD a int",
            "ALTER TYPE IF EXISTS ks.u ADD IF NOT EXISTS a list<int>",
            "ALTER TYPE u RENAME a TO b",
            "ALTER TYPE u RENAME IF EXISTS a TO b AND c TO d",
            "ALTER TYPE u ALTER a TYPE text",
        ],
    );
    accepted("DropType", &["DROP TYPE u", "DROP TYPE IF EXISTS ks.u"]);
}

#[test]
fn view_statements() {
    accepted(
        "CreateView",
        &[
            "CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE a IS NOT NULL AND b IS NOT NULL PRIMARY KEY (b, a)",
            "CREATE MATERIALIZED VIEW IF NOT EXISTS ks.v AS SELECT a, b, c FROM ks.t WHERE a IS NOT NULL AND b = 1 AND c > 2 PRIMARY KEY ((b, c), a) WITH CLUSTERING ORDER BY (a DESC) AND comment = 'x'",
            "CREATE MATERIALIZED VIEW v AS SELECT a FROM t PRIMARY KEY (a) WITH gc_grace_seconds = 1",
        ],
    );
    accepted(
        "AlterView",
        &[
            "ALTER MATERIALIZED VIEW v WITH comment = 'x'",
            "ALTER MATERIALIZED VIEW IF EXISTS ks.v WITH gc_grace_seconds = 1 AND comment = ''",
        ],
    );
    accepted("DropView", &["DROP MATERIALIZED VIEW v", "DROP MATERIALIZED VIEW IF EXISTS ks.v"]);
}

#[test]
fn function_statements() {
    accepted(
        "CreateFunction",
        &[
            "CREATE FUNCTION f (a int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS 'return a;'",
            "CREATE OR REPLACE FUNCTION ks.f (a int, b list<text>) CALLED ON NULL INPUT RETURNS frozen<map<int, text>> LANGUAGE JAVA AS $$ return 'x'; $$",
            "CREATE FUNCTION IF NOT EXISTS f () CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS ''",
            "CREATE FUNCTION \"F\" (key int, \"B\" text) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'x'",
        ],
    );
    accepted(
        "DropFunction",
        &["DROP FUNCTION f", "DROP FUNCTION IF EXISTS ks.f", "DROP FUNCTION f ()", "DROP FUNCTION f (int, list<text>)"],
    );
    accepted(
        "CreateAggregate",
        &[
            "CREATE AGGREGATE a (int) SFUNC f STYPE int",
            "CREATE AGGREGATE IF NOT EXISTS a () SFUNC f STYPE int INITCOND 0",
            "CREATE OR REPLACE AGGREGATE ks.a (int, text) SFUNC f STYPE tuple<int, int> FINALFUNC g INITCOND (0, 0)",
            "CREATE AGGREGATE a (int) SFUNC \"F\" STYPE map<int, int> FINALFUNC g INITCOND {}",
            "CREATE AGGREGATE a (int) SFUNC f STYPE int INITCOND null",
        ],
    );
    accepted("DropAggregate", &["DROP AGGREGATE a", "DROP AGGREGATE IF EXISTS ks.a (int)"]);
    accepted("CreateTrigger", &["CREATE TRIGGER tr ON t USING 'x.Y'", "CREATE TRIGGER IF NOT EXISTS \"Tr\" ON ks.t USING 'x.Y'"]);
    accepted("DropTrigger", &["DROP TRIGGER tr ON t", "DROP TRIGGER IF EXISTS tr ON ks.t"]);
}

#[test]
fn role_statements() {
    accepted(
        "CreateRole",
        &[
            "CREATE ROLE r",
            "CREATE ROLE IF NOT EXISTS 'R' WITH PASSWORD = 'x' AND LOGIN = true AND SUPERUSER = false",
            "CREATE ROLE \"R\" WITH HASHED PASSWORD = '$2a$10$x'",
            "CREATE ROLE r WITH OPTIONS = {'a': 'b', 'c': 1}",
            "CREATE ROLE r WITH LOGIN = true AND ACCESS TO ALL DATACENTERS",
            "CREATE ROLE r WITH ACCESS TO DATACENTERS {'dc1', 'dc2'} AND ACCESS FROM CIDRS {'region1'}",
            "CREATE ROLE r WITH ACCESS FROM ALL CIDRS",
            "CREATE USER u",
            "CREATE USER IF NOT EXISTS 'U' WITH PASSWORD 'x' SUPERUSER",
            "CREATE USER u WITH PASSWORD 'x' NOSUPERUSER",
            "CREATE USER u WITH HASHED PASSWORD 'x'",
            "CREATE USER u SUPERUSER",
        ],
    );
    accepted(
        "AlterRole",
        &[
            "ALTER ROLE r WITH PASSWORD = 'x'",
            "ALTER ROLE IF EXISTS r WITH SUPERUSER = true AND LOGIN = FALSE",
            "ALTER USER u WITH PASSWORD 'x'",
            "ALTER USER IF EXISTS u SUPERUSER",
            "ALTER ROLE r",
        ],
    );
    accepted("DropRole", &["DROP ROLE r", "DROP ROLE IF EXISTS 'R'", "DROP USER u", "DROP USER IF EXISTS u"]);
    accepted("GrantRole", &["GRANT r TO s", "GRANT 'R' TO \"S\"", "GRANT all TO r", "GRANT unmask TO r"]);
    accepted("RevokeRole", &["REVOKE r FROM s", "REVOKE 'R' FROM s"]);
    accepted(
        "GrantPermissions",
        &[
            "GRANT ALL ON ALL KEYSPACES TO r",
            "GRANT ALL PERMISSIONS ON KEYSPACE ks TO r",
            "GRANT SELECT ON ks.t TO r",
            "GRANT SELECT PERMISSION ON TABLE ks.t TO 'R'",
            "GRANT SELECT, MODIFY ON ALL TABLES IN KEYSPACE ks TO r",
            "GRANT CREATE, ALTER PERMISSION, DROP ON ALL KEYSPACES TO r",
            "GRANT AUTHORIZE ON ROLE s TO r",
            "GRANT DESCRIBE ON ALL ROLES TO r",
            "GRANT EXECUTE ON FUNCTION ks.f(int, text) TO r",
            "GRANT EXECUTE ON ALL FUNCTIONS TO r",
            "GRANT EXECUTE ON ALL FUNCTIONS IN KEYSPACE ks TO r",
            "GRANT SELECT ON ALL MBEANS TO r",
            "GRANT EXECUTE ON MBEAN 'java.lang:type=Memory' TO r",
            "GRANT SELECT ON MBEANS 'org.apache.cassandra.db:*' TO r",
            "GRANT UNMASK ON ks.t TO r",
            "GRANT SELECT_MASKED ON ks.t TO r",
            "GRANT MODIFY ON role TO r",
        ],
    );
    accepted(
        "RevokePermissions",
        &["REVOKE ALL ON KEYSPACE ks FROM r", "REVOKE MODIFY ON TABLE t FROM r", "REVOKE UNMASK, SELECT_MASKED ON t FROM r"],
    );
    accepted(
        "ListPermissions",
        &[
            "LIST ALL",
            "LIST ALL PERMISSIONS",
            "LIST ALL PERMISSIONS OF r",
            "LIST SELECT ON ks.t",
            "LIST MODIFY PERMISSION ON KEYSPACE ks OF r NORECURSIVE",
            "LIST ALL ON ALL ROLES OF 'R'",
        ],
    );
    accepted("ListRoles", &["LIST ROLES", "LIST ROLES OF r", "LIST ROLES OF r NORECURSIVE", "LIST ROLES NORECURSIVE"]);
    accepted("ListUsers", &["LIST USERS", "list users"]);
    accepted("AddIdentity", &["ADD IDENTITY 'spiffe://x/y' TO ROLE 'r'", "ADD IDENTITY IF NOT EXISTS 'x' TO ROLE r"]);
    accepted("DropIdentity", &["DROP IDENTITY 'x'", "DROP IDENTITY IF EXISTS 'x'"]);
}

#[test]
fn describe_statements() {
    accepted(
        "Describe",
        &[
            "DESCRIBE CLUSTER",
            "DESC CLUSTER WITH INTERNALS",
            "DESCRIBE SCHEMA",
            "DESCRIBE FULL SCHEMA",
            "DESCRIBE FULL SCHEMA WITH INTERNALS",
            "DESCRIBE KEYSPACES",
            "DESC KEYSPACES",
            "DESCRIBE KEYSPACE",
            "DESCRIBE KEYSPACE ks",
            "DESCRIBE KEYSPACE \"Ks\" WITH INTERNALS",
            "DESCRIBE ONLY KEYSPACE ks",
            "DESCRIBE ONLY KEYSPACE",
            "DESCRIBE TABLES",
            "DESCRIBE TABLE t",
            "DESCRIBE TABLE ks.t WITH INTERNALS",
            "DESCRIBE COLUMNFAMILY ks.t",
            "DESCRIBE TYPES",
            "DESCRIBE TYPE ks.u",
            "DESCRIBE FUNCTIONS",
            "DESCRIBE FUNCTION ks.f",
            "DESCRIBE AGGREGATES",
            "DESCRIBE AGGREGATE ks.a",
            "DESCRIBE INDEX ks.i",
            "DESCRIBE MATERIALIZED VIEW ks.v",
            "DESC ks",
            "DESC ks.t",
            "DESC \"Ks\".\"T\" WITH INTERNALS",
            "DESC system_schema",
            "DESC users",
        ],
    );
}

/// Not in Cassandra 5.0's grammar.
#[test]
fn extensions() {
    accepted(
        "Select",
        &[
            "SELECT * FROM t USING TIMEOUT 5s",
            "SELECT * FROM t WHERE a NOT IN (1, 2) AND b NOT IN ?",
            "SELECT * FROM t WHERE a BETWEEN 1 AND 2 AND b = 3",
            "SELECT * FROM t WHERE m NOT CONTAINS 'v' AND m NOT CONTAINS KEY ?",
            "SELECT * FROM t WHERE (a, b) NOT IN ((1, 2))",
            "SELECT * FROM t WHERE (a, b) BETWEEN (1, 2) AND (3, 4)",
            "SELECT * FROM t WHERE token(a) BETWEEN ? AND ?",
            "SELECT * FROM t WHERE a = 1 LIMIT 1 ALLOW FILTERING BYPASS CACHE USING TIMEOUT ?",
            "SELECT * FROM t BYPASS CACHE",
            "SELECT distinct AS d, json AS j FROM t",
            "SELECT * FROM t WHERE token(a) = 1 AND m['k'] > 1",
        ],
    );
    accepted(
        "Insert",
        &["INSERT INTO t (a) VALUES (1) USING TIMEOUT 50ms", "INSERT INTO t (a) VALUES (1) USING TTL 1 AND TIMESTAMP 2 AND TIMEOUT :t"],
    );
    accepted("Update", &["UPDATE t USING TIMEOUT 1m SET a = 1 WHERE k = 1"]);
    accepted("Delete", &["DELETE FROM t USING TIMEOUT 1h AND TIMESTAMP 3 WHERE k = 1"]);
    accepted("Batch", &["BEGIN BATCH USING TIMEOUT 1s INSERT INTO t (a) VALUES (1); APPLY BATCH"]);
    accepted("Truncate", &["TRUNCATE t USING TIMEOUT 1m"]);
    accepted(
        "PruneView",
        &[
            "PRUNE MATERIALIZED VIEW ks.v WHERE token(a) > 1 AND token(a) < 2",
            "PRUNE MATERIALIZED VIEW v WHERE a = ? USING CONCURRENCY 10 AND TIMEOUT 1s",
        ],
    );
    accepted("CreateKeyspace", &["CREATE SCHEMA ks WITH replication = {'class': 'SimpleStrategy'}"]);
    accepted("DropKeyspace", &["DROP SCHEMA ks"]);
    accepted("ListSuperusers", &["LIST SUPERUSERS"]);
    accepted("CreateIndex", &["CREATE INDEX i ON t ((pk), v)", "CREATE INDEX ON t ((a, b), v)"]);
    accepted("CreateAggregate", &["CREATE AGGREGATE a (int) SFUNC f STYPE int REDUCEFUNC r FINALFUNC g INITCOND 0"]);
    accepted("AlterTable", &["ALTER TABLE t ADD a int, b text", "ALTER TABLE t DROP a, b"]);
    accepted("CreateRole", &["CREATE ROLE r WITH GENERATED PASSWORD AND LOGIN = true", "CREATE USER u WITH GENERATED PASSWORD"]);
    accepted("Describe", &["DESC SCHEMA WITH INTERNALS AND PASSWORDS", "DESC cluster.t", "DESC type"]);
    accepted(
        "Unsupported",
        &[
            "CREATE SERVICE LEVEL sl WITH shares = 100",
            "CREATE SERVICE_LEVEL IF NOT EXISTS sl",
            "ALTER SERVICE LEVEL sl WITH timeout = 5s",
            "DROP SERVICE LEVEL IF EXISTS sl",
            "ATTACH SERVICE LEVEL sl TO r",
            "DETACH SERVICE LEVEL FROM r",
            "LIST SERVICE LEVEL sl",
            "LIST ALL SERVICE LEVELS",
            "LIST ATTACHED SERVICE LEVEL OF r",
            "LIST EFFECTIVE SERVICE LEVEL OF r",
        ],
    );
}

#[test]
fn every_unreserved_word_can_name_a_table_a_column_and_a_marker() {
    for keyword in cql::language::keyword::Keyword::ALL {
        let word = keyword.text();
        let text = format!("SELECT {word}, {word} AS {word} FROM {word}.{word} WHERE {word} = :{word}");
        match parse(&text) {
            Ok(parsed) => {
                assert!(!keyword.is_reserved(), "{text}");
                assert_eq!(parsed.markers.len(), 1);
            }
            Err(error) => assert!(keyword.is_reserved(), "{text}: {error}"),
        }
        assert!(parse(&format!("SELECT \"{word}\" FROM \"{word}\" WHERE \"{word}\" = :\"{word}\"")).is_ok(), "{word} quoted");
    }
}
