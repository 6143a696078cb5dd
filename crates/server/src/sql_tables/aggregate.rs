//! Aggregates of a table: its own core makes them of the rows that a page would have, and no row crosses the socket. Pages of them are merged here.
//!
//! What the node is told is the statement that a scan would be, with the columns that are looked at, and in place of a paging state what is made of them
//! ([`cql::exec::aggregating`]). So permissions, audit, limits and routing are those of any statement. Between two pages a statement can be stopped.

use super::bound::{Bound, bound};
use super::cell::{self, DAY_ZERO};
use super::count::count;
use super::error::TablesError;
use super::port::Port;
use super::restriction::restriction;
use super::table::CqlTable;
use cql::exec::{aggregating, can_aggregate};
use load::cql::client::ClientError;
use model::DataType;
use model::aggregate::{self, Fold, Function, OwnedValue, Partials, Spec};
use sql::{Aggregation, Condition, GroupRows, Operator, Value};

/// Groups of a statement, which bound their bytes themselves: more are SQLite's to sort, which can spill.
const GROUPS_MAX: usize = 65_536;
/// CQL's code of what is not the protocol: the node cannot aggregate these rows.
const PROTOCOL: i32 = 0x000A;

/// The groups of a table; none if the node cannot make them, or there are too many.
pub(super) fn aggregate(
    port: &Port,
    table: &CqlTable,
    wanted: &Aggregation,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<GroupRows>, TablesError> {
    // Tables of the system are not where rows lie, and one row is there faster than what is made of it.
    if table.is_system || is_one_row(table, &wanted.conditions) {
        return Ok(None);
    }
    let counts_all =
        wanted.groups.is_empty() && wanted.conditions.is_empty() && wanted.folds.iter().all(|(fold, _)| *fold == Function::Rows);
    if counts_all {
        let rows = count(port, table, is_over)?;
        return Ok(Some(GroupRows::new(vec![vec![Value::Integer(i64::try_from(rows).unwrap_or(i64::MAX)); wanted.folds.len()]])));
    }
    let Some((spec, columns)) = spec(table, wanted) else { return Ok(None) };
    let restriction = restriction(table, &wanted.conditions).filter(|_| !holds_for_none(&spec));
    let mut partials = Partials::new(&spec);
    if let Some(restriction) = restriction {
        let names: Vec<&str> = columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
        let text = format!("SELECT {} FROM {}{}", names.join(", "), table.name, restriction.text);
        let mut state = Some(aggregating(&spec, None));
        while let Some(asked) = state {
            let page = port.page(&text, &restriction.values, Some(&asked), |rows| {
                let page = rows.cells().next().flatten().filter(|_| rows.metadata.column_count == 1)?;
                partials.merge(&spec, page).ok()?;
                Some(rows.metadata.paging_state.map(|after| aggregating(&spec, Some(after))))
            });
            state = match page {
                Ok(next) => next.ok_or_else(|| TablesError::Changed { message: format!("{text}: its answer is no aggregate") })?,
                Err(TablesError::Client(ClientError::Refused { code: PROTOCOL, .. })) => return Ok(None),
                Err(error) => return Err(error),
            };
            if is_over() || partials.is_lost() || partials.groups() > GROUPS_MAX {
                return Ok(None);
            }
        }
    }
    let rows = partials.finish(&spec).into_iter().map(|row| shown(table, wanted, row)).collect();
    Ok(Some(GroupRows::new(rows)))
}

/// Whether the whole primary key is told: the node answers such a statement in one look, with no page.
fn is_one_row(table: &CqlTable, conditions: &[Condition]) -> bool {
    let is_told = |column: usize| {
        let mut of_column = conditions.iter().filter(|condition| condition.column == column && condition.operator == Operator::Equal);
        of_column.any(|condition| matches!(bound(&table.columns[column].data_type, Operator::Equal, &condition.value), Bound::Told(..)))
    };
    table.has_identity && (0..table.key_len).all(is_told)
}

/// Nothing compares with null.
fn holds_for_none(spec: &Spec) -> bool {
    spec.conditions.iter().any(|condition| condition.value == OwnedValue::Null)
}

/// What the node is asked, by the columns that are looked at, and these; none if it cannot be.
fn spec(table: &CqlTable, wanted: &Aggregation) -> Option<(Spec, Vec<usize>)> {
    let mut columns: Vec<usize> = Vec::new();
    let mut place = |column: usize| {
        let known = table.columns.get(column).filter(|column| column.is_clear && can_aggregate(&column.data_type))?;
        let place = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        Some((u16::try_from(place).ok()?, &known.data_type))
    };
    let mut spec = Spec::default();
    for group in &wanted.groups {
        spec.groups.push(place(*group)?.0);
    }
    for (function, column) in wanted.folds.iter().copied() {
        let column = if function == Function::Rows { 0 } else { place(column)?.0 };
        spec.folds.push(Fold { function, column });
    }
    for condition in &wanted.conditions {
        let (column, data_type) = place(condition.column)?;
        let (operator, value) = compared(data_type, condition.operator, &condition.value)?;
        spec.conditions.push(aggregate::Condition { column, comparison: operator.into(), value });
    }
    spec.is_bounded().then_some((spec, columns))
}

/// A comparison in the values that the node aggregates; none if it has none that is fulfilled by the same rows.
fn compared(data_type: &DataType, operator: Operator, value: &Value) -> Option<(Operator, OwnedValue)> {
    let is_time = matches!(data_type, DataType::Timestamp | DataType::Date | DataType::Time);
    let is_text_to_sql = is_time || matches!(data_type, DataType::Uuid | DataType::TimeUuid);
    Some(match value {
        Value::Null => (operator, OwnedValue::Null),
        Value::Integer(value) => (operator, OwnedValue::Integer(*value)),
        Value::Real(value) => (operator, OwnedValue::Real(*value)),
        Value::Blob(bytes) => (operator, OwnedValue::Bytes(bytes.clone())),
        Value::Text(text) if !is_text_to_sql => (operator, OwnedValue::Bytes(text.as_bytes().to_vec())),
        Value::Text(_) => match bound(data_type, operator, value) {
            Bound::Told(operator, bytes) => (operator, plain(data_type, bytes)?),
            Bound::Never => (operator, OwnedValue::Null),
            // All times are less than the text. Identifiers are not told how they compare with it.
            Bound::Untold if is_time && matches!(operator, Operator::Less | Operator::LessEqual) => {
                (Operator::GreaterEqual, OwnedValue::Integer(i64::MIN))
            }
            Bound::Untold => return None,
        },
        Value::Time(_) => return None,
    })
}

/// What the node has of the bytes of a value that is a text to SQL.
fn plain(data_type: &DataType, bytes: Vec<u8>) -> Option<OwnedValue> {
    Some(match data_type {
        DataType::Timestamp | DataType::Time => OwnedValue::Integer(i64::from_be_bytes(bytes.try_into().ok()?)),
        DataType::Date => OwnedValue::Integer(i64::from(u32::from_be_bytes(bytes.try_into().ok()?)) - DAY_ZERO),
        _ => OwnedValue::Bytes(bytes),
    })
}

/// A group as SQL has it.
fn shown(table: &CqlTable, wanted: &Aggregation, row: Vec<OwnedValue>) -> Vec<Value> {
    let groups = wanted.groups.iter().map(|group| Some(*group));
    let folds = wanted.folds.iter().map(|(fold, column)| matches!(fold, Function::Least | Function::Greatest).then_some(*column));
    let value = |(column, value): (Option<usize>, OwnedValue)| match column {
        Some(column) => value_of(&table.columns[column].data_type, value),
        None => number(value),
    };
    groups.chain(folds).zip(row).map(value).collect()
}

fn number(value: OwnedValue) -> Value {
    match value {
        OwnedValue::Integer(value) => Value::Integer(value),
        OwnedValue::Real(value) => Value::Real(value),
        OwnedValue::Null | OwnedValue::Bytes(_) => Value::Null,
    }
}

/// A value of a column.
fn value_of(data_type: &DataType, value: OwnedValue) -> Value {
    let text = |bytes: &[u8]| cell::text(data_type, bytes).map_or(Value::Null, Value::Text);
    match (data_type, value) {
        (DataType::Timestamp | DataType::Time, OwnedValue::Integer(value)) => text(&value.to_be_bytes()),
        (DataType::Date, OwnedValue::Integer(days)) => u32::try_from(days + DAY_ZERO).map_or(Value::Null, |days| text(&days.to_be_bytes())),
        (DataType::Uuid | DataType::TimeUuid, OwnedValue::Bytes(bytes)) => text(&bytes),
        (DataType::Text | DataType::Ascii, OwnedValue::Bytes(bytes)) => String::from_utf8(bytes).map_or(Value::Null, Value::Text),
        (_, OwnedValue::Bytes(bytes)) => Value::Blob(bytes),
        (_, value) => number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_tables::test_schema::schema;

    const OPERATORS: [Operator; 5] = [Operator::Equal, Operator::Less, Operator::LessEqual, Operator::Greater, Operator::GreaterEqual];

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn identifiers_compare_with_no_part_of_a_text() {
        let id = "00000000-0000-0000-0000-000000000001";
        for (data_type, operator) in [DataType::Uuid, DataType::TimeUuid].iter().flat_map(|kind| OPERATORS.map(|operator| (kind, operator)))
        {
            for (value, is_id) in [("5", false), ("8", false), (id, true)] {
                let expected = match (operator, is_id) {
                    (Operator::Equal, true) => Some((operator, OwnedValue::Bytes(1_u128.to_be_bytes().to_vec()))),
                    (Operator::Equal, false) => Some((operator, OwnedValue::Null)),
                    _ => None,
                };
                // A version 1 has other digits.
                if is_id && *data_type == DataType::TimeUuid {
                    continue;
                }
                assert_eq!(compared(data_type, operator, &text(value)), expected, "{data_type:?} {operator:?} {value}");
            }
        }
    }

    #[test]
    fn all_times_are_less_than_some_texts() {
        let all = Some((Operator::GreaterEqual, OwnedValue::Integer(i64::MIN)));
        for data_type in [DataType::Timestamp, DataType::Date, DataType::Time] {
            assert_eq!(compared(&data_type, Operator::Less, &text("x")), all, "{data_type:?}");
            assert_eq!(compared(&data_type, Operator::Greater, &text("x")), Some((Operator::Greater, OwnedValue::Null)), "{data_type:?}");
        }
    }

    fn wanted(conditions: &[(usize, Operator, Value)]) -> Aggregation {
        let condition =
            |(column, operator, value): &(usize, Operator, Value)| Condition { column: *column, operator: *operator, value: value.clone() };
        Aggregation { groups: Vec::new(), folds: vec![(Function::Sum, 2)], conditions: conditions.iter().map(condition).collect() }
    }

    fn table() -> CqlTable {
        let schema = schema(&["CREATE TABLE ks.t (p int, c text, v int, PRIMARY KEY (p, c))"]);
        CqlTable::new(schema.table("ks", "t").unwrap_or_else(|| unreachable!("it was made")), "ks", true)
    }

    #[test]
    fn one_row_is_read() {
        let table = table();
        let is_one = |conditions: &[(usize, Operator, Value)]| is_one_row(&table, &wanted(conditions).conditions);
        let (p, c) = ((0, Operator::Equal, Value::Integer(5)), (1, Operator::Equal, text("a")));
        assert!(is_one(&[p.clone(), c.clone(), (2, Operator::Less, Value::Integer(9))]));
        assert!(!is_one(std::slice::from_ref(&p)));
        assert!(!is_one(&[p.clone(), (1, Operator::LessEqual, text("a"))]));
        assert!(!is_one(&[c, (0, Operator::Equal, Value::Real(5.0))]), "the node is not told of it");
    }

    #[test]
    fn no_more_is_asked_than_is_read() {
        let condition = (2, Operator::Greater, Value::Integer(0));
        assert!(spec(&table(), &wanted(&vec![condition.clone(); 64])).is_some());
        assert!(spec(&table(), &wanted(&vec![condition; 65])).is_none());
    }
}
