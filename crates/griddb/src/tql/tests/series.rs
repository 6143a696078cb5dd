//! Selections by time.

use super::*;

#[test]
fn time_series_select_by_time() {
    let (container, rows) = plant();
    let time = |second: i64| format!("TIMESTAMP('1970-01-01T00:00:{second:02}.000Z')");
    let cases: &[(String, &[i64])] = &[
        (format!("SELECT TIME_NEXT(*, {})", time(10)), &[10]),
        (format!("SELECT TIME_NEXT_ONLY(*, {})", time(10)), &[20]),
        (format!("SELECT TIME_PREV(*, {})", time(15)), &[10]),
        (format!("SELECT TIME_PREV_ONLY(*, {})", time(10)), &[0]),
        (format!("SELECT TIME_PREV_ONLY(*, {})", time(0)), &[]),
        (format!("SELECT TIME_PREV(*, {}) WHERE level > 50", time(50)), &[10]),
        (format!("SELECT TIME_SAMPLING(*, {}, {}, 8, SECOND)", time(4), time(50)), &[4, 12, 20, 28, 36, 44]),
        (format!("SELECT TIME_SAMPLING(voltage, {}, {}, 8, SECOND)", time(4), time(50)), &[4, 12, 20, 28, 36]),
        (format!("SELECT TIME_SAMPLING(voltage, {}, {}, 8, SECOND) ORDER BY voltage LIMIT 2", time(4), time(50)), &[36, 28]),
        (format!("SELECT TIME_INTERPOLATED(voltage, {})", time(30)), &[30]),
        (format!("SELECT TIME_INTERPOLATED(voltage, {})", time(41)), &[]),
        ("SELECT * WHERE at >= TIMESTAMPADD(SECOND, TIMESTAMP('1970-01-01T01:00:20+01:00'), 0)".to_owned(), &[20, 40]),
        ("SELECT * WHERE TIMESTAMPDIFF(SECOND, at, TO_TIMESTAMP_MS(5000)) > 5".to_owned(), &[20, 40]),
    ];
    for (text, expected) in cases {
        let select = parse(text, &container, NOW_MS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(keys_of(&container, &rows, select), *expected, "{text}");
    }
    let select = Select::time_range(&container, Some(10_000), Some(20_000), true, None).unwrap();
    assert_eq!(keys_of(&container, &rows, select), [20, 10]);
    let select = Select::time_nearest(&container, TimeOperator::Previous, 39_999).unwrap();
    assert_eq!(keys_of(&container, &rows, select), [20]);
}

#[test]
fn interpolated_values_are_on_the_line() {
    let (container, rows) = plant();
    for (column, second, offset, expected) in
        [(1, 15, 8 + 1 + 8, 2.5_f64.to_le_bytes().to_vec()), (3, 4, 25, 40_i32.to_le_bytes().to_vec())]
    {
        let select = Select::time_interpolated(&container, second * 1_000, column).unwrap();
        assert!(select.row_before().is_some());
        let Answer::Rows(rows) = run(&container, &rows, select).unwrap() else { panic!("rows are expected") };
        let mut bytes = Vec::new();
        rows.write(&mut bytes);
        assert_eq!(bytes[offset..offset + expected.len()], expected);
    }
}

#[test]
fn samples_may_be_empty_between_rows() {
    let (container, rows) = plant();
    let (unit, interpolation) = (TimeUnit::Second, Interpolation::Empty);
    let sampling = Sampling { start_ms: 0, end_ms: i64::MAX, interval: 1, unit, columns: vec![], interpolation };
    assert!(run(&container, &rows, Select::time_sampling(&container, sampling.clone()).unwrap()).is_err());
    let sampling = Sampling { start_ms: 5_000, end_ms: 20_000, interval: 5, ..sampling };
    assert_eq!(keys_of(&container, &rows, Select::time_sampling(&container, sampling.clone()).unwrap()), [5, 10, 15, 20]);
    assert_eq!(keys_of(&container, &Rows::new(), Select::time_sampling(&container, sampling.clone()).unwrap()), [5, 10, 15, 20]);
    for (interval, unit) in [(0, TimeUnit::Second), (-1, TimeUnit::Second), (1, TimeUnit::Month), (i64::MAX, TimeUnit::Day)] {
        let sampling = Sampling { interval, unit, ..sampling.clone() };
        assert!(Select::time_sampling(&container, sampling).is_err());
    }
}

#[test]
fn calendar_counts_whole_units() {
    let at = |text: &str| time::parse_timestamp(text, Precision::Milli).unwrap();
    assert_eq!(at("2018-12-30T10:15:30.000Z").ms(), 1_546_164_930_000);
    assert_eq!(at("9999-12-31T23:59:59.999Z").ms(), 253_402_300_799_999);
    assert_eq!(time::add(TimeUnit::Month, at("2024-01-31T00:00:00Z"), 1), Some(at("2024-02-29T00:00:00Z")));
    assert_eq!(time::add(TimeUnit::Year, at("2024-02-29T01:00:00Z"), -1), Some(at("2023-02-28T01:00:00Z")));
    assert_eq!(time::difference(TimeUnit::Month, at("2024-03-01T00:00:00Z"), at("2024-01-31T00:00:00Z")), 1);
    assert_eq!(time::difference(TimeUnit::Year, at("2023-03-01T00:00:00Z"), at("2024-03-01T00:00:00Z")), -1);
    for text in
        ["", "T", "2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00+é1:0", "2023-1-01T00:00:00Z"]
    {
        assert_eq!(time::parse_timestamp(text, Precision::Milli), None, "{text}");
    }
}
