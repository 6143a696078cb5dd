//! Mutated statements and random text: the parser answers every text, without a panic and with an error that points into the text.
//!
//! `TARNDB_FUZZ_ITERATIONS` sets how many texts (20,000 by default), `TARNDB_FUZZ_SEED` the seed; a failure prints both.
#![allow(clippy::unwrap_used)]

use base::Rng;
use cql::language::{keyword::Keyword, parse, quote_identifier};

const CORPUS: &[&str] = &[
    "SELECT * FROM system.local WHERE key='local'",
    "SELECT JSON DISTINCT a AS b, count(*), m['k'], s[1..2], u.f, CAST(a AS text), (int) ?, -a + b * 2 FROM ks.\"T\" WHERE a = 1 AND (b, c) >= (?, :x) \
     AND token(a) > token(1) AND m['k'] = 'v' AND d IN (1, 2) AND expr(i, 'q') AND e IS NOT NULL GROUP BY a ORDER BY b DESC, v ANN OF [0.1] \
     PER PARTITION LIMIT 1 LIMIT ? ALLOW FILTERING BYPASS CACHE USING TIMEOUT 5s",
    "INSERT INTO t (a, b, c, d) VALUES ('it''s', {f: [1, {2}], g: {'k': (1, 2.5e-3)}}, 0xff, -P1Y2M) IF NOT EXISTS USING TTL 1 AND TIMESTAMP ?",
    "INSERT INTO t JSON $$ {\"a\": 1} $$ DEFAULT UNSET",
    "UPDATE t USING TTL ? SET a = a + 1, l = [1] + l, m[?] = 2, u.f = 3, s -= {1}, c = c -1 WHERE k = 1 IF a = 1 AND m['k'] IN (1) AND u.f != null",
    "DELETE a, m['k'], u.f FROM t USING TIMESTAMP 1 WHERE k = 123e4567-e89b-12d3-a456-426614174000 IF EXISTS",
    "BEGIN UNLOGGED BATCH USING TIMESTAMP 1 INSERT INTO t (a) VALUES (1); UPDATE t SET a = NaN WHERE k = 1; DELETE FROM t WHERE k = 1 APPLY BATCH;",
    "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1} AND durable_writes = true",
    "CREATE TABLE t (a int, b frozen<map<text, list<ks.u>>> STATIC MASKED WITH f(1), c vector<float, 3>, d 'x.Y', PRIMARY KEY ((a, b), c)) \
     WITH CLUSTERING ORDER BY (c DESC) AND COMPACT STORAGE AND comment = 'x' AND compaction = {'class': 'X', 'y': -1}",
    "ALTER TABLE IF EXISTS t ADD IF NOT EXISTS (a int, b text STATIC)",
    "ALTER TABLE t RENAME a TO b AND c TO d",
    "CREATE CUSTOM INDEX i ON t (keys(m), (a, b)) USING 'sai' WITH OPTIONS = {'a': 'b'}",
    "CREATE TYPE ks.u (a int, b tuple<int, text>)",
    "CREATE MATERIALIZED VIEW v AS SELECT a, b FROM t WHERE a IS NOT NULL PRIMARY KEY ((a), b) WITH comment = ''",
    "CREATE OR REPLACE FUNCTION f (a int) CALLED ON NULL INPUT RETURNS text LANGUAGE java AS $$ return ''; $$",
    "CREATE AGGREGATE a (int) SFUNC f STYPE tuple<int, int> FINALFUNC g INITCOND (0, 0)",
    "CREATE ROLE r WITH PASSWORD = 'x' AND OPTIONS = {'a': 1} AND ACCESS TO DATACENTERS {'dc1'}",
    "GRANT SELECT, MODIFY PERMISSION ON ALL TABLES IN KEYSPACE ks TO r",
    "LIST ALL PERMISSIONS ON FUNCTION ks.f(int) OF r NORECURSIVE",
    "DESCRIBE ONLY KEYSPACE ks WITH INTERNALS",
    "TRUNCATE TABLE ks.t -- comment\n/* more */;",
];

const FRAGMENTS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "<=",
    ">=",
    "!=",
    "=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "+=",
    "-=",
    ".",
    "..",
    ",",
    ";",
    ":",
    "?",
    "'",
    "''",
    "'x'",
    "\"",
    "\"\"",
    "\"X\"",
    "$$",
    "$$x$$",
    "--",
    "//",
    "/*",
    "*/",
    "\n",
    " ",
    "0",
    "1",
    "-1",
    "1.",
    "1.5e",
    "0x",
    "0xf",
    "1h",
    "P1Y",
    "PT1S",
    "é",
    "µs",
    "1µs",
    "\u{0}",
    "\u{feff}",
    "😀",
    "123e4567-e89b-12d3-a456-426614174000",
    "a",
    "f(",
    "ks.",
    "token(",
    "(int)",
    "list<",
    "expr(",
    "CAST(",
];

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn pick<'a>(rng: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[rng.below(choices.len() as u64) as usize]
}

/// A byte offset of `text` that is a character boundary.
fn boundary(rng: &mut Rng, text: &str) -> usize {
    let mut offset = rng.below(text.len() as u64 + 1) as usize;
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn insertion(rng: &mut Rng) -> String {
    match rng.below(4) {
        0 => format!(" {} ", Keyword::ALL[rng.below(Keyword::ALL.len() as u64) as usize].text()),
        1 => char::from_u32(rng.below(0x500) as u32).unwrap_or('x').to_string(),
        2 => pick(rng, FRAGMENTS).repeat(1 + rng.below(80) as usize),
        _ => pick(rng, FRAGMENTS).to_owned(),
    }
}

fn mutate(rng: &mut Rng, text: &mut String) {
    let (one, other) = (boundary(rng, text), boundary(rng, text));
    let (start, end) = (one.min(other), one.max(other));
    // mostly short ranges, so that much of the statement stays
    let end = if rng.below(4) > 0 {
        text[start..].char_indices().nth(rng.below(6) as usize).map_or(end, |(index, _)| start + index)
    } else {
        end
    };
    match rng.below(5) {
        0 => text.replace_range(start..end, ""),
        1 => text.insert_str(start, &insertion(rng)),
        2 => text.replace_range(start..end, &insertion(rng)),
        3 => {
            let copy = text[start..end].to_owned();
            let place = boundary(rng, text);
            text.insert_str(place, &copy);
        }
        _ => {
            let donor = pick(rng, CORPUS);
            let cut = boundary(rng, donor);
            text.truncate(start);
            text.push_str(&donor[cut..]);
        }
    }
}

fn random_text(rng: &mut Rng) -> String {
    let count = rng.below(60);
    (0..count).map(|_| insertion(rng)).collect()
}

/// The error of `text`, if it has one, lies inside it.
fn check(text: &str) {
    if let Err(error) = parse(text) {
        let line = text.split('\n').nth(error.line - 1).expect("the line is in the text");
        assert!(error.column <= line.chars().count(), "{error} lies behind its line");
        assert!(error.to_string().starts_with(&format!("line {}:{} ", error.line, error.column)));
    }
}

#[test]
fn no_text_panics() {
    let seed = environment("TARNDB_FUZZ_SEED", 1);
    let iterations = environment("TARNDB_FUZZ_ITERATIONS", 20_000);
    let mut rng = Rng::new(seed);
    let mut accepted = 0_u64;
    for iteration in 0..iterations {
        let mut text = if rng.below(10) == 0 { random_text(&mut rng) } else { pick(&mut rng, CORPUS).to_owned() };
        for _ in 0..rng.below(5) {
            mutate(&mut rng, &mut text);
        }
        let outcome = std::panic::catch_unwind(|| check(&text));
        assert!(outcome.is_ok(), "TARNDB_FUZZ_SEED={seed} iteration {iteration}: {text:?}");
        accepted += u64::from(parse(&text).is_ok());
    }
    // the corpus is of statements, so a parser that refuses everything is found out
    assert!(accepted * 20 > iterations, "only {accepted} of {iterations} texts were accepted");
}

#[test]
fn every_prefix_and_suffix_of_a_statement_is_answered() {
    for text in CORPUS {
        for (offset, _) in text.char_indices() {
            check(&text[..offset]);
            check(&text[offset..]);
        }
    }
}

#[test]
fn quoted_names_read_back() {
    let mut rng = Rng::new(7);
    for _ in 0..2_000 {
        let name: String = match rng.below(3) {
            0 => Keyword::ALL[rng.below(Keyword::ALL.len() as u64) as usize].text().to_owned(),
            1 => (0..1 + rng.below(8)).map(|_| char::from_u32(rng.below(0x80) as u32).unwrap_or('x')).collect(),
            _ => random_text(&mut rng),
        };
        let text = format!("USE {}", quote_identifier(&name));
        match parse(&text) {
            Ok(parsed) => assert_eq!(parsed.statement, cql::language::Statement::Use(name.as_str().into()), "{text}"),
            Err(error) => assert!(name.is_empty(), "{text}: {error}"),
        }
    }
}
