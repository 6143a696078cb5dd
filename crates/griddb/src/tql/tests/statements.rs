//! Statements and what they give.

use super::*;

#[test]
fn conditions_select_rows() {
    let (container, rows) = people();
    let cases: &[(&str, &[i64])] = &[
        ("SELECT *", &[1, 2, 3, 4, 5]),
        ("select * from plant1;", &[1, 2, 3, 4, 5]),
        ("SELECT * FROM \"PLANT1\" WHERE ID = 2", &[2]),
        ("SELECT * WHERE id > 1 AND 4 >= id", &[2, 3, 4]),
        ("SELECT * WHERE id > 3 AND id < 2", &[]),
        ("SELECT * WHERE id <> 3 AND id != 5", &[1, 2, 4]),
        ("SELECT * WHERE id > 3000000000", &[]),
        ("SELECT * WHERE id < 3000000000 LIMIT 2 OFFSET 1", &[2, 3]),
        ("SELECT * WHERE id = 1 OR id = 5", &[1, 5]),
        ("SELECT * WHERE id >= 4.5", &[5]),
        ("SELECT * WHERE flag", &[1, 3, 5]),
        ("SELECT * WHERE NOT flag XOR id = 1", &[1, 2, 4]),
        ("SELECT * WHERE flag = FALSE", &[2, 4]),
        ("SELECT * WHERE size IS NULL", &[3]),
        ("SELECT * WHERE size IS NOT NULL AND NOT size = 10", &[2, 5]),
        ("SELECT * WHERE size = NULL", &[]),
        ("SELECT * WHERE NOT (size = NULL)", &[]),
        ("SELECT * WHERE name LIKE '_da'", &[1]),
        ("SELECT * WHERE name LIKE '%b%'", &[2]),
        ("SELECT * WHERE name NOT LIKE '%b%'", &[1, 3, 5]),
        ("SELECT * WHERE name LIKE '10$%' ESCAPE '$'", &[3]),
        ("SELECT * WHERE name LIKE ''", &[]),
        ("SELECT * WHERE CHAR_LENGTH(name) = 5", &[5]),
        ("SELECT * WHERE UPPER(name) = 'BOB' AND LOWER('X') = 'x'", &[2]),
        ("SELECT * WHERE SUBSTRING(name, 2) = 'da' OR SUBSTRING(name, 1, 2) = 'bo'", &[1, 2]),
        ("SELECT * WHERE CONCAT(name, '!') = '!' OR 'it''s' = 'its'", &[4]),
        ("SELECT * WHERE name || 'x' = 'bobx'", &[2]),
        ("SELECT * WHERE -size + 2 * 3 % 4 = 5 - 0", &[2]),
        ("SELECT * WHERE (id + 1) / 2 = 3", &[5]),
        ("SELECT * WHERE ROUND(temperature) = 3 OR FLOOR(temperature) = -4 OR CEILING(temperature) = 0", &[2, 3, 5]),
        ("SELECT * WHERE temperature = NAN", &[4]),
        ("SELECT * WHERE temperature > 2", &[2, 4]),
        ("SELECT * WHERE temperature > -INF AND temperature < INF", &[1, 2, 3, 5]),
        ("SELECT * WHERE ARRAY_LENGTH(numbers) >= 3 AND ELEMENT(2, numbers) = 30", &[4, 5]),
        ("SELECT * WHERE \"select\" = 4", &[4]),
        ("SELECT * WHERE TO_EPOCH_MS(NOW()) = 1700000000000 AND id = 1", &[1]),
        ("SELECT * ORDER BY id DESC LIMIT 2", &[5, 4]),
        ("SELECT * ORDER BY size, id DESC", &[2, 5, 4, 1, 3]),
        ("SELECT * ORDER BY size DESC, id LIMIT 2 OFFSET 1", &[1, 4]),
        ("SELECT * ORDER BY name", &[3, 1, 2, 5, 4]),
        ("SELECT * LIMIT 0", &[]),
        ("SELECT * ORDER BY name LIMIT 0", &[]),
        ("SELECT MAX_ROWS(size)", &[1, 4]),
        ("SELECT MIN_ROWS(size) WHERE id <> 2", &[5]),
    ];
    for (text, expected) in cases {
        let select = parse(text, &container, NOW_MS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(keys_of(&container, &rows, select), *expected, "{text}");
    }
}

#[test]
fn aggregations_give_one_value() {
    let (people, people_rows) = people();
    let (plant, plant_rows) = plant();
    use AggregateResult::{Double, Long, Timestamp};
    let cases = [
        (&people, &people_rows, "SELECT COUNT(*)", Some(Long(5))),
        (&people, &people_rows, "SELECT count(*) WHERE id > 100", Some(Long(0))),
        (&people, &people_rows, "SELECT MAX(size)", Some(Long(10))),
        (&people, &people_rows, "SELECT MIN(temperature)", Some(Double(-3.89))),
        (&people, &people_rows, "SELECT SUM(size)", Some(Long(24))),
        (&people, &people_rows, "SELECT SUM(size) WHERE id = 3", None),
        (&people, &people_rows, "SELECT AVG(size)", Some(Double(6.0))),
        (&plant, &plant_rows, "SELECT SUM(voltage)", Some(Double(10.0))),
        (&plant, &plant_rows, "SELECT VARIANCE(voltage)", Some(Double(1.25))),
        (&plant, &plant_rows, "SELECT STDDEV(voltage)", Some(Double(1.25_f64.sqrt()))),
        (&plant, &plant_rows, "SELECT MAX(at)", Some(Timestamp(40_000))),
        (&plant, &plant_rows, "SELECT TIME_AVG(voltage)", Some(Double(2.25))),
        (&plant, &plant_rows, "SELECT TIME_AVG(voltage) WHERE at = TO_TIMESTAMP_MS(10000)", Some(Double(3.0))),
        (&plant, &plant_rows, "SELECT MIN(level) WHERE at > TIMESTAMP('1970-01-01T00:00:00Z')", Some(Long(7))),
    ];
    for (container, rows, text, expected) in cases {
        let select = parse(text, container, NOW_MS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(!select.for_rows());
        match run(container, rows, select).unwrap() {
            Answer::Aggregate(value) => assert_eq!(value, expected, "{text}"),
            Answer::Rows(_) | Answer::Partials(_) => panic!("{text}: one value is expected"),
        }
    }
    let select = Select::time_aggregate(&plant, 10_000, 20_000, Some(1), Aggregation::Average).unwrap();
    let Answer::Aggregate(value) = run(&plant, &plant_rows, select).unwrap() else { panic!("one value is expected") };
    assert_eq!(value.map(|value| (value.element(), wire(value))), Some((ElementType::Double, 2.5_f64.to_le_bytes().to_vec())));
}

#[test]
fn what_is_wrong_is_told() {
    let (container, rows) = people();
    let cases = [
        ("", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("DELETE *", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * WHERE", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * LIMIT -1", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * WHERE name = 'x", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * FROM other", ErrorCode::TQ_INVALID_COLLECTION_NAME),
        ("SELECT * WHERE nothing = 1", ErrorCode::TQ_COLUMN_NOT_FOUND),
        ("SELECT * WHERE F(1) = 1", ErrorCode::TQ_FUNCTION_NOT_FOUND),
        ("SELECT * WHERE 1 / 0 = 1", ErrorCode::TQ_DIVIDE_BY_ZERO),
        ("SELECT * WHERE id / 0 = 1", ErrorCode::TQ_DIVIDE_BY_ZERO),
        ("SELECT * WHERE id = 'a'", ErrorCode::TQ_OPERATION_NOT_DEFINED),
        ("SELECT * WHERE flag < TRUE", ErrorCode::TQ_OPERATION_NOT_DEFINED),
        ("SELECT * WHERE id", ErrorCode::TQ_OPERATION_NOT_DEFINED),
        ("SELECT * WHERE ELEMENT(1, numbers) = 1", ErrorCode::TQ_CONSTRAINT_ARRAY_OUT_OF_RANGE),
        ("SELECT * WHERE TIMESTAMP('yesterday') = NOW()", ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE),
        ("SELECT * WHERE TO_TIMESTAMP_MS(-1) = NOW()", ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE),
        ("SELECT * WHERE UPPER() = 'X'", ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_COUNT),
        ("SELECT SUM(name)", ErrorCode::TQ_COLUMN_CANNOT_AGGREGATE),
        ("SELECT COUNT(*) ORDER BY id", ErrorCode::TQ_SYNTAX_ERROR_ORDERBY_WITH_AGGREGATION),
        ("SELECT TIME_AVG(size)", ErrorCode::TQ_CONSTRAINT_SELECTION_ABUSE),
        ("SELECT * WHERE ST_MBRIntersects(id, 1)", ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_TYPE),
        ("EXPLAIN", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
    ];
    for (text, code) in cases {
        let outcome = parse(text, &container, NOW_MS).and_then(|select| run(&container, &rows, select));
        assert_eq!(outcome.err().map(|error| error.code), Some(code), "{text}");
    }
    let deep = format!("SELECT * WHERE {}1=1{}", "(".repeat(100_000), ")".repeat(100_000));
    let negative = format!("SELECT * WHERE id = {}1", "-(".repeat(5_000));
    let long = format!("SELECT * WHERE id = 1{}", " + id".repeat(5_000));
    let longest = format!("SELECT * WHERE id = id{}", " + id".repeat(511));
    assert!(keys_of(&container, &rows, parse(&longest, &container, NOW_MS).unwrap()).is_empty());
    for text in [deep, negative, long] {
        assert_eq!(parse(&text, &container, NOW_MS).unwrap_err().code, ErrorCode::TQ_SYNTAX_ERROR_EXECUTION);
    }
}
