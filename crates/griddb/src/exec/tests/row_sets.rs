//! Row sets in parts.

use super::*;
use crate::wire::Reader;

/// A row set that its client reads.
struct Reading {
    container: i64,
    version: i32,
    size: i64,
    total: i64,
    keys: Vec<i64>,
    resume: Vec<u8>,
    parts: usize,
}

/// The keys of rows of LONG, STRING.
fn keys(rows: &[u8]) -> Vec<i64> {
    let count = i64::from_le_bytes(rows[..8].try_into().unwrap()) as usize;
    (0..count).map(|row| i64::from_le_bytes(rows[8 + row * 25 + 17..][..8].try_into().unwrap())).collect()
}

fn sized_query(limit: i64, size: i64, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_i64(&mut out, limit);
    put_i64(&mut out, size);
    out.extend_from_slice(&[0; 5]);
    put_string(&mut out, text);
    out
}

impl Reading {
    fn begin(node: &mut Node, head: Vec<u8>, container: i64, size: i64, text: &str) -> Result<Self, i32> {
        let reply = node.serve(statement::QUERY_TQL, &[head, sized_query(i64::MAX, size, text)].concat())?;
        let mut reader = Reader::new(&reply);
        let results = reader.i32().unwrap();
        assert_eq!(reader.u8().unwrap(), 0);
        let keys = keys(reader.bytes().unwrap());
        let mut reading = Self { container, version: 0, size, total: keys.len() as i64, keys, resume: Vec::new(), parts: 1 };
        if results == 3 {
            assert_eq!(reader.u8().unwrap(), 3);
            reading.total = Reader::new(reader.bytes().unwrap()).i64().unwrap();
            assert_eq!(reader.u8().unwrap(), super::super::RESUME);
            reading.resume = reader.bytes().unwrap().to_vec();
        }
        assert!(reader.rest().is_empty());
        Ok(reading)
    }

    fn of(node: &mut Node, container: i64, size: i64, text: &str) -> Self {
        Self::begin(node, head(container, 0, 0), container, size, text).unwrap()
    }

    fn next(&mut self, node: &mut Node) -> Result<(), i32> {
        self.next_with(node, head(self.container, self.version, 0))
    }

    fn next_with(&mut self, node: &mut Node, head: Vec<u8>) -> Result<(), i32> {
        let mut arguments = head;
        for number in [1, self.keys.len() as i64, self.size] {
            put_i64(&mut arguments, number);
        }
        arguments.extend_from_slice(&self.resume);
        let reply = node.serve(statement::FETCH_ROW_SET, &arguments)?;
        assert_eq!(&reply[1..9], &[0; 8], "where variable parts begin");
        let found = keys(&reply[9..]);
        assert!(!found.is_empty());
        self.keys.extend(found);
        self.parts += 1;
        self.resume.clear();
        if reply[0] == 0 {
            let (rest, length) = reply.split_last_chunk().unwrap();
            self.resume.extend_from_slice(&rest[rest.len() - u32::from_le_bytes(*length) as usize..]);
        }
        assert_eq!(self.resume.is_empty(), self.keys.len() as i64 == self.total, "over with the last row");
        Ok(())
    }

    fn read_all(mut self, node: &mut Node) -> Result<Vec<i64>, i32> {
        while !self.resume.is_empty() {
            self.next(node)?;
        }
        Ok(self.keys)
    }
}

/// A node with rows 0, 10, … of these texts.
fn node_with(count: i64, text: impl Fn(i64) -> String) -> (Node, i64) {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let texts: Vec<String> = (0..count).map(text).collect();
    for some in (0..count).collect::<Vec<_>>().chunks(10_000) {
        let many: Vec<(i64, &str)> = some.iter().map(|at| (at * 10, &*texts[*at as usize])).collect();
        let mut arguments = head(id, 0, 0);
        put_i64(&mut arguments, many.len() as i64);
        arguments.extend_from_slice(&rows(&many));
        node.serve(statement::PUT_MULTIPLE_ROWS, &arguments).unwrap();
    }
    (node, id)
}

/// A text of which twenty are more than what comes as a whole however few rows are asked for.
fn long() -> String {
    "a".repeat(80_000)
}

fn put(node: &mut Node, container: i64, key: i64, text: &str) {
    node.serve(statement::PUT_ROW, &[head(container, 0, 0), row(key, text)].concat()).unwrap();
}

fn remove(node: &mut Node, container: i64, key: i64) {
    node.serve(statement::DELETE_ROW, &[head(container, 0, 0), key.to_le_bytes().to_vec()].concat()).unwrap();
}

#[test]
fn parts_have_the_rows_of_the_whole() {
    let fizz = "z".repeat(8_000);
    let (mut node, id) = node_with(500, |at| if at % 3 == 0 { fizz.clone() } else { format!("{at:08000}") });
    for (text, is_large) in [
        ("select *", true),
        ("select * order by id desc", true),
        (&format!("select * where text = '{fizz}'"), true),
        (&format!("select * where text = '{fizz}' order by id desc limit 30 offset 5"), false),
        ("select * where id > 1000 limit 200 offset 100", true),
        ("select * where id > 1000 limit 20 offset 300", false),
        ("select * where id = 70", false),
        ("select * where id < 0", false),
        ("select * order by text desc limit 100", false),
        ("select min_rows(id)", false),
    ] {
        let whole = Reading::of(&mut node, id, i64::MAX, text);
        assert_eq!(whole.parts, 1);
        for size in [1, 7, 499, 500, 1_000] {
            let reading = Reading::of(&mut node, id, size, text);
            assert_eq!(reading.total, whole.total, "{text} by {size}");
            assert_eq!(reading.keys.len() as i64, if is_large { whole.total.min(size) } else { whole.total }, "{text} by {size}");
            assert_eq!(reading.read_all(&mut node).unwrap(), whole.keys, "{text} by {size}");
        }
    }
}

#[test]
fn what_is_larger_than_a_reply_comes_in_parts_by_itself() {
    let long = "x".repeat(1 << 20);
    let (mut node, id) = node_with(80, |at| format!("{:03}{long}", at * 37 % 80));
    let sorted: Vec<i64> = (0..80).map(|place| (0..80).find(|at| at * 37 % 80 == place).unwrap() * 10).collect();
    for (text, expected, size) in [
        ("select *", (0..80).map(|at| at * 10).collect::<Vec<i64>>(), i64::MAX),
        ("select * order by id desc", (0..80).rev().map(|at| at * 10).collect(), i64::MAX),
        ("select * order by text", sorted.clone(), i64::MAX),
        ("select * order by text", sorted.clone(), 10),
        ("select * order by text desc limit 50 offset 2", sorted.iter().rev().skip(2).take(50).copied().collect(), i64::MAX),
        ("select * limit 60 offset 10", (10..70).map(|at| at * 10).collect(), i64::MAX),
    ] {
        let reading = Reading::of(&mut node, id, size, text);
        assert_eq!(reading.total as usize, expected.len(), "{text}");
        assert!(!reading.resume.is_empty() && !reading.keys.is_empty() && reading.keys.len() <= 33, "{text}");
        assert_eq!(reading.read_all(&mut node).unwrap(), expected, "{text}");
    }
    assert_eq!(Reading::begin(&mut node, head(id, 0, 0), id, 0, "select *").err(), Some(1_008), "not in parts");
    let explained = node.serve(statement::QUERY_TQL, &[head(id, 0, 0), query("explain analyze select *")].concat()).unwrap();
    assert!(explained.windows(2).any(|text| text == b"80"), "all rows are told");
}

#[test]
fn rows_that_change_between_parts() {
    let tens = |count: i64| (0..count).map(|at| at * 10).collect::<Vec<i64>>();
    type Outcome = Result<Vec<i64>, i32>;
    type Change = fn(&mut Node, i64);
    let cases: [(&str, &str, Change, Outcome); 9] = [
        ("behind, removed", "select *", |node, id| remove(node, id, 10), Ok(tens(20))),
        ("behind, added", "select *", |node, id| put(node, id, 11, "new"), Ok(tens(20))),
        ("after the end, added", "select *", |node, id| put(node, id, 500, "new"), Ok(tens(20))),
        (
            "before the start, added",
            "select * order by id desc",
            |node, id| put(node, id, -5, "new"),
            Ok((0..20).rev().map(|at| at * 10).collect()),
        ),
        ("ahead, changed", "select *", |node, id| put(node, id, 100, "other"), Ok(tens(20))),
        ("ahead, removed", "select *", |node, id| remove(node, id, 100), Err(60_132)),
        ("ahead, added", "select *", |node, id| put(node, id, 101, "new"), Err(60_132)),
        ("ahead, does not fit any more", "select * where text >= 'a'", |node, id| put(node, id, 100, "Other"), Err(60_132)),
        (
            "ahead, removed, and LIMIT has another one",
            "select * limit 15",
            |node, id| remove(node, id, 100),
            Ok(tens(16).into_iter().filter(|key| *key != 100).collect()),
        ),
    ];
    for (what, text, change, expected) in cases {
        let (mut node, id) = node_with(20, |_| long());
        let mut reading = Reading::of(&mut node, id, 3, text);
        reading.next(&mut node).unwrap();
        change(&mut node, id);
        assert_eq!(reading.read_all(&mut node), expected, "{what}");
    }
}

#[test]
fn containers_that_change_between_parts() {
    let (mut node, id) = node_with(20, |_| long());
    let other = node.put_container("other", 0, &COLUMNS, 1, false).unwrap();
    let mut reading = Reading::of(&mut node, id, 3, "select *");
    reading.container = other;
    assert_eq!(reading.next(&mut node), Err(60_132));
    reading.container = id;
    reading.next(&mut node).unwrap();
    node.permissions = Some(Permissions::of(&[model::Permission::Modify]));
    assert_eq!(reading.next(&mut node), Err(10_079), "who may not read any more");
    node.permissions = None;
    let wider = [COLUMNS[0], COLUMNS[1], ("number", ElementType::Integer)];
    node.put_container("Things", 0, &wider, 1, true).unwrap();
    reading.version = 1;
    assert_eq!(reading.next(&mut node), Err(10_017));
    let mut name = vec![0; 4];
    ContainerName::parse("Things").write(&mut name);
    node.serve(statement::DROP_CONTAINER, &[name, vec![0]].concat()).unwrap();
    assert_eq!(reading.next(&mut node), Err(10_016));
}

#[test]
fn what_a_part_goes_on_with_may_be_anything() {
    let (mut node, id) = node_with(20, |_| long());
    let resume = Reading::of(&mut node, id, 3, "select * order by text").resume;
    assert!(resume.is_empty(), "few sorted rows come at once");
    let resume = Reading::of(&mut node, id, 3, "select *").resume;
    let mut rng = Rng::new(64);
    for at in 0..resume.len() {
        let mut short = Reading::of(&mut node, id, 3, "select *");
        short.resume = resume[..at].to_vec();
        assert!(matches!(short.next(&mut node), Err(10_038 | 60_132)), "{at} bytes");
        let mut changed = resume.clone();
        changed[at] ^= 1 + rng.below(255) as u8;
        let mut arguments = head(id, 0, 0);
        [1, 3, 3].iter().for_each(|number| put_i64(&mut arguments, *number));
        arguments.extend_from_slice(&changed);
        // Refused or done, without a panic.
        let _ = node.serve(statement::FETCH_ROW_SET, &arguments);
    }
}

#[test]
fn rows_for_update_come_all_at_once() {
    let (mut node, id) = node_with(20, |_| long());
    let head_of = |mode: u8| {
        let mut out = Vec::new();
        put_i64(&mut out, id);
        put_i64(&mut out, 1);
        out.extend_from_slice(&[7; 16]);
        put_i32(&mut out, 0);
        out.extend_from_slice(&[0, mode]);
        put_i32(&mut out, 3);
        put_i16(&mut out, 2);
        out.push(1);
        out
    };
    let locked = Reading::begin(&mut node, head_of(1), id, 3, "select * where id >= 50").unwrap();
    assert_eq!((locked.keys.len(), locked.resume.len()), (15, 0));
    let write = |key: i64| [head(id, 0, 0), row(key, "theirs")].concat();
    assert_eq!(node.serve(statement::PUT_ROW, &write(190)), Err(WAITS));
    assert_eq!(node.serve(statement::PUT_ROW, &write(40)), Ok(vec![1]));
    let mut reading = Reading::of(&mut node, id, 3, "select *");
    assert_eq!(reading.next_with(&mut node, head_of(2)), Err(150_002));
}
