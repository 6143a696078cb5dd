//! Times of microseconds and nanoseconds, among those of milliseconds.

use super::*;
use crate::time::Moment;
use std::sync::Mutex;

const START_MS: i64 = 1_706_702_400_123;

/// Rows that are a few nanoseconds apart, in a table with a time of each precision, and one with times of milliseconds alone.
fn moments(obeys: bool) -> (Vec<Moment>, Arc<dyn Tables>) {
    let mut state = 59;
    let columns =
        &[("ns", ColumnType::NanoTimestamp), ("us", ColumnType::MicroTimestamp), ("ms", ColumnType::Timestamp), ("n", ColumnType::Long)];
    let mut moments: Vec<Moment> = (0..60)
        .map(|_| {
            let (ms, us, ns) = (random(&mut state, 3), random(&mut state, 3) * 499, random(&mut state, 3) * 499);
            Moment { ms: START_MS + ms as i64, ns: (us * 1_000 + ns) as u32 }
        })
        .collect();
    moments.sort();
    moments.dedup();
    let row = |(n, moment): (usize, &Moment)| {
        let us = Moment { ns: moment.ns / 1_000 * 1_000, ..*moment };
        vec![Value::Time(*moment), Value::Time(us), Value::Integer(moment.ms), Value::Integer(n as i64)]
    };
    let rows = moments.iter().enumerate().map(row).collect();
    let coarse = table("coarse", 1, &[], &[("at", ColumnType::Timestamp)]);
    let coarse_rows = (0..3).map(|ms| vec![Value::Integer(START_MS + ms)]).collect();
    let tables = vec![(table("t", 1, &[1, 2], columns), rows), (coarse, coarse_rows)];
    (moments, Arc::new(Memory { tables, obeys, scans: AtomicUsize::new(0) }))
}

#[test]
fn times_of_all_precisions_compare() {
    let mut state = 5;
    for obeys in [true, false] {
        let (moments, tables) = moments(obeys);
        for _ in 0..400 {
            let column = ["ns", "us", "ms"][random(&mut state, 3) as usize];
            let (function, step) = [("TIMESTAMP_NS", 1), ("TIMESTAMP_US", 1_000), ("TIMESTAMP", 1_000_000)][random(&mut state, 3) as usize];
            let operator = ["=", "<", "<=", ">", ">=", "<>"][random(&mut state, 6) as usize];
            let wanted = moments[random(&mut state, moments.len() as u64) as usize];
            let cut = |moment: Moment, step: u32| Moment { ns: moment.ns / step * step, ..moment };
            let own_step = match column {
                "ns" => 1,
                "us" => 1_000,
                _ => 1_000_000,
            };
            let holds = |moment: Moment| {
                let order = cut(moment, own_step).cmp(&cut(wanted, step));
                match operator {
                    "=" => order.is_eq(),
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    ">=" => order.is_ge(),
                    _ => order.is_ne(),
                }
            };
            let expected: Vec<_> =
                (0..).zip(&moments).filter(|(_, moment)| holds(**moment)).map(|(n, _)| vec![Value::Integer(n)]).collect();
            let sql = format!("SELECT n FROM t WHERE {column} {operator} {function}('{}') ORDER BY n", wanted.format());
            assert_eq!(all(&tables, &sql).unwrap(), expected, "{sql}");
            let sql = format!("SELECT n FROM t WHERE {column} {operator} ? ORDER BY n");
            let mut query = Query::prepare(&tables, &sql).unwrap();
            query.bind(&[Value::Time(cut(wanted, step))]).unwrap();
            let mut rows = Vec::new();
            while query.step().unwrap() {
                rows.push(query.row());
            }
            assert_eq!(rows, expected, "{sql} {wanted:?}");
        }
    }
}

#[test]
fn what_is_computed_of_precise_times_keeps_their_digits() {
    let (moments, tables) = moments(true);
    let row = |sql: &str| all(&tables, sql).unwrap().remove(0);
    let text = |moment: Moment| Value::Text(moment.format());
    let (first, last) = (moments[0], moments[moments.len() - 1]);
    let minute = Moment { ms: last.ms + 60_000, ..last };
    let sql = "SELECT MIN(ns), MAX(ns), TIMESTAMP_ADD('MINUTE', MAX(ns), 1), TIMESTAMP_DIFF('NANOSECOND', MAX(ns), MIN(ns)), COUNT(DISTINCT ns) FROM t";
    let difference = (last.total_ns() - first.total_ns()) as i64;
    assert_eq!(row(sql), [text(first), text(last), text(minute), Value::Integer(difference), Value::Integer(moments.len() as i64)]);
    let sql = "SELECT EXTRACT('MILLISECOND', at), EXTRACT('MICROSECOND', at), EXTRACT('NANOSECOND', at), STRFTIME('%3f %6f %9f', at), TO_EPOCH_MS(at), \
        TIMESTAMP_TRUNC('MICROSECOND', at) = TIMESTAMP_US('2024-01-31T12:00:00.123456Z') \
        FROM (SELECT TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z') AS at)";
    let texts = Value::Text("123 123456 123456789".to_owned());
    let [ms, us, ns, epoch, is_same] = [123, 123_456, 123_456_789, START_MS, 1].map(Value::Integer);
    assert_eq!(row(sql), [ms, us, ns, texts, epoch, is_same]);
    assert_eq!(row("SELECT COUNT(*) FROM t JOIN coarse ON coarse.at = t.ms"), [Value::Integer(moments.len() as i64)]);
    let whole = moments.iter().filter(|moment| moment.ns == 0).count() as i64;
    assert_eq!(row("SELECT COUNT(*) FROM coarse x CROSS JOIN t WHERE t.ns = x.at"), [Value::Integer(whole)]);
}

#[test]
fn results_tell_the_precision_of_times() {
    let (_, tables) = moments(true);
    let kinds = |sql: &str| Query::prepare(&tables, sql).unwrap().columns().into_iter().map(|column| column.kind).collect::<Vec<_>>();
    let [ms, us, ns] = [ColumnType::Timestamp, ColumnType::MicroTimestamp, ColumnType::NanoTimestamp].map(Some);
    assert_eq!(kinds("SELECT ns, us, ms, MAX(ns), MIN(us), NOW() FROM t"), [ns, us, ms, ns, us, ms]);
    assert_eq!(
        kinds("SELECT TIMESTAMP_ADD('DAY', ns, 1), TIMESTAMP_TRUNC('DAY', us), TIMESTAMP_ADD('DAY', NOW(), 1) FROM t"),
        [ns, us, ms]
    );
    assert_eq!(kinds("SELECT TIMESTAMP_ADD('DAY', TIMESTAMP_NS('2024-01-01'), 1), TIMESTAMP_US('2024-01-01')"), [ns, us]);
    assert_eq!(all(&tables, "SELECT at FROM coarse LIMIT 1").unwrap(), [[Value::Integer(START_MS)]], "milliseconds alone stay integers");
    let named =
        "SELECT at AS timestamp_ns, at timestamp_us, at AS \"TIMESTAMP_NS\" FROM coarse ORDER BY timestamp_us, timestamp_ns LIMIT 1";
    assert_eq!(all(&tables, named).unwrap(), [[Value::Integer(START_MS), Value::Integer(START_MS), Value::Integer(START_MS)]]);
    let called = all(&tables, "SELECT at FROM coarse WHERE at < timestamp_ns ('2099-01-01T00:00:00Z') LIMIT 1").unwrap();
    assert_eq!(called, [[Value::Text(Moment::of_ms(START_MS).format())]]);
}

/// Rows of a statement with parameters.
fn with(tables: &Arc<dyn Tables>, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>, QueryError> {
    let mut query = Query::prepare(tables, sql)?;
    query.bind(parameters)?;
    let mut rows = Vec::new();
    while query.step()? {
        rows.push(query.row());
    }
    Ok(rows)
}

#[test]
fn a_parameter_finer_than_a_millisecond_compares_with_times_of_milliseconds() {
    for obeys in [true, false] {
        let (_, tables) = moments(obeys);
        let between = Value::Time(Moment { ms: START_MS + 1, ns: 1 });
        for (operator, expected) in [("=", 0), ("<", 2), ("<=", 2), (">", 1), (">=", 1), ("<>", 3)] {
            let sql = format!("SELECT COUNT(*) FROM coarse WHERE at {operator} ?");
            assert_eq!(with(&tables, &sql, std::slice::from_ref(&between)).unwrap(), [[Value::Integer(expected)]], "{sql}");
        }
        let grouped = "SELECT at, COUNT(*) FROM coarse WHERE at > ? AND at < ? GROUP BY RANGE at EVERY (1, MILLISECOND) FILL (NULL)";
        let after = Value::Time(Moment { ms: START_MS + 2, ns: 500 });
        let step = Value::Text(Moment::of_ms(START_MS + 2).format());
        assert_eq!(with(&tables, grouped, &[between, after]).unwrap(), [[step, Value::Integer(1)]]);
    }
}

#[test]
fn types_keep_the_digits_of_what_is_not_known() {
    let (_, tables) = moments(true);
    let kinds = |sql: &str, parameters: &[Value]| {
        let mut query = Query::prepare(&tables, sql).unwrap();
        query.bind(parameters).unwrap();
        query.columns().into_iter().map(|column| column.kind).collect::<Vec<_>>()
    };
    let [ms, us, ns] = [ColumnType::Timestamp, ColumnType::MicroTimestamp, ColumnType::NanoTimestamp].map(Some);
    let of_case = "SELECT TIMESTAMP_ADD('DAY', CASE WHEN n > 1 THEN ns ELSE us END, 1), TIMESTAMP_TRUNC('SECOND', COALESCE(us, ms)) FROM t";
    assert_eq!(kinds(of_case, &[]), [ns, us]);
    let of_parameter = "SELECT TIMESTAMP_ADD('DAY', ?, 1) FROM coarse";
    assert_eq!(kinds(of_parameter, &[Value::Time(Moment { ms: START_MS, ns: 1 })]), [ns]);
    assert_eq!(kinds(of_parameter, &[Value::Time(Moment::of_ms(START_MS))]), [ms]);
    assert_eq!(kinds("SELECT ms FROM t UNION ALL SELECT ns FROM t", &[]), [ns]);
    assert_eq!(kinds("SELECT at FROM coarse UNION SELECT at FROM coarse", &[]), [ms]);
    let joined = "SELECT MAX(a.us), TIMESTAMP_ADD('DAY', b.ns, 1) FROM t a JOIN t AS b ON a.n = b.n";
    assert_eq!(kinds(joined, &[]), [us, ns]);
}

/// Tables that keep what their scans are told.
struct Told(Arc<dyn Tables>, Mutex<Vec<Vec<Condition>>>);

impl Tables for Told {
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        self.0.find(name)
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        self.1.lock().unwrap().push(conditions.to_vec());
        self.0.scan(table, conditions, order, columns)
    }
}

#[test]
fn scans_are_told_of_values_finer_than_their_column() {
    let (_, tables) = moments(true);
    let finer = Moment { ms: START_MS + 1, ns: 499_001 };
    let cut = Value::Time(Moment { ms: START_MS + 1, ns: 499_000 });
    for (column, told) in [("us", cut), ("ms", Value::Integer(START_MS + 1))] {
        for (operator, expected) in [
            ("=", None),
            ("<", Some(Operator::LessEqual)),
            ("<=", Some(Operator::LessEqual)),
            (">", Some(Operator::Greater)),
            (">=", Some(Operator::Greater)),
        ] {
            let recording = Arc::new(Told(Arc::clone(&tables), Mutex::default()));
            let recorded: Arc<dyn Tables> = Arc::clone(&recording) as Arc<dyn Tables>;
            with(&recorded, &format!("SELECT n FROM t WHERE {column} {operator} ?"), &[Value::Time(finer)]).unwrap();
            let scans = std::mem::take(&mut *recording.1.lock().unwrap());
            let position = if column == "us" { 1 } else { 2 };
            let condition = |operator| vec![Condition { column: position, operator, value: told.clone() }];
            assert_eq!(scans, expected.map(condition).into_iter().collect::<Vec<_>>(), "{column} {operator}");
        }
    }
    // Of each row of `t` whose time is not one of whole milliseconds nothing is read.
    let recording = Arc::new(Told(tables, Mutex::default()));
    let recorded: Arc<dyn Tables> = Arc::clone(&recording) as Arc<dyn Tables>;
    let whole = with(&recorded, "SELECT COUNT(*) FROM t CROSS JOIN coarse ON coarse.at = t.ns", &[]).unwrap();
    let scans = recording.1.lock().unwrap();
    assert_eq!(whole, [[Value::Integer(scans.len() as i64 - 1)]]);
    assert!(scans.len() > 1 && scans[1..].iter().all(|conditions| conditions.len() == 1), "{scans:?}");
}

#[test]
fn times_whose_texts_do_not_compare_are_refused() {
    let (_, tables) = moments(true);
    let said = |sql: &str, parameters: &[Value]| with(&tables, sql, parameters).unwrap_err().to_string();
    for sql in [
        "SELECT TIMESTAMP_ADD('YEAR', ns, 8000) FROM t",
        "SELECT TIMESTAMP_ADD('YEAR', ns, -2100) FROM t",
        "SELECT COUNT(*) FROM t WHERE ns < TO_TIMESTAMP_MS(253402300800000)",
        "SELECT TIMESTAMP_NS('9999-12-31T23:59:59-00:01')",
        "SELECT TIMESTAMP_NS('0000-01-01T00:00:00+00:01')",
    ] {
        assert!(said(sql, &[]).contains("years 0000 to 9999"), "{sql}");
    }
    let after = Value::Time(Moment::of_ms(253_402_300_800_000));
    assert!(said("SELECT n FROM t WHERE ns < ?", std::slice::from_ref(&after)).contains("parameter 1: a time is not of the years"));
    let of_milliseconds = "SELECT COUNT(*) FROM coarse WHERE at < TIMESTAMP_ADD('YEAR', at, 8000) AND at < ?";
    assert_eq!(with(&tables, of_milliseconds, &[after]).unwrap(), [[Value::Integer(3)]], "integers compare in all years");
    let far = "SELECT TIMESTAMP_DIFF('NANOSECOND', TIMESTAMP_NS('2024-01-01'), TIMESTAMP_NS('1600-01-01'))";
    assert!(said(far, &[]).contains("too far from each other"));
    assert!(said("SELECT TIMESTAMP_DIFF('DAY_OF_WEEK', NOW(), NOW())", &[]).contains("no difference"));
}

#[test]
fn a_number_does_not_compare_with_a_time_where_times_are_texts() {
    let (_, tables) = moments(true);
    for condition in ["ms > 1706702400123", "ns = 5", "us < 1.5", "ms IN (1, 2)"] {
        let said = with(&tables, &format!("SELECT n FROM t WHERE {condition}"), &[]).unwrap_err().to_string();
        assert!(said.contains(&format!("the column {} has times", &condition[..2])), "{condition}: {said}");
    }
    let by_function = format!("SELECT COUNT(*) FROM t WHERE ms < TO_TIMESTAMP_MS({START_MS})");
    assert_eq!(with(&tables, &by_function, &[]).unwrap(), [[Value::Integer(0)]]);
    let of_milliseconds = format!("SELECT COUNT(*) FROM coarse WHERE at > {START_MS}");
    assert_eq!(with(&tables, &of_milliseconds, &[]).unwrap(), [[Value::Integer(2)]]);
}
