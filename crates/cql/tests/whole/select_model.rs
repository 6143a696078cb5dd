//! SELECT against a model that keeps every write and looks at all of them for every row.

use crate::select_support::{Memory, Node, lines};
use base::Rng;
use std::collections::{BTreeMap, BTreeSet};

const PARTITIONS: i32 = 5;
const VALUES: i32 = 6;

/// What was written, with its timestamp.
#[derive(Clone, Debug)]
enum Write {
    Insert {
        k: i32,
        a: i32,
        b: i32,
        v: i32,
    },
    Update {
        k: i32,
        a: i32,
        b: i32,
        v: Option<i32>,
    },
    Static {
        k: i32,
        s: Option<i32>,
    },
    DeleteRow {
        k: i32,
        a: i32,
        b: i32,
    },
    /// `from <= a < to`
    DeleteRange {
        k: i32,
        from: i32,
        to: i32,
    },
    /// One `a`, `b > after`
    DeletePrefix {
        k: i32,
        a: i32,
        after: Option<i32>,
    },
    DeletePartition {
        k: i32,
    },
}

#[derive(Default)]
struct Model {
    writes: Vec<(i64, Write)>,
    a_descending: bool,
    b_descending: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    k: i32,
    key: Option<(i32, i32)>,
    s: Option<i32>,
    v: Option<i32>,
}

fn text(value: Option<i32>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

impl Row {
    fn line(&self) -> String {
        format!("{} {} {} {} {}", self.k, text(self.key.map(|key| key.0)), text(self.key.map(|key| key.1)), text(self.s), text(self.v))
    }
}

impl Model {
    fn deleted_until(&self, k: i32, a: i32, b: i32) -> i64 {
        let covers = |write: &Write| match *write {
            Write::DeleteRow { k: of, a: x, b: y } => (of, x, y) == (k, a, b),
            Write::DeleteRange { k: of, from, to } => of == k && (from..to).contains(&a),
            Write::DeletePrefix { k: of, a: x, after } => of == k && x == a && after.is_none_or(|after| b > after),
            Write::DeletePartition { k: of } => of == k,
            _ => false,
        };
        self.writes.iter().filter(|(_, write)| covers(write)).map(|(at, _)| *at).max().unwrap_or(i64::MIN)
    }

    /// The rows of a partition in the table's order, and its static column.
    fn partition(&self, k: i32) -> (Vec<Row>, Option<i32>) {
        let partition_deleted = self
            .writes
            .iter()
            .filter(|(_, write)| matches!(write, Write::DeletePartition { k: of } if *of == k))
            .map(|(at, _)| *at)
            .max()
            .unwrap_or(i64::MIN);
        let latest_static = self.writes.iter().filter_map(|(at, write)| match write {
            Write::Static { k: of, s } if *of == k && *at > partition_deleted => Some((*at, *s)),
            _ => None,
        });
        let s = latest_static.max().and_then(|(_, s)| s);
        let mut rows = Vec::new();
        for a in 0..VALUES {
            for b in 0..VALUES {
                let until = self.deleted_until(k, a, b);
                let mut live = false;
                let mut cell: Option<(i64, Option<i32>)> = None;
                for (at, write) in self.writes.iter().filter(|(at, _)| *at > until) {
                    match *write {
                        Write::Insert { k: of, a: x, b: y, v } if (of, x, y) == (k, a, b) => {
                            live = true;
                            cell = cell.max(Some((*at, Some(v))));
                        }
                        Write::Update { k: of, a: x, b: y, v } if (of, x, y) == (k, a, b) => cell = cell.max(Some((*at, v))),
                        _ => {}
                    }
                }
                let v = cell.and_then(|(_, v)| v);
                if live || v.is_some() {
                    rows.push(Row { k, key: Some((a, b)), s, v });
                }
            }
        }
        rows.sort_by_key(|row| {
            let (a, b) = row.key.unwrap();
            (if self.a_descending { -a } else { a }, if self.b_descending { -b } else { b })
        });
        (rows, s)
    }
}

fn random_write(rng: &mut Rng) -> Write {
    let k = rng.below(PARTITIONS as u64) as i32;
    let mut value = || rng.below(VALUES as u64) as i32;
    let (a, b, v, x) = (value(), value(), value(), value());
    match rng.below(14) {
        0..=5 => Write::Insert { k, a, b, v },
        6 | 7 => Write::Update { k, a, b, v: Some(v) },
        8 => Write::Update { k, a, b, v: None },
        9 => Write::Static { k, s: if x == 0 { None } else { Some(x) } },
        10 => Write::DeleteRow { k, a, b },
        11 => Write::DeleteRange { k, from: a, to: x },
        12 => Write::DeletePrefix { k, a, after: if x < 2 { None } else { Some(b) } },
        _ => {
            if rng.below(4) == 0 {
                Write::DeletePartition { k }
            } else {
                Write::Insert { k, a, b, v }
            }
        }
    }
}

fn statement(at: i64, write: &Write) -> String {
    match write {
        Write::Insert { k, a, b, v } => format!("INSERT INTO t (k, a, b, v) VALUES ({k}, {a}, {b}, {v}) USING TIMESTAMP {at}"),
        Write::Update { k, a, b, v } => {
            format!("UPDATE t USING TIMESTAMP {at} SET v = {} WHERE k = {k} AND a = {a} AND b = {b}", text(*v))
        }
        Write::Static { k, s } => format!("UPDATE t USING TIMESTAMP {at} SET s = {} WHERE k = {k}", text(*s)),
        Write::DeleteRow { k, a, b } => format!("DELETE FROM t USING TIMESTAMP {at} WHERE k = {k} AND a = {a} AND b = {b}"),
        Write::DeleteRange { k, from, to } => format!("DELETE FROM t USING TIMESTAMP {at} WHERE k = {k} AND a >= {from} AND a < {to}"),
        Write::DeletePrefix { k, a, after: None } => format!("DELETE FROM t USING TIMESTAMP {at} WHERE k = {k} AND a = {a}"),
        Write::DeletePrefix { k, a, after: Some(b) } => {
            format!("DELETE FROM t USING TIMESTAMP {at} WHERE k = {k} AND a = {a} AND b > {b}")
        }
        Write::DeletePartition { k } => format!("DELETE FROM t USING TIMESTAMP {at} WHERE k = {k}"),
    }
}

/// What a row must be for a statement to give it.
type RowTest = Box<dyn Fn(&Row) -> bool>;

/// Statement, and what the model says it gives.
fn random_select(rng: &mut Rng, model: &Model, by_token: &[i32]) -> (String, Vec<String>) {
    let mut conditions = Vec::new();
    let mut filtering = false;
    let mut partitions: Vec<i32> = by_token.to_vec();
    let value = |rng: &mut Rng| rng.below(VALUES as u64) as i32;
    let keyed = rng.below(3) > 0;
    if keyed {
        let count = 1 + rng.below(3);
        let chosen: BTreeSet<i32> = (0..count).map(|_| rng.below(PARTITIONS as u64) as i32).collect();
        partitions = chosen.iter().copied().collect();
        conditions.push(match partitions.as_slice() {
            [k] => format!("k = {k}"),
            several => format!("k IN ({})", several.iter().rev().map(i32::to_string).collect::<Vec<_>>().join(", ")),
        });
    }
    let mut tests: Vec<RowTest> = Vec::new();
    let mut about_rows = false;
    match rng.below(8) {
        0 => {
            let (from, to) = (value(rng), value(rng));
            conditions.push(format!("a >= {from} AND a < {to}"));
            tests.push(Box::new(move |row| row.key.is_some_and(|(a, _)| (from..to).contains(&a))));
        }
        1 => {
            let (x, after) = (value(rng), value(rng));
            conditions.push(format!("a = {x} AND b > {after}"));
            tests.push(Box::new(move |row| row.key.is_some_and(|(a, b)| a == x && b > after)));
        }
        2 => {
            let (x, y) = (value(rng), value(rng));
            conditions.push(format!("a = {x} AND b = {y}"));
            tests.push(Box::new(move |row| row.key == Some((x, y))));
        }
        3 => {
            let (x, y, z) = (value(rng), value(rng), value(rng));
            conditions.push(format!("a IN ({x}, {y}) AND b <= {z}"));
            tests.push(Box::new(move |row| row.key.is_some_and(|(a, b)| (a == x || a == y) && b <= z)));
        }
        4 => {
            let (low, high) = ((value(rng), value(rng)), (value(rng), value(rng)));
            conditions.push(format!("(a, b) > ({}, {}) AND (a, b) <= ({}, {})", low.0, low.1, high.0, high.1));
            tests.push(Box::new(move |row| row.key.is_some_and(|key| key > low && key <= high)));
        }
        5 => {
            let y = value(rng);
            conditions.push(format!("b = {y}"));
            filtering = true;
            tests.push(Box::new(move |row| row.key.is_some_and(|(_, b)| b == y)));
        }
        _ => {}
    }
    about_rows |= !tests.is_empty();
    if rng.below(5) == 0 {
        let x = value(rng);
        conditions.push(format!("v < {x}"));
        filtering = true;
        about_rows = true;
        tests.push(Box::new(move |row| row.v.is_some_and(|v| v < x)));
    }
    if rng.below(8) == 0 {
        let x = value(rng);
        conditions.push(format!("s > {x}"));
        filtering = true;
        tests.push(Box::new(move |row| row.s.is_some_and(|s| s > x)));
    }
    filtering |= !keyed && about_rows;
    let distinct = !about_rows && rng.below(5) == 0;
    let per_partition = if !distinct && rng.below(4) == 0 { 1 + rng.below(4) as usize } else { usize::MAX };
    let limit = if rng.below(3) == 0 { 1 + rng.below(12) as usize } else { usize::MAX };
    let reversed = keyed && partitions.len() == 1 && !distinct && rng.below(3) == 0;
    let sorted = keyed && partitions.len() > 1 && !distinct && rng.below(4) == 0;
    let descending = rng.below(2) == 0;
    let reversed = reversed || (sorted && descending != model.a_descending);
    let ordered = reversed || sorted;
    let counted = !distinct && per_partition == usize::MAX && !ordered && rng.below(6) == 0;
    let grouped = if distinct || ordered || counted { 0 } else { rng.below(12) };

    let mut expected: Vec<Row> = Vec::new();
    for k in partitions {
        let (mut rows, s) = model.partition(k);
        if reversed {
            rows.reverse();
        }
        rows.retain(|row| tests.iter().all(|test| test(row)));
        let alone = Row { k, key: None, s, v: None };
        if rows.is_empty() && s.is_some() && !about_rows && tests.iter().all(|test| test(&alone)) {
            rows.push(alone);
        }
        rows.truncate(match grouped {
            1 | 2 => usize::MAX,
            _ if distinct => 1,
            _ => per_partition,
        });
        expected.extend(rows);
    }
    let what = if distinct {
        "DISTINCT k, s"
    } else if counted {
        "count(*), count(v), max(v)"
    } else if grouped == 1 || grouped == 2 {
        "k, a, b, count(*), max(v)"
    } else {
        "k, a, b, s, v"
    };
    let mut text = format!("SELECT {what} FROM t");
    if !conditions.is_empty() {
        text += &format!(" WHERE {}", conditions.join(" AND "));
    }
    text += match grouped {
        1 => " GROUP BY k",
        2 => " GROUP BY k, a",
        _ => "",
    };
    if ordered {
        text += &format!(" ORDER BY a {}", order(reversed != model.a_descending));
    }
    if per_partition != usize::MAX {
        text += &format!(" PER PARTITION LIMIT {per_partition}");
    }
    if limit != usize::MAX {
        text += &format!(" LIMIT {limit}");
    }
    if filtering {
        text += " ALLOW FILTERING";
    }
    if counted {
        let most = expected.iter().filter_map(|row| row.v).max();
        return (text, vec![format!("{} {} {}", expected.len(), expected.iter().filter(|row| row.v.is_some()).count(), self::text(most))]);
    }
    if sorted {
        // Static columns alone come first, or last in reverse.
        let alone = if reversed { 2 } else { 0 };
        expected.sort_by_key(|row| row.key.map_or((alone, 0), |(a, _)| (1, if descending { -a } else { a })));
    }
    if grouped == 1 || grouped == 2 {
        let same = |one: &Row, other: &Row| one.k == other.k && (grouped == 1 || one.key.map(|key| key.0) == other.key.map(|key| key.0));
        let mut groups: Vec<&[Row]> = expected.chunk_by(same).collect();
        let mut given: BTreeMap<i32, usize> = BTreeMap::new();
        groups.retain(|group| {
            let given = given.entry(group[0].k).or_default();
            *given += 1;
            *given <= per_partition
        });
        groups.truncate(limit);
        let line = |group: &&[Row]| {
            let (k, key) = (group[0].k, group[0].key);
            let most = group.iter().filter_map(|row| row.v).max();
            format!("{k} {} {} {} {}", self::text(key.map(|key| key.0)), self::text(key.map(|key| key.1)), group.len(), self::text(most))
        };
        return (text, groups.iter().map(line).collect());
    }
    expected.truncate(limit);
    let line = |row: &Row| if distinct { format!("{} {}", row.k, self::text(row.s)) } else { row.line() };
    (text, expected.iter().map(line).collect())
}

fn iterations(usual: u64) -> u64 {
    std::env::var("TARNDB_FUZZ_ITERATIONS").ok().and_then(|text| text.parse::<u64>().ok()).map_or(usual, |count| (count / 200).max(usual))
}

fn order(descending: bool) -> &'static str {
    if descending { "DESC" } else { "ASC" }
}

fn node_of(seed: u64, rng: &mut Rng) -> (Node, Model) {
    let mut node = Node::new(1 + (seed % 4) as u16);
    let model = Model { a_descending: rng.below(2) == 0, b_descending: rng.below(2) == 0, writes: Vec::new() };
    node.define(&format!(
        "CREATE TABLE t (k int, a int, b int, s int static, v int, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER BY (a {}, b {})",
        order(model.a_descending),
        order(model.b_descending)
    ));
    (node, model)
}

#[test]
fn selects_give_what_the_model_gives() {
    for seed in 0..iterations(60) {
        let mut rng = Rng::new(seed);
        let (mut node, mut model) = node_of(seed, &mut rng);
        let count = 1 + rng.below(120);
        let mut times: Vec<i64> = (1..=count as i64).collect();
        for index in (1..times.len()).rev() {
            times.swap(index, rng.below(index as u64 + 1) as usize);
        }
        for at in times {
            let write = random_write(&mut rng);
            node.write(&statement(at, &write));
            model.writes.push((at, write));
        }
        let mut by_token: Vec<i32> = (0..PARTITIONS).collect();
        by_token.sort_by_key(|k| cql::value::token(&k.to_be_bytes()));
        for _ in 0..40 {
            let (text, expected) = random_select(&mut rng, &model, &by_token);
            node.memory = if rng.below(3) == 0 { Memory::Nothing } else { Memory::All };
            assert_eq!(node.select(&text), expected, "seed {seed}: {text}");
            let page_size = 1 + rng.below(9) as u32;
            if text.contains("IN (") && text.contains("ORDER BY") {
                continue;
            }
            assert_eq!(node.paged(&text, page_size), expected, "seed {seed}: {text} in pages of {page_size}");
        }
        node.memory = Memory::All;
    }
}

#[test]
fn pages_neither_lose_nor_repeat_rows_that_stay_while_others_come_and_go() {
    for seed in 0..iterations(60) {
        let mut rng = Rng::new(seed);
        let (mut node, model) = node_of(seed, &mut rng);
        // Rows with an even b stay.
        for k in 0..PARTITIONS {
            for (a, b) in (0..VALUES).flat_map(|a| (0..VALUES).map(move |b| (a, b))) {
                if b % 2 == 0 || rng.below(2) == 0 {
                    node.write(&format!("INSERT INTO t (k, a, b, v) VALUES ({k}, {a}, {b}, 1)"));
                }
            }
        }
        let reversed = rng.below(2) == 0;
        let text = match rng.below(3) {
            0 => "SELECT k, a, b FROM t".to_owned(),
            1 => "SELECT k, a, b FROM t WHERE k IN (0, 1, 3)".to_owned(),
            _ => format!("SELECT k, a, b FROM t WHERE k = 2 ORDER BY a {}", order(reversed != model.a_descending)),
        };
        let before: Vec<String> = node.select(&text);
        let stays = |line: &&String| line.ends_with(['0', '2', '4']);
        let expected: Vec<&String> = before.iter().filter(stays).collect();
        let page_size = 1 + rng.below(7) as u32;
        let (mut state, mut seen): (Option<Vec<u8>>, Vec<String>) = (None, Vec::new());
        loop {
            let page = node.run(&text, &[], Some(page_size), state.as_deref()).unwrap();
            seen.extend(lines(&page));
            let Some(next) = page.state else { break };
            state = Some(next);
            for _ in 0..rng.below(6) {
                let (k, a, b) = (rng.below(PARTITIONS as u64), rng.below(VALUES as u64), 1 + 2 * rng.below(VALUES as u64 / 2));
                if rng.below(2) == 0 {
                    node.write(&format!("INSERT INTO t (k, a, b) VALUES ({k}, {a}, {b})"));
                } else {
                    node.write(&format!("DELETE FROM t WHERE k = {k} AND a = {a} AND b = {b}"));
                }
            }
        }
        assert_eq!(seen.iter().filter(stays).collect::<Vec<_>>(), expected, "seed {seed}: {text} in pages of {page_size}");
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        seen.iter().for_each(|line| *counts.entry(line).or_default() += 1);
        assert!(counts.values().all(|count| *count == 1), "seed {seed}: {text} in pages of {page_size} repeats a row");
    }
}

#[test]
fn long_scans_run_in_bounded_pieces() {
    let mut node = Node::new(3);
    node.define("CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))");
    for row in 0..3_000 {
        node.write(&format!("INSERT INTO t (k, c, v) VALUES ({}, {row}, 'x')", row % 2));
    }
    for (text, operations) in [
        ("SELECT count(*) FROM t", 6..=12),
        ("SELECT c FROM t WHERE k = 0", 3..=4),
        ("SELECT c FROM t WHERE k = 0 AND c = 2", 1..=1),
        ("SELECT c FROM t WHERE k = 0 AND c > 2 LIMIT 10", 1..=1),
        ("SELECT c FROM t WHERE v = 'y' ALLOW FILTERING", 6..=12),
        ("SELECT c FROM t LIMIT 5", 1..=3),
    ] {
        let before = node.operations;
        node.select(text);
        let used = node.operations - before;
        assert!(operations.contains(&used), "{text} took {used} operations, not {operations:?}");
    }
    assert_eq!(node.select("SELECT count(*) FROM t"), ["3000"]);
    assert_eq!(node.select("SELECT c FROM t WHERE k = 0").len(), 1_500);
    assert_eq!(node.paged("SELECT c FROM t", 700).len(), 3_000);
    assert_eq!(node.select("SELECT k, count(*), max(c) FROM t GROUP BY k"), ["1 1500 2999", "0 1500 2998"]);
    assert_eq!(node.paged("SELECT c, count(*) FROM t GROUP BY k, c", 700).len(), 3_000);
    node.memory = Memory::Nothing;
    assert_eq!(node.select("SELECT count(*) FROM t"), ["3000"]);
}

#[test]
fn pages_of_large_rows_end_early() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, c int, v blob, PRIMARY KEY (k, c))");
    let blob = "ab".repeat(100 << 10);
    for c in 0..40 {
        node.write(&format!("INSERT INTO t (k, c, v) VALUES (1, {c}, 0x{blob})"));
    }
    for text in ["SELECT v FROM t", "SELECT v FROM t WHERE k = 1"] {
        let first = node.run(text, &[], Some(5_000), None).unwrap();
        assert!((10..20).contains(&first.rows.len()), "{} rows", first.rows.len());
        let (mut count, mut state) = (first.rows.len(), first.state);
        while let Some(at) = state {
            let page = node.run(text, &[], Some(5_000), Some(&at)).unwrap();
            (count, state) = (count + page.rows.len(), page.state);
        }
        assert_eq!(count, 40);
        assert_eq!(node.select(text).len(), 40);
    }
}
