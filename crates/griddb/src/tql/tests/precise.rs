//! Times of microseconds and nanoseconds.

use super::*;
use crate::tql::value::Value;

/// 2024-01-31T12:00:00.123456789Z.
const TIME: Instant = Instant { us: 1_706_702_400_123_456, ns: 789 };

fn nano_cell(time: Instant) -> Vec<u8> {
    let mut cell = Vec::new();
    time.put_nano_cell(&mut cell);
    cell
}

/// A collection of a time of the key's precision, then number, one time of each precision: all the same time but for a few nanoseconds more each row.
fn events(key: ElementType) -> (Arc<Container>, Rows) {
    let mut columns = vec![
        column("at", key, false),
        column("n", ElementType::Long, false),
        column("ms", ElementType::Timestamp, false),
        column("us", ElementType::MicroTimestamp, false),
        column("ns", ElementType::NanoTimestamp, false),
    ];
    columns[4].is_not_null = true;
    let container = testing::container("Plant1", Kind::Collection, columns, 1);
    let of = |n: i64| {
        // 0, 1, 400, 1000 … nanoseconds later.
        let time = Instant::of_total_ns(TIME.total_ns() + i128::from([0, 1, 400, 1_000, 2_000_000][n as usize])).unwrap();
        let cells = [
            Some(if key == ElementType::NanoTimestamp { nano_cell(time) } else { (TIME.us + n).to_be_bytes().to_vec() }),
            Some(n.to_be_bytes().to_vec()),
            Some(time.ms().to_be_bytes().to_vec()),
            (n != 1).then(|| time.us.to_be_bytes().to_vec()),
            Some(nano_cell(time)),
        ];
        row(&container, &cells)
    };
    let mut rows: Rows = (0..5).map(of).collect();
    rows.sort();
    (container, rows)
}

/// The number of each row that a condition leaves.
fn numbers(container: &Container, rows: &Rows, text: &str) -> Vec<i64> {
    let select = parse(text, container, NOW_MS).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Answer::Rows(found) = run(container, rows, select).unwrap_or_else(|error| panic!("{text}: {error}")) else { panic!("{text}") };
    let mut bytes = Vec::new();
    found.write(&mut bytes);
    let layout = crate::row::Layout::of(&container.definition.columns);
    let key_bytes = container.definition.columns[0].fixed_bytes().unwrap();
    let number = |row: usize| {
        let at = row * (8 + layout.fixed_bytes) + 8 + layout.null_bytes + key_bytes;
        i64::from_le_bytes(*bytes[at..].first_chunk().unwrap())
    };
    (0..found.rows() as usize).map(number).collect()
}

#[test]
fn times_of_all_precisions_compare() {
    let cases: &[(&str, &[i64])] = &[
        ("SELECT * WHERE ns = TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z')", &[0]),
        ("SELECT * WHERE ns > TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z') AND ns < us", &[]),
        ("SELECT * WHERE ns > TIMESTAMP_NS('2024-01-31T13:00:00.123456790+01:00')", &[2, 3, 4]),
        ("SELECT * WHERE us = TIMESTAMP_US('2024-01-31T12:00:00.123456Z')", &[0]),
        ("SELECT * WHERE us < TIMESTAMP_NS('2024-01-31T12:00:00.123457001Z')", &[0, 2, 3]),
        ("SELECT * WHERE us = TIMESTAMP_NS('2024-01-31T12:00:00.123457001Z')", &[]),
        ("SELECT * WHERE us IS NULL", &[1]),
        ("SELECT * WHERE ms = TIMESTAMP('2024-01-31T12:00:00.123Z')", &[0, 1, 2, 3]),
        ("SELECT * WHERE ms < TIMESTAMP_US('2024-01-31T12:00:00.123001Z')", &[0, 1, 2, 3]),
        ("SELECT * WHERE ms >= TIMESTAMP_US('2024-01-31T12:00:00.123001Z')", &[4]),
        ("SELECT * WHERE ns >= TIMESTAMP('2024-01-31T12:00:00.124Z')", &[4]),
        ("SELECT * WHERE ns = TIMESTAMP_ADD(NANOSECOND, TIMESTAMP_NS('2024-01-31T12:00:00.123456780Z'), 9)", &[0]),
        ("SELECT * WHERE TIMESTAMPADD(MONTH, ns, 1) = TIMESTAMP_NS('2024-02-29T12:00:00.123457189Z')", &[2]),
        ("SELECT * WHERE TIMESTAMPADD(NANOSECOND, us, 999) = us AND TIMESTAMPADD(MICROSECOND, ms, 999) = ms", &[0, 2, 3, 4]),
        ("SELECT * WHERE TIMESTAMPDIFF(NANOSECOND, ns, TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z')) = 400", &[2]),
        ("SELECT * WHERE TIMESTAMP_DIFF(MICROSECOND, ns, TIMESTAMP_NS('2024-01-31T12:00:00.123456789Z')) = 2000", &[4]),
        ("SELECT * WHERE TIMESTAMPDIFF(MILLISECOND, ns, us) = 0", &[0, 2, 3, 4]),
        ("SELECT * WHERE TO_EPOCH_MS(ns) = 1706702400125", &[4]),
        ("SELECT * ORDER BY ns DESC", &[4, 3, 2, 1, 0]),
        ("SELECT * ORDER BY us LIMIT 2", &[0, 2]),
        ("SELECT MAX_ROWS(ns)", &[4]),
        ("SELECT MIN_ROWS(us)", &[0]),
    ];
    for key in [ElementType::MicroTimestamp, ElementType::NanoTimestamp] {
        let (container, rows) = events(key);
        for (text, expected) in cases {
            assert_eq!(numbers(&container, &rows, text), *expected, "{key:?}: {text}");
        }
    }
}

#[test]
fn times_are_aggregated_at_their_precision() {
    let (container, rows) = events(ElementType::MicroTimestamp);
    for (text, element, expected) in [
        ("SELECT MIN(ns)", ElementType::NanoTimestamp, TIME.nano_wire().to_vec()),
        ("SELECT MIN(us)", ElementType::MicroTimestamp, TIME.us.to_le_bytes().to_vec()),
        ("SELECT MAX(at)", ElementType::MicroTimestamp, (TIME.us + 4).to_le_bytes().to_vec()),
        ("SELECT MAX(ms)", ElementType::Timestamp, (TIME.ms() + 2).to_le_bytes().to_vec()),
    ] {
        let Answer::Aggregate(Some(value)) = run(&container, &rows, parse(text, &container, NOW_MS).unwrap()).unwrap() else {
            panic!("{text}")
        };
        assert_eq!((value.element(), wire(value)), (element, expected), "{text}");
    }
    assert!(parse("SELECT SUM(ns)", &container, NOW_MS).is_err());
    for text in [
        "SELECT * WHERE us = TIMESTAMP_US('2024-01-31T12:00:00.123456789Z')",
        "SELECT * WHERE us = TIMESTAMP('2024-01-31T12:00:00.123456Z')",
        "SELECT * WHERE us = TIMESTAMP_NS('2024-01-31T12:00:00.1234Z')",
        "SELECT * WHERE ns = TIMESTAMPADD(NANOSECOND, TIMESTAMP_NS('9999-12-31T23:59:59.999999999Z'), 1)",
    ] {
        assert!(parse(text, &container, NOW_MS).is_err(), "{text}");
    }
}

#[test]
fn a_row_key_of_any_precision_bounds_what_is_read() {
    let mut random = Rng::new(59);
    for key in [ElementType::Timestamp, ElementType::MicroTimestamp, ElementType::NanoTimestamp] {
        let columns = vec![column("at", key, false), column("n", ElementType::Long, false)];
        let container = testing::container("Plant1", Kind::Collection, columns, 1);
        let stored = |time: Instant| match key {
            ElementType::Timestamp => time.ms().to_be_bytes().to_vec(),
            ElementType::MicroTimestamp => time.us.to_be_bytes().to_vec(),
            _ => nano_cell(time),
        };
        // Of every length that a cell of nanoseconds may have.
        let mut times: Vec<Instant> =
            (0..300).map(|at| Instant::of_total_ns((1_i128 << (at % 68)) + i128::from(random.below(3_000_000))).unwrap()).collect();
        times.retain(|time| time.is_valid());
        let row_of = |(n, time): (usize, &Instant)| row(&container, &[Some(stored(*time)), Some((n as i64).to_be_bytes().to_vec())]);
        let mut rows: Rows = times.iter().enumerate().map(row_of).collect();
        rows.sort();
        for _ in 0..300 {
            let wanted = Value::PreciseTime(times[random.below(times.len() as u64) as usize], Precision::Nano);
            for operator in ["=", "<", "<=", ">", ">=", "<>"] {
                let Some((time, _)) = wanted.time() else { panic!("it is a time") };
                let select = parse(&format!("SELECT * WHERE at {operator} TIMESTAMP_NS('{}')", text_of(time)), &container, NOW_MS).unwrap();
                let mut found = match run(&container, &rows, select).unwrap() {
                    Answer::Rows(found) => found.rows(),
                    Answer::Aggregate(_) | Answer::Partials(_) => 0,
                };
                let precision = key.precision().unwrap();
                for own in &times {
                    let own = own.cut(precision);
                    let holds = match operator {
                        "=" => own == time,
                        "<" => own < time,
                        "<=" => own <= time,
                        ">" => own > time,
                        ">=" => own >= time,
                        _ => own != time,
                    };
                    found -= u64::from(holds);
                }
                assert_eq!(found, 0, "{key:?} {operator} {time:?}");
            }
        }
    }
}

#[test]
fn a_time_finer_than_the_row_key_bounds_what_is_read() {
    let finer = Instant { us: TIME.us, ns: 1 };
    for key in [ElementType::Timestamp, ElementType::MicroTimestamp] {
        let columns = vec![column("at", key, false), column("n", ElementType::Long, false)];
        let container = testing::container("Plant1", Kind::Collection, columns, 1);
        let at = |ms_later: i64| match key {
            ElementType::Timestamp => (TIME.ms() + ms_later).to_be_bytes().to_vec(),
            _ => (TIME.us + ms_later * 1_000).to_be_bytes().to_vec(),
        };
        let mut rows: Rows = (-5..5).map(|n| row(&container, &[Some(at(n)), Some(n.to_be_bytes().to_vec())])).collect();
        rows.sort();
        let text = format!("SELECT * WHERE at = TIMESTAMP_NS('{}')", text_of(finer));
        let mut select = parse(&text, &container, NOW_MS).unwrap();
        let range = select.key_range(&container);
        let within = rows.iter().filter(|(key, _)| is_in(&range, key)).count();
        assert_eq!(within, 1, "{key:?}: {range:?}");
        assert!(!select.forget_told(&container), "the row that is left is not of this time");
        let Answer::Rows(found) = run(&container, &rows, select).unwrap() else { panic!("{text}") };
        assert_eq!(found.rows(), 0, "{key:?}");
    }
}

/// A time as TQL reads it.
fn text_of(time: Instant) -> String {
    let seconds = time.us.div_euclid(1_000_000);
    let day = time::date_of(seconds.div_euclid(86_400));
    let clock = seconds.rem_euclid(86_400);
    let nanoseconds = time.us.rem_euclid(1_000_000) * 1_000 + i64::from(time.ns);
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{nanoseconds:09}Z", day.0, day.1, day.2, clock / 3_600, clock / 60 % 60, clock % 60)
}
