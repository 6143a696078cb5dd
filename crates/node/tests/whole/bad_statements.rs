//! Whole frames with statements and values that make no sense: always a reply, never the server's own failure.

use base::Rng;
use cql::wire::BatchKind;
use sim::{Client, Machine, Reply, Seeded, Setup, Statement, seeds};

/// What a server says when it is at fault itself.
const SERVER_ERROR: i32 = 0x0000;

const SCHEMA: [&str; 6] = [
    "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TYPE ks.pair (a int, b text)",
    "CREATE TABLE ks.all (k int, c text, a ascii, b bigint, bl blob, bo boolean, da date, de decimal, dou double, du duration, f float, \
     i inet, sm smallint, ti time, ts timestamp, tu timeuuid, ty tinyint, u uuid, va varchar, vi varint, l list<int>, s set<text>, \
     m map<text, int>, fl frozen<list<frozen<map<int, text>>>>, tup tuple<int, text>, p pair, fp frozen<pair>, st int STATIC, \
     PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)",
    "CREATE TABLE ks.n (k int PRIMARY KEY, n counter)",
    "CREATE TABLE ks.many (a int, b blob, c int, d varint, v int, PRIMARY KEY ((a, b), c, d))",
    "CREATE TABLE ks.plain (k blob PRIMARY KEY, v blob)",
];

/// Each with a term that fits it, so that not everything is refused for its first mistake.
const COLUMNS: [(&str, &str); 29] = [
    ("k", "1"),
    ("c", "'x'"),
    ("a", "'ascii'"),
    ("b", "-1"),
    ("bl", "0xdeadbeef"),
    ("bo", "true"),
    ("da", "'2024-02-29'"),
    ("de", "-1.5e-30"),
    ("dou", "Infinity"),
    ("du", "1y2mo3w"),
    ("f", "NaN"),
    ("i", "'::1'"),
    ("sm", "32767"),
    ("ti", "'23:59:59.999999999'"),
    ("ts", "'2024-02-29T12:00:00Z'"),
    ("tu", "now()"),
    ("ty", "-128"),
    ("u", "uuid()"),
    ("va", "'\u{1F600}'"),
    ("vi", "99999999999999999999999999"),
    ("l", "[1, 2, 3]"),
    ("s", "{'a', 'b'}"),
    ("m", "{'a': 1, 'b': 2}"),
    ("fl", "[{1: 'x'}, {}]"),
    ("tup", "(1, null)"),
    ("p", "{a: 1}"),
    ("fp", "{a: 1, b: 'y'}"),
    ("st", "7"),
    ("nosuch", "8"),
];

const TERMS: [&str; 44] = [
    "?",
    "1",
    "-1",
    "0",
    "1.5",
    "-1e400",
    "NaN",
    "Infinity",
    "99999999999999999999999999",
    "'text'",
    "''",
    "'2024-02-30'",
    "'00:61:00'",
    "true",
    "null",
    "0x",
    "0xabc",
    "0xdeadbeef",
    "00000000-0000-0000-0000-000000000000",
    "123e4567-e89b-12d3-a456-426614174000",
    "[1, 2, 3]",
    "[]",
    "{'a', 'b'}",
    "{}",
    "{'a': 1}",
    "{1: 2, 1: 3}",
    "(1, 'x')",
    "{a: 1, b: 'y'}",
    "[[[[1]]]]",
    "now()",
    "uuid()",
    "token(1)",
    "1y2mo3w",
    "P1Y",
    "(int) 5",
    "(text) 'x'",
    "?",
    "?",
    "minTimeuuid('2024-01-01')",
    "toDate(now())",
    "blobAsInt(0x00)",
    "1 + 2",
    "- -1",
    "'\u{1F600}'",
];

fn pick(dice: &mut Rng, from: &[&'static str]) -> &'static str {
    from[dice.below(from.len() as u64) as usize]
}

fn column(dice: &mut Rng) -> &'static str {
    COLUMNS[dice.below(COLUMNS.len() as u64) as usize].0
}

/// A term for a column: one that fits, a marker, or any.
fn term(dice: &mut Rng, column: &str) -> &'static str {
    match dice.below(5) {
        0 => pick(dice, &TERMS),
        1 => "?",
        _ => COLUMNS.iter().find(|(name, _)| *name == column).map_or("1", |(_, fitting)| fitting),
    }
}

fn list(dice: &mut Rng, most: u64, mut one: impl FnMut(&mut Rng) -> String) -> String {
    (0..1 + dice.below(most)).map(|_| one(dice)).collect::<Vec<_>>().join(", ")
}

fn relation(dice: &mut Rng) -> String {
    let column = column(dice);
    match dice.below(9) {
        0..4 => format!(
            "{column} {} {}",
            pick(dice, &["=", "=", "=", "<", ">=", ">", "<=", "!=", "LIKE", "CONTAINS", "CONTAINS KEY"]),
            term(dice, column)
        ),
        4 => format!("{column} IN ({})", list(dice, 4, |dice| term(dice, column).to_owned())),
        5 => format!("{column} IN ?"),
        6 => format!("token({column}) > {}", term(dice, "b")),
        7 => format!("(c, {column}) >= ({}, {})", term(dice, "c"), term(dice, column)),
        _ => format!("{column}[{}] = {}", pick(dice, &TERMS), pick(dice, &TERMS)),
    }
}

fn relations(dice: &mut Rng) -> String {
    let start =
        ["", "k = 1 AND ", "k = ? AND ", "k = 1 AND c = 'x' AND ", "k IN (1, 2, 3) AND c IN ('x', 'y') AND "][dice.below(5) as usize];
    let more: Vec<String> = (0..dice.below(3)).map(|_| relation(dice)).collect();
    let whole = format!("{start}{}", more.join(" AND "));
    whole.trim_end_matches(" AND ").to_owned()
}

fn text(dice: &mut Rng) -> String {
    let relations = relations(dice);
    let condition = if relations.is_empty() { String::new() } else { format!(" WHERE {relations}") };
    match dice.below(8) {
        0 | 1 => {
            let selection = list(dice, 4, |dice| match dice.below(7) {
                1 => format!("count({})", column(dice)),
                2 => {
                    let function =
                        pick(dice, &["writetime", "ttl", "max", "sum", "avg", "toJson", "typeAsBlob", "intAsBlob", "token", "abs"]);
                    format!("{function}({})", column(dice))
                }
                3 => format!("{}[{}]", column(dice), pick(dice, &TERMS)),
                4 => format!("CAST({} AS {})", column(dice), pick(dice, &["int", "text", "double", "blob", "varint", "list<int>"])),
                _ => column(dice).to_owned(),
            });
            let selection = if dice.below(4) == 0 { "*".to_owned() } else { selection };
            let kind = pick(dice, &["", "", "DISTINCT ", "JSON "]);
            let tail =
                pick(dice, &["", " LIMIT 2", " LIMIT ?", " PER PARTITION LIMIT 1", " ORDER BY c ASC", " GROUP BY k", " GROUP BY k, c"]);
            let filtering = pick(dice, &["", " ALLOW FILTERING", " ALLOW FILTERING"]);
            format!("SELECT {kind}{selection} FROM ks.all{condition}{tail}{filtering}")
        }
        2 | 3 => {
            let columns: Vec<&str> = (0..1 + dice.below(4)).map(|_| column(dice)).collect();
            let values: Vec<&str> = columns.iter().map(|column| term(dice, column)).collect();
            let tail =
                pick(dice, &["", " IF NOT EXISTS", " USING TTL 5", " USING TTL ? AND TIMESTAMP ?", " USING TIMESTAMP -5", " USING TTL -1"]);
            let (k, c) = (term(dice, "k"), term(dice, "c"));
            format!("INSERT INTO ks.all (k, c, {}) VALUES ({k}, {c}, {}){tail}", columns.join(", "), values.join(", "))
        }
        4 => {
            let assignments = list(dice, 3, |dice| {
                let column = column(dice);
                let term = term(dice, column);
                match dice.below(5) {
                    0 => format!("{column} = {column} + {term}"),
                    1 => format!("{column} = {term} + {column}"),
                    2 => format!("{column} = {column} - {term}"),
                    3 => format!("{column}[{}] = {term}", pick(dice, &TERMS)),
                    _ => format!("{column} = {term}"),
                }
            });
            let tail = match dice.below(4) {
                0 => " IF EXISTS".to_owned(),
                1 => format!(" IF {}", relation(dice)),
                _ => String::new(),
            };
            format!("UPDATE ks.all SET {assignments}{condition}{tail}")
        }
        5 => {
            let columns = if dice.below(2) == 0 { String::new() } else { list(dice, 3, |dice| column(dice).to_owned()) };
            format!("DELETE {columns} FROM ks.all{condition}")
        }
        6 => pick(
            dice,
            &[
                "INSERT INTO ks.many (a, b, c, d, v) VALUES (?, ?, ?, ?, ?)",
                "SELECT * FROM ks.many WHERE a IN ? AND b = ? AND (c, d) > (?, ?)",
                "DELETE FROM ks.many WHERE a = ? AND b = ? AND c = ? AND d < ?",
                "UPDATE ks.n SET n = n + ? WHERE k = ?",
                "UPDATE ks.n SET n = ? WHERE k = ?",
                "INSERT INTO ks.plain (k, v) VALUES (?, ?)",
                "SELECT * FROM ks.plain WHERE k = ?",
                "SELECT * FROM ks.plain WHERE token(k) > ? AND token(k) <= ?",
                "INSERT INTO ks.all JSON ?",
                "INSERT INTO ks.all JSON ? DEFAULT UNSET",
                "SELECT fromJson(?) FROM ks.all",
                "DESCRIBE ks.all",
                "DESCRIBE SCHEMA",
                "SELECT * FROM system_schema.columns WHERE keyspace_name = ? AND table_name > ?",
                "SELECT * FROM system.local WHERE key = ?",
            ],
        )
        .to_owned(),
        _ => pick(
            dice,
            &[
                "CREATE TABLE IF NOT EXISTS ks.extra (k frozen<list<int>> PRIMARY KEY, v int)",
                "DROP TABLE IF EXISTS ks.extra",
                "ALTER TABLE ks.all ADD nosuch int",
                "ALTER TABLE ks.all DROP nosuch",
                "ALTER TABLE ks.all ALTER b TYPE blob",
                "ALTER TYPE ks.pair ADD c int",
                "DROP TYPE ks.pair",
                "CREATE INDEX ON ks.all (b)",
                "CREATE MATERIALIZED VIEW ks.mv AS SELECT * FROM ks.all WHERE k IS NOT NULL AND c IS NOT NULL PRIMARY KEY (c, k)",
                "CREATE FUNCTION ks.f (a int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS 'return a;'",
                "CREATE ROLE x WITH PASSWORD = 'y'",
                "LIST ROLES",
                "USE nosuch",
                "TRUNCATE ks.many",
                "DROP KEYSPACE system",
            ],
        )
        .to_owned(),
    }
}

/// Bytes of any length, often those that some type has.
fn value(dice: &mut Rng) -> Option<Vec<u8>> {
    let length = match dice.below(12) {
        0 => return None,
        1 => 0,
        2 => 1,
        3 => 2,
        4 | 5 => 4,
        6 | 7 => 8,
        8 => 16,
        9 => dice.below(40) as usize,
        10 => return Some(pick(dice, &["x", "{\"k\": 1, \"c\": \"x\"}", "[[[[", "{\"k\":", "\u{0}", "ks", "null"]).as_bytes().to_vec()),
        _ => dice.below(3_000) as usize,
    };
    let mut bytes = vec![0; length];
    match dice.below(4) {
        0 => {}
        1 => bytes.fill(0xFF),
        // Small numbers, as counts and lengths are.
        2 => bytes.iter_mut().skip(3).step_by(4).for_each(|byte| *byte = dice.below(6) as u8),
        _ => dice.fill(&mut bytes),
    }
    Some(bytes)
}

fn statement(dice: &mut Rng, text: String) -> Statement {
    let markers = text.matches('?').count();
    let count = if dice.below(12) == 0 { dice.below(6) as usize } else { markers };
    let mut statement = Statement::new(text).bind((0..count).map(|_| value(dice)).collect::<Vec<_>>());
    if dice.below(6) == 0 {
        statement = statement.at([0, -1, i64::MAX, i64::MIN + 1, 1_700_000_000_000_000][dice.below(5) as usize]);
    }
    if dice.below(4) == 0 {
        let state = if dice.below(3) == 0 { value(dice) } else { None };
        statement = statement.page([1, 2, 100, u32::MAX][dice.below(4) as usize], state);
    }
    statement
}

#[test]
fn every_statement_gets_a_reply_and_none_is_the_servers_fault() {
    let (mut done, mut all) = (0, 0);
    for seed in seeds(200) {
        all += 300;
        let _seeded = Seeded(seed);
        let mut dice = Rng::new(seed);
        let mut machine = Machine::start(&Setup::small(seed));
        let mut client = Client::any(&mut machine, 0);
        for statement in SCHEMA {
            client.query(&mut machine, statement).done();
        }
        for _ in 0..300 {
            let what = match dice.below(10) {
                0 => {
                    let kind = [BatchKind::Logged, BatchKind::Unlogged, BatchKind::Counter][dice.below(3) as usize];
                    let statements = (0..dice.below(5)).map(|_| {
                        let text = text(&mut dice);
                        statement(&mut dice, text)
                    });
                    let statements = statements.collect();
                    Statement::batch(kind, statements)
                }
                _ => {
                    let text = text(&mut dice);
                    statement(&mut dice, text)
                }
            };
            let reply = client.call(&mut machine, &what);
            match &reply {
                Reply::Nothing => panic!("{what:?}: the connection ended"),
                Reply::Error { code: SERVER_ERROR, message } => panic!("{what:?}: {message}"),
                Reply::Error { .. } => {}
                _ => done += 1,
            }
        }
        // Whatever was written can be read.
        client.pages(&mut machine, &Statement::new("SELECT * FROM ks.all"), 3);
        client.pages(&mut machine, &Statement::new("SELECT * FROM ks.many"), 3);
    }
    assert!(done > all / 20, "nearly all statements were refused: {done} of {all} were done");
}
