#![allow(clippy::unwrap_used)]

use super::{of_seen, place, places};
use crate::cells::{Cells, cell};
use crate::container::Container;
use griddb::client::{ContainerId, Description};
use griddb::partitioning::{Division, HashDivision, IntervalUnit, Intervals, Partitioning};
use griddb::schema::{ColumnDefinition, Kind};
use griddb::{ContainerName, ElementType};
use sql::time::Moment;
use sql::{Condition, Operator, Order, Value};

fn column(name: &str, element: ElementType) -> ColumnDefinition {
    ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: name == "at" || name == "n" }
}

fn columns() -> Vec<ColumnDefinition> {
    [("at", ElementType::MicroTimestamp), ("n", ElementType::Long), ("s", ElementType::String), ("f", ElementType::Double)]
        .map(|(name, element)| column(name, element))
        .to_vec()
}

fn container(partitioning: Partitioning) -> Container {
    let (id, name) = (ContainerId { id: 7, version: 0 }, ContainerName::parse("t"));
    let partitioning = Some(partitioning);
    Container::described(Description {
        id,
        name,
        kind: Kind::Collection,
        columns: columns(),
        key_len: 0,
        indexes: Vec::new(),
        partitioning,
    })
}

fn divisions() -> Vec<Partitioning> {
    let days = Intervals { column: "AT".to_owned(), every: 1, unit: Some(IntervalUnit::Day) };
    let thousands = Intervals { column: "n".to_owned(), every: 1_000, unit: None };
    let hash = |column: &str| HashDivision { column: column.to_owned(), count: 5 };
    let mut all = vec![
        Partitioning::new(None, Some(hash("s")), None),
        Partitioning::new(None, Some(hash("n")), None),
        Partitioning::new(Some(days), Some(hash("n")), None),
        Partitioning::new(Some(thousands.clone()), None, None),
        Partitioning::new(Some(thousands), Some(hash("at")), None),
    ];
    for partitioning in all.iter_mut().skip(2) {
        partitioning.change(&Division::Add((-8..40).collect()), 0).unwrap();
    }
    all
}

/// Numbers that repeat themselves each time.
fn random() -> impl FnMut(u64) -> i64 {
    let mut state = 5_u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as i64
    }
}

fn fulfils(row: &Value, Condition { operator, value, .. }: &Condition) -> bool {
    let order = match (row, value) {
        (Value::Integer(row), Value::Integer(value)) => row.cmp(value),
        (Value::Time(row), Value::Time(value)) => row.cmp(value),
        (Value::Text(row), Value::Text(value)) => row.cmp(value),
        _ => return false,
    };
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterEqual => order.is_ge(),
    }
}

#[test]
fn no_row_that_fulfils_the_conditions_is_left_out() {
    let mut random = random();
    let (mut found, mut left) = (0, 0);
    for partitioning in divisions() {
        let container = container(partitioning);
        let partitioning = container.partitioning.clone().unwrap();
        for _ in 0..3_000 {
            let mut value = |column: i64| match column {
                0 => Value::Time(Moment { ms: random(30 * 86_400_000), ns: random(1_000) as u32 * 1_000 }),
                1 => Value::Integer(random(30_000) - 6_000),
                _ => Value::Text(format!("s{}", random(6))),
            };
            let row = [value(0), value(1), value(2), Value::Real(0.5)];
            let mut conditions = Vec::new();
            for column in [0, 1, 2, 1] {
                // Of its own value now and then, so that it is fulfilled.
                let other = value(column);
                conditions.push((
                    column as usize,
                    if matches!(&other, Value::Integer(n) if n % 2 == 0) { row[column as usize].clone() } else { other },
                ));
            }
            conditions.truncate(random(5) as usize);
            let operators = [Operator::Equal, Operator::Less, Operator::LessEqual, Operator::Greater, Operator::GreaterEqual];
            let conditions: Vec<Condition> = conditions
                .into_iter()
                .map(|(column, value)| Condition { column, operator: operators[random(5) as usize], value })
                .collect();
            let order = if random(2) == 0 { Order::Key } else { Order::KeyDescending };
            let parts: Vec<_> = places(&container, &conditions, order).into_iter().map(|place| place.part).collect();
            left += usize::from(parts.len() < partitioning.parts().count());
            if conditions.iter().all(|condition| fulfils(&row[condition.column], condition)) {
                let cells: Cells = columns().iter().zip(&row).map(|(column, value)| cell(column, value.as_ref()).unwrap()).collect();
                let (interval, hash) = place(&partitioning, &columns(), &cells);
                assert!(parts.contains(&partitioning.part(interval, hash)), "{row:?} {conditions:?}");
                let seen = of_seen(&container, vec![row.to_vec()]).unwrap().unwrap();
                assert_eq!(seen[0].0.part, partitioning.part(interval, hash), "an update finds it where it was put");
                found += 1;
            }
        }
    }
    assert!(found > 2_000 && left > 2_000, "{found} rows, {left} queries of fewer data partitions");
}

#[test]
fn values_that_no_column_holds_leave_all_data_partitions() {
    let hashed = container(divisions().remove(1));
    for value in [Value::Text("x".to_owned()), Value::Real(0.5), Value::Blob(vec![1]), Value::Null] {
        let condition = Condition { column: 1, operator: Operator::Equal, value };
        assert_eq!(places(&hashed, &[condition], Order::Key).len(), 5);
    }
    let in_intervals = container(divisions().remove(3));
    let all = in_intervals.partitioning.as_ref().unwrap().parts().count();
    let extremes =
        |operator, value| places(&in_intervals, &[Condition { column: 1, operator, value: Value::Integer(value) }], Order::Key).len();
    assert_eq!((extremes(Operator::LessEqual, i64::MAX), extremes(Operator::GreaterEqual, i64::MIN)), (all, all));
    assert_eq!((extremes(Operator::Less, i64::MIN), extremes(Operator::Greater, i64::MAX), extremes(Operator::Equal, -999)), (0, 0, 1));
    let numbers: Vec<_> = (0..3).map(|row| in_intervals.of_part(4).number_of_row(row)).collect();
    assert!(numbers.iter().all(|number| *number > in_intervals.of_part(3).number_of_row((1 << 36) - 1)));
}
