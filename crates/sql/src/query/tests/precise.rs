//! Times of microseconds and nanoseconds, among those of milliseconds.

use super::*;
use crate::time::Moment;

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
            let own_step = if column == "ns" { 1 } else { if column == "us" { 1_000 } else { 1_000_000 } };
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
}
