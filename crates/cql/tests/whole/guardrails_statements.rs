//! Guardrails of statements about rows: what Cassandra 5.0 says, in its words, at which value.

use crate::schema_support::Session;
use base::Now;
use cql::exec::{BatchStatement, Bindings, Execution, Options};
use cql::guardrails::{Feature, GuardrailSetting, Guardrails, Limit, Values, check_batch, check_statement};
use cql::plan::{Prepared, Statement, prepare};
use cql::wire::{Consistency, ProtocolVersion, StreamId, Value, ValuesBuffer};
use model::operation::Context;
use std::sync::Arc;

const NOW: Now = Now { monotonic_us: 0, wall_us: 1 };
const CONTEXT: Context = Context { now: NOW, timestamp_us: 1, nonce: 1 };
const VERSION: ProtocolVersion = ProtocolVersion::V4;

/// A schema, and guardrails that its statements keep to.
struct Guarded {
    session: Session,
    guardrails: Guardrails,
}

impl Guarded {
    fn new() -> Self {
        let mut session = Session::new();
        session.all(&[
            "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "USE ks",
            "CREATE TABLE t (a int, b int, c int, d int, v int, PRIMARY KEY ((a, b), c, d))",
            "CREATE TABLE one (k int PRIMARY KEY, v int, l list<int>, s set<text>, m map<text, text>, f frozen<list<int>>)",
        ]);
        Self { session, guardrails: Guardrails::default() }
    }

    fn limited(limit: Limit, warn: u64, fail: u64) -> Self {
        let mut guarded = Self::new();
        guarded.guardrails.set(GuardrailSetting::Warn(limit), warn);
        guarded.guardrails.set(GuardrailSetting::Fail(limit), fail);
        guarded
    }

    fn without(feature: Feature) -> Self {
        let mut guarded = Self::new();
        guarded.guardrails.set(GuardrailSetting::Enabled(feature), 0);
        guarded
    }

    fn prepare(&self, text: &str) -> Arc<Prepared> {
        Arc::new(prepare(&self.session.schema, Some("ks"), text).unwrap_or_else(|error| panic!("{text}: {error}")))
    }

    fn check(&self, text: &str, values: &[&[u8]], page_size: Option<u32>) -> Result<Vec<String>, String> {
        self.check_at((Consistency::One, None), text, values, page_size)
    }

    fn check_at(
        &self,
        (consistency, serial): (Consistency, Option<Consistency>),
        text: &str,
        values: &[&[u8]],
        page_size: Option<u32>,
    ) -> Result<Vec<String>, String> {
        let prepared = self.prepare(text);
        let options = Options {
            version: VERSION,
            stream: StreamId(1),
            consistency,
            page_size,
            timestamp: None,
            skip_metadata: false,
            now_s: None,
            started: NOW,
            nonce: 1,
            cores: 1,
            result_bytes_max: u32::MAX,
        };
        let mut buffer = ValuesBuffer::new();
        values.iter().for_each(|value| buffer.push(Value::Bytes(value)));
        let mut execution = Execution::new(&prepared, options, None);
        execution.bindings = Bindings::new(&prepared.markers, &buffer.as_values(VERSION)).unwrap();
        let checked = check_statement(&self.guardrails, &execution, serial, &CONTEXT);
        checked.map(|warnings| warnings.into_iter().map(|warning| warning.message).collect()).map_err(|violation| violation.message)
    }

    fn told(&self, text: &str) -> Result<Vec<String>, String> {
        self.check(text, &[], None)
    }
}

fn list(count: i32) -> Vec<u8> {
    let elements = (0..count).flat_map(|element| [4i32.to_be_bytes(), element.to_be_bytes()].concat());
    count.to_be_bytes().into_iter().chain(elements).collect()
}

fn texts(count: usize) -> String {
    (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

fn warning(message: &str) -> Result<Vec<String>, String> {
    Ok(vec![message.to_owned()])
}

fn refusal(message: &str) -> Result<Vec<String>, String> {
    Err(message.to_owned())
}

#[test]
fn pages_are_measured_unless_the_result_is_one_page() {
    let guarded = Guarded::limited(Limit::PageSize, 5, 10);
    let pages = |text: &str, rows: u32| guarded.check(text, &[], Some(rows));
    for text in
        ["SELECT * FROM one", "SELECT COUNT(*) FROM one WHERE k = 0", "SELECT * FROM one LIMIT 100", "SELECT * FROM one WHERE k = 1"]
    {
        assert_eq!(pages(text, 5), Ok(Vec::new()), "{text}");
        assert_eq!(
            pages(text, 10),
            warning("Guardrail page_size violated: Query for table one with page size 10 exceeds warning threshold of 5.")
        );
        assert_eq!(
            pages(text, 11),
            refusal("Guardrail page_size violated: Aborting query for table one, page size 11 exceeds fail threshold of 10.")
        );
        assert_eq!(guarded.told(text), Ok(Vec::new()), "{text} without pages");
    }
    assert_eq!(pages("SELECT * FROM one LIMIT 11", 11), Ok(Vec::new()));
}

#[test]
fn partitions_of_in_are_counted_once_each() {
    let guarded = Guarded::limited(Limit::PartitionKeysInSelect, 3, 5);
    assert_eq!(guarded.told("SELECT * FROM one WHERE k IN (1, 2, 3, 3, 2, 1)"), Ok(Vec::new()));
    assert_eq!(
        guarded.told("SELECT * FROM one WHERE k IN (1, 2, 3, 4)"),
        warning(
            "Guardrail partition_keys_in_select violated: Query with partition keys in IN clause on table one, with number of partition keys 4 exceeds warning threshold of 3."
        )
    );
    let refused = "Guardrail partition_keys_in_select violated: Aborting query with partition keys in IN clause on table one, number of partition keys 6 exceeds fail threshold of 5.";
    assert_eq!(guarded.told("SELECT * FROM one WHERE k IN (1, 2, 3, 4, 5, 6)"), refusal(refused));
    assert_eq!(guarded.check("SELECT * FROM one WHERE k IN ?", &[&list(6)], None), refusal(refused));
    assert_eq!(guarded.told("SELECT * FROM t WHERE a = 1 AND b = 2 AND c IN (1, 2, 3, 4, 5, 6, 7)"), Ok(Vec::new()));
    assert_eq!(guarded.told("UPDATE one SET v = 1 WHERE k IN (1, 2, 3, 4, 5, 6)"), Ok(Vec::new()), "it is about SELECT");
}

#[test]
fn what_ins_combine_to_is_counted_for_each_key() {
    let guarded = Guarded::limited(Limit::InSelectCartesianProduct, 16, 25);
    let told = |[a, b, c, d]: [usize; 4]| {
        let text = |count| texts(count);
        guarded.told(&format!(
            "SELECT * FROM t WHERE a IN ({}) AND b IN ({}) AND c IN ({}) AND d IN ({})",
            text(a),
            text(b),
            text(c),
            text(d)
        ))
    };
    let warned = |what: &str, value: u32| {
        format!(
            "Guardrail in_select_cartesian_product violated: The cartesian product of the IN restrictions on {what} produces {value} values, this exceeds warning threshold of 16."
        )
    };
    let refused = |what: &str, value: u32| {
        format!(
            "Guardrail in_select_cartesian_product violated: Aborting query because the cartesian product of the IN restrictions on {what} produces {value} values, this exceeds fail threshold of 25."
        )
    };
    assert_eq!(told([4, 4, 2, 8]), Ok(Vec::new()));
    assert_eq!(told([5, 5, 2, 8]), Ok(vec![warned("partition key", 25)]));
    assert_eq!(told([5, 5, 5, 5]), Ok(vec![warned("partition key", 25), warned("clustering key", 25)]));
    assert_eq!(told([5, 6, 1, 1]), Err(refused("partition key", 30)));
    assert_eq!(told([26, 2, 1, 1]), Err(refused("partition key", 26)));
    assert_eq!(told([1, 1, 6, 5]), Err(refused("clustering key", 30)));
    assert_eq!(
        guarded.told(&format!("SELECT * FROM t WHERE a = 1 AND b = 1 AND (c, d) IN ({})", vec!["(1, 1)"; 17].join(", "))),
        Ok(vec![warned("clustering key", 17)])
    );
    assert_eq!(guarded.told("SELECT * FROM t WHERE a = 1 AND b = 2 AND c = 3 AND d = 4"), Ok(Vec::new()));
}

#[test]
fn elements_that_are_written_are_counted() {
    let guarded = Guarded::limited(Limit::ItemsPerCollection, 2, 3);
    let warned = |column: &str| {
        format!(
            "Guardrail items_per_collection violated: Detected collection {column} with 3 items, this exceeds the warning threshold of 2."
        )
    };
    let refused = |column: &str| {
        format!(
            "Guardrail items_per_collection violated: Detected collection {column} with 4 items, this exceeds the failure threshold of 3."
        )
    };
    for column in ["l", "f"] {
        let insert = format!("INSERT INTO one (k, {column}) VALUES (1, ?)");
        assert_eq!(guarded.check(&insert, &[&list(2)], None), Ok(Vec::new()));
        assert_eq!(guarded.check(&insert, &[&list(3)], None), Ok(vec![warned(column)]));
        assert_eq!(guarded.check(&insert, &[&list(4)], None), Err(refused(column)));
    }
    assert_eq!(guarded.told("UPDATE one SET s = s + {'a', 'b', 'c'} WHERE k = 1"), Ok(vec![warned("s")]));
    assert_eq!(guarded.told("UPDATE one SET m = m + {'a': '', 'b': '', 'c': '', 'd': ''} WHERE k = 1"), Err(refused("m")));
    assert_eq!(guarded.told("INSERT INTO one JSON '{\"k\": 1, \"s\": [\"a\", \"b\", \"c\", \"d\"]}'"), Err(refused("s")));
    for text in [
        "UPDATE one SET l = l - [1, 2, 3, 4] WHERE k = 1",
        "UPDATE one SET m['a'] = 'b' WHERE k = 1",
        "INSERT INTO one (k, l) VALUES (1, null)",
    ] {
        assert_eq!(guarded.told(text), Ok(Vec::new()), "{text}");
    }
    let batch = "BEGIN BATCH INSERT INTO one (k, v) VALUES (1, 1); INSERT INTO one (k, s) VALUES (1, {'a', 'b', 'c', 'd'}); APPLY BATCH";
    assert_eq!(guarded.told(batch), Err(refused("s")));
}

#[test]
fn bytes_of_collections_are_counted_as_cassandra_counts_them() {
    // For each cell 20 bytes of timestamp and time to live, and 16 for the key of an element of a list.
    for (text, size) in [
        ("INSERT INTO one (k, s) VALUES (1, {'abc', 'de'})", 5 + 2 * 20),
        ("INSERT INTO one (k, m) VALUES (1, {'abc': 'defg'})", 7 + 20),
        ("INSERT INTO one (k, l) VALUES (1, [1, 2])", 8 + 2 * 36),
        ("INSERT INTO one (k, f) VALUES (1, [1, 2])", 4 + 2 * 8 + 20),
    ] {
        let said = Guarded::limited(Limit::CollectionSize, size - 1, size).told(text).unwrap();
        assert!(said[0].contains(&format!("of size {size}, this exceeds the warning threshold of {}.", size - 1)), "{text}: {said:?}");
        assert_eq!(Guarded::limited(Limit::CollectionSize, size, size).told(text), Ok(Vec::new()), "{text}");
        let refused = Guarded::limited(Limit::CollectionSize, size - 2, size - 1).told(text).unwrap_err();
        let column = text.split([',', ')']).nth(1).unwrap().trim();
        assert_eq!(
            refused,
            format!(
                "Guardrail collection_size violated: Detected collection {column} of size {size}, this exceeds the failure threshold of {}.",
                size - 1
            )
        );
    }
}

#[test]
fn the_largest_value_of_a_column_counts_and_of_collections_the_largest_element() {
    let guarded = Guarded::limited(Limit::ColumnValueSize, 3, 5);
    let warned = |column: &str, size: u32| {
        format!(
            "Guardrail column_value_size violated: Value of column '{column}' has size {size}, this exceeds the warning threshold of 3."
        )
    };
    let refused = |column: &str, size: u32| {
        format!(
            "Guardrail column_value_size violated: Value of column '{column}' has size {size}, this exceeds the failure threshold of 5."
        )
    };
    for (text, told) in [
        ("INSERT INTO one (k, v) VALUES (1, 1)", Ok(vec![warned("v", 4)])),
        ("INSERT INTO one (k, v) VALUES (1, null)", Ok(Vec::new())),
        ("INSERT INTO one (k, s) VALUES (1, {'a', 'bcd', 'ef'})", Ok(Vec::new())),
        ("INSERT INTO one (k, s) VALUES (1, {'a', 'bcde', 'ef'})", Ok(vec![warned("s", 4)])),
        ("INSERT INTO one (k, s) VALUES (1, {'a', 'bcdefg'})", Err(refused("s", 6))),
        ("UPDATE one SET m = m + {'abcdefg': ''} WHERE k = 1", Err(refused("m", 7))),
        ("UPDATE one SET m['a'] = 'bcdef' WHERE k = 1", Ok(vec![warned("m", 5)])),
        ("UPDATE one SET m['abcdef'] = '' WHERE k = 1", Err(refused("m", 6))),
        ("DELETE m['abcdef'] FROM one WHERE k = 1", Err(refused("m", 6))),
        ("DELETE m FROM one WHERE k = 1", Ok(Vec::new())),
        // A frozen one is one value: a count, and each element with its length.
        ("INSERT INTO one (k, f) VALUES (1, [1])", Err(refused("f", 12))),
    ] {
        assert_eq!(guarded.told(text), told, "{text}");
    }
}

#[test]
fn statements_of_a_batch_are_checked_with_their_own_values() {
    let guarded = Guarded::limited(Limit::ItemsPerCollection, 2, 3);
    let prepared = guarded.prepare("INSERT INTO one (k, l) VALUES (1, ?)");
    let Statement::Modify(plan) = &prepared.statement else { panic!("an INSERT") };
    let lists: Vec<_> = [3, 3, 1].map(list).into();
    let buffers: Vec<ValuesBuffer> = lists
        .iter()
        .map(|list| {
            let mut buffer = ValuesBuffer::new();
            buffer.push(Value::Bytes(list));
            buffer
        })
        .collect();
    let statements: Vec<_> = buffers
        .iter()
        .map(|buffer| Bindings::new(&prepared.markers, &buffer.as_values(VERSION)).unwrap())
        .map(|bindings| BatchStatement { plan: Arc::clone(plan), bindings })
        .collect();
    let warnings = check_batch(&guarded.guardrails, &statements, (Consistency::One, None), &CONTEXT).unwrap();
    assert_eq!(warnings.len(), 1, "the same is said once: {warnings:?}");
}

#[test]
fn levels_are_those_of_the_request_and_writes_have_a_serial_one_too() {
    let levels = |name: &str, kind: &str, given: &str, said: &str| {
        format!("Guardrail {name}_consistency_levels violated: Provided values {given} are not {kind} for {name} consistency levels {said}")
    };
    for (values, name, text) in [
        (Values::ReadConsistencyLevels, "read", "SELECT * FROM one WHERE k = 1"),
        (Values::WriteConsistencyLevels, "write", "INSERT INTO one (k, v) VALUES (1, 1)"),
        (Values::WriteConsistencyLevels, "write", "BEGIN BATCH DELETE FROM one WHERE k = 1 APPLY BATCH"),
    ] {
        let mut guarded = Guarded::new();
        guarded.guardrails.set(GuardrailSetting::Warned(values), values.parse("QUORUM, ONE").unwrap());
        guarded.guardrails.set(GuardrailSetting::Disallowed(values), values.parse("ANY, ALL, LOCAL_SERIAL").unwrap());
        let at = |level| guarded.check_at((level, None), text, &[], None);
        assert_eq!(at(Consistency::Two), Ok(Vec::new()), "{text}");
        assert_eq!(at(Consistency::One), Ok(vec![levels(name, "recommended", "[ONE]", "(warned values are: [ONE, QUORUM])")]), "{text}");
        let refused = "(disallowed values are: [ANY, ALL, LOCAL_SERIAL])";
        assert_eq!(at(Consistency::All), Err(levels(name, "allowed", "[ALL]", refused)), "{text}");
        let serial = guarded.check_at((Consistency::All, Some(Consistency::LocalSerial)), text, &[], None);
        let given = if name == "write" { "[ALL, LOCAL_SERIAL]" } else { "[ALL]" };
        assert_eq!(serial, Err(levels(name, "allowed", given, refused)), "{text}");
        let other = if name == "read" { "DELETE FROM one WHERE k = 1" } else { "SELECT * FROM one" };
        assert_eq!(guarded.check_at((Consistency::All, None), other, &[], None), Ok(Vec::new()));
        assert_eq!(guarded.check_at((Consistency::All, None), "TRUNCATE one", &[], None), Ok(Vec::new()));
    }
    let mut guarded = Guarded::new();
    let values = Values::WriteConsistencyLevels;
    guarded.guardrails.set(GuardrailSetting::Disallowed(values), values.parse("SERIAL").unwrap());
    assert!(guarded.told("INSERT INTO one (k, v) VALUES (1, 1)").is_err(), "a request that gives none has this one");
}

#[test]
fn timestamps_of_statements_are_compared_with_now() {
    let at = |timestamp: i64| format!("INSERT INTO one (k, v) VALUES (1, 1) USING TIMESTAMP {timestamp}");
    let future = |timestamp: i64, kind: &str, threshold: i64| {
        format!(
            "Guardrail maximum_timestamp violated: The modification to table one has a timestamp {timestamp} after the maximum allowable {kind} threshold {threshold}. Timestamps too far in the future can lead to data that can't be easily overwritten"
        )
    };
    // It is 1 now.
    let guarded = Guarded::limited(Limit::MaximumTimestamp, 10, 20);
    assert_eq!(guarded.told(&at(11)), Ok(Vec::new()));
    assert_eq!(guarded.told(&at(12)), Ok(vec![future(12, "warning", 11)]));
    assert_eq!(guarded.told(&at(21)), Ok(vec![future(21, "warning", 11)]));
    assert_eq!(guarded.told(&at(22)), Err(future(22, "failure", 21)));
    assert_eq!(guarded.told(&at(i64::MAX)), Err(future(i64::MAX, "failure", 21)));
    assert_eq!(guarded.told(&at(-5_000)), Ok(Vec::new()));
    let batch = "BEGIN BATCH DELETE FROM one USING TIMESTAMP 30 WHERE k = 1 APPLY BATCH";
    assert_eq!(guarded.told(batch), Err(future(30, "failure", 21)));
    let past = |timestamp: i64, kind: &str, threshold: i64| {
        format!(
            "Guardrail minimum_timestamp violated: The modification to table one has a timestamp {timestamp} before the minimum allowable {kind} threshold {threshold}. Timestamps too far in the past can cause writes can be unexpectedly lost"
        )
    };
    let guarded = Guarded::limited(Limit::MinimumTimestamp, 10, 20);
    assert_eq!(guarded.told(&at(-9)), Ok(Vec::new()));
    assert_eq!(guarded.told(&at(-10)), Ok(vec![past(-10, "warning", -9)]));
    assert_eq!(guarded.told(&at(-20)), Err(past(-20, "failure", -19)));
    assert_eq!(guarded.told(&at(i64::MAX)), Ok(Vec::new()));
    let marker = "UPDATE one USING TIMESTAMP ? SET v = 1 WHERE k = 1";
    assert_eq!(guarded.check(marker, &[&(-20i64).to_be_bytes()], None), Err(past(-20, "failure", -19)));
    assert_eq!(guarded.told("INSERT INTO one (k, v) VALUES (1, 1)"), Ok(Vec::new()));
}

#[test]
fn lists_are_read_for_some_operations() {
    let refused = |what: &str| refusal(&format!("Guardrail read_before_write_list_operations violated: {what} is not allowed"));
    let (guarded, free) = (Guarded::without(Feature::ReadBeforeWriteListOperations), Guarded::new());
    for (text, what) in [
        ("UPDATE one SET l[0] = 1 WHERE k = 1", "Setting of list items by index requiring read before write"),
        ("DELETE l[0] FROM one WHERE k = 1", "Removal of list items by index requiring read before write"),
        ("UPDATE one SET l = l - [1] WHERE k = 1", "Removal of list items requiring read before write"),
        ("BEGIN BATCH UPDATE one SET l[0] = 1 WHERE k = 1 APPLY BATCH", "Setting of list items by index requiring read before write"),
    ] {
        assert_eq!(guarded.told(text), refused(what), "{text}");
        assert_eq!(free.told(text), Ok(Vec::new()), "{text}");
    }
    for text in [
        "UPDATE one SET l = l + [1] WHERE k = 1",
        "UPDATE one SET l = [1] + l WHERE k = 1",
        "UPDATE one SET l = [1] WHERE k = 1",
        "UPDATE one SET m['a'] = 'b' WHERE k = 1",
        "UPDATE one SET s = s - {'a'} WHERE k = 1",
        "DELETE m['a'] FROM one WHERE k = 1",
        "DELETE l FROM one WHERE k = 1",
    ] {
        assert_eq!(guarded.told(text), Ok(Vec::new()), "{text}");
    }
}

#[test]
fn what_is_switched_off_is_refused() {
    let timestamps = "user_timestamps violated: User provided timestamps (USING TIMESTAMP) is not allowed";
    let filtering = "allow_filtering violated: Querying with ALLOW FILTERING is not allowed. \
                     ALLOW FILTERING can potentially visit all the data in the table and have unpredictable performance.";
    for (feature, text, message) in [
        (Feature::AllowFiltering, "SELECT * FROM one WHERE v = 1 ALLOW FILTERING", filtering),
        (Feature::AllowFiltering, "SELECT * FROM one WHERE k = 1 ALLOW FILTERING", filtering),
        (Feature::GroupBy, "SELECT a, b, count(*) FROM t GROUP BY a, b", "group_by violated: GROUP BY functionality is not allowed"),
        (Feature::UserTimestamps, "INSERT INTO one (k, v) VALUES (1, 1) USING TIMESTAMP 1", timestamps),
        (Feature::UserTimestamps, "UPDATE one USING TIMESTAMP 1 SET v = 1 WHERE k = 1", timestamps),
        (Feature::UserTimestamps, "DELETE FROM one USING TIMESTAMP 1 WHERE k = 1", timestamps),
        (Feature::UserTimestamps, "BEGIN BATCH DELETE FROM one USING TIMESTAMP 1 WHERE k = 1 APPLY BATCH", timestamps),
        (
            Feature::DropTruncateTable,
            "TRUNCATE one",
            "drop_truncate_table_enabled violated: DROP and TRUNCATE TABLE functionality is not allowed",
        ),
    ] {
        assert_eq!(Guarded::without(feature).told(text), refusal(&format!("Guardrail {message}")), "{text}");
        assert_eq!(Guarded::new().told(text), Ok(Vec::new()), "{text}");
    }
    // As in Cassandra.
    let batch = "BEGIN BATCH USING TIMESTAMP 1 INSERT INTO one (k, v) VALUES (1, 1) APPLY BATCH";
    assert_eq!(Guarded::without(Feature::UserTimestamps).told(batch), Ok(Vec::new()));
}
