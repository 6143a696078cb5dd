//! Aggregates of SQL, in place of rows.

use super::*;
use crate::tql::{AGGREGATED_COLUMNS_MAX, read_spec};
use model::aggregate::{Comparison, Condition, Fold, Function, OwnedValue, Partials, Spec};

fn fold(function: Function, column: u16) -> Fold {
    Fold { function, column }
}

fn encoded(spec: &Spec) -> Vec<u8> {
    let mut bytes = Vec::new();
    spec.encode(&mut bytes);
    bytes
}

#[test]
fn rows_are_folded_by_what_sql_has_of_them() {
    let (container, rows) = people();
    let asked = Spec {
        groups: vec![4],
        folds: vec![
            fold(Function::Rows, 0),
            fold(Function::Sum, 2),
            fold(Function::Count, 3),
            fold(Function::Greatest, 1),
            fold(Function::Least, 0),
        ],
        conditions: vec![Condition { column: 6, comparison: Comparison::Greater, value: OwnedValue::Integer(1) }],
    };
    let mut select = parse("SELECT *", &container, NOW_MS).unwrap();
    select.fold(read_spec(&encoded(&asked), &container).unwrap()).unwrap();
    let Answer::Partials(found) = run(&container, &rows, select).unwrap() else { panic!("aggregates are expected") };
    let mut partials = Partials::new(&asked);
    partials.merge(&asked, &found).unwrap();
    let text = |text: &str| OwnedValue::Bytes(text.as_bytes().to_vec());
    let integer = OwnedValue::Integer;
    let expected = vec![
        // NaN is null to SQL.
        vec![integer(0), integer(2), integer(7), integer(1), text("bob"), integer(2)],
        vec![integer(1), integer(2), integer(7), integer(2), text("größe"), integer(3)],
    ];
    assert_eq!(partials.finish(&asked), expected);
}

#[test]
fn what_is_not_folded_is_refused() {
    let (container, _) = people();
    let spec = |column: u16| Spec { groups: vec![column], ..Spec::default() };
    assert!(read_spec(&encoded(&spec(6)), &container).is_ok());
    assert!(read_spec(&encoded(&spec(5)), &container).is_err(), "an array");
    assert!(read_spec(&encoded(&spec(7)), &container).is_err(), "no column");
    assert!(read_spec(&[encoded(&spec(1)), vec![0]].concat(), &container).is_err(), "and more");
    assert!(read_spec(&[], &container).is_err());
    let names: Vec<String> = (0..=AGGREGATED_COLUMNS_MAX).map(|number| format!("c{number}")).collect();
    let wide = testing::container("Wide", Kind::Collection, names.iter().map(|name| column(name, ElementType::Long, false)).collect(), 0);
    let all = |count: usize| Spec { groups: (0..count as u16).collect(), ..Spec::default() };
    assert!(read_spec(&encoded(&all(AGGREGATED_COLUMNS_MAX)), &wide).is_ok());
    assert!(read_spec(&encoded(&all(AGGREGATED_COLUMNS_MAX + 1)), &wide).is_err());
    for text in ["SELECT * LIMIT 3", "SELECT * ORDER BY size", "SELECT COUNT(*)", "EXPLAIN SELECT *"] {
        assert!(parse(text, &container, NOW_MS).unwrap().fold(spec(1)).is_err(), "{text}");
    }
}

#[test]
fn what_the_reply_has_no_room_for_cannot_be_told() {
    let (container, rows) = people();
    let asked = Spec { groups: vec![1], folds: vec![fold(Function::Greatest, 2)], ..Spec::default() };
    let answer = |memory_max: usize, rows: &Rows| {
        let mut select = parse("SELECT *", &container, NOW_MS).unwrap();
        select.fold(asked.clone()).unwrap();
        let mut execution = Execution::new(select, &container, memory_max).unwrap();
        for (key, bytes) in rows {
            let _ = execution.push(&StoredRow { container: &container, clustering: key, view: RowView::new(bytes) }).unwrap();
        }
        assert!(rows.is_empty() || execution.read_bytes() > 40, "names, and a size of eight bytes");
        let Answer::Partials(found) = execution.finish().unwrap().0 else { panic!("aggregates are expected") };
        assert!(found.len() <= memory_max.max(5), "{}: five bytes say that there is none", found.len());
        let mut partials = Partials::new(&asked);
        partials.merge(&asked, &found).unwrap();
        (!partials.is_lost()).then(|| partials.groups())
    };
    assert_eq!(answer(1 << 20, &rows), Some(5));
    assert_eq!(answer(300, &rows), None);
    assert_eq!(answer(0, &rows), None);
    assert_eq!(answer(0, &Rows::new()), Some(0));
}
