//! The WHERE of a scan's statement.

use super::bound::{Bound, bound};
use super::table::CqlTable;
use sql::{Condition, Operator};
use std::fmt::Write;

/// Longer values are in no key, and in no index.
const VALUE_BYTES_MAX: usize = 1_024;
/// Longer ones are in no partition key.
const KEY_BYTES_MAX: usize = 65_535;

/// Conditions of CQL, and the values of their markers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Restriction {
    pub(super) text: String,
    pub(super) values: Vec<Vec<u8>>,
}

impl Restriction {
    fn add(&mut self, name: &str, operator: Operator, value: &[u8]) {
        let operator = match operator {
            Operator::Equal => "=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
        };
        let word = if self.values.is_empty() { "WHERE" } else { "AND" };
        let _ = write!(self.text, " {word} {name} {operator} ?");
        self.values.push(value.to_vec());
    }
}

/// What is told of a column.
struct Told<'a> {
    column: usize,
    operator: Operator,
    value: &'a [u8],
}

/// What the node is told of a scan's conditions; none if no row fulfils them all.
pub(super) fn restriction(table: &CqlTable, conditions: &[Condition]) -> Option<Restriction> {
    let mut bounds = Vec::new();
    for condition in conditions {
        let column = table.columns.get(condition.column).filter(|column| column.is_clear);
        let Some(column) = column else { continue };
        match bound(&column.data_type, condition.operator, &condition.value) {
            Bound::Never => return None,
            Bound::Untold => {}
            Bound::Told(operator, value) => bounds.push((condition.column, operator, value)),
        }
    }
    if !table.has_identity {
        return Some(Restriction::default());
    }
    let told: Vec<Told<'_>> = bounds.iter().map(|(column, operator, value)| Told { column: *column, operator: *operator, value }).collect();
    let equal = |wanted: usize| told.iter().find(|told| told.column == wanted && told.operator == Operator::Equal);
    let partition: Vec<&Told<'_>> = (0..table.partition_key_len).map_while(equal).collect();
    if partition.len() == table.partition_key_len {
        return of_partition(table, &partition, &told);
    }
    let mut restriction = Restriction::default();
    let indexed = table.seen.indexed.iter().find_map(|column| equal(*column)).filter(|told| told.value.len() <= VALUE_BYTES_MAX);
    if let Some(told) = indexed {
        restriction.add(&table.columns[told.column].name, told.operator, told.value);
    }
    Some(restriction)
}

/// Of one partition: its key, clustering columns that are equal to something, and a range of the next one.
fn of_partition(table: &CqlTable, partition: &[&Told<'_>], told: &[Told<'_>]) -> Option<Restriction> {
    // No partition has such a key, and the node would refuse it.
    let is_key = |told: &&Told<'_>| told.value.len() <= KEY_BYTES_MAX && (partition.len() > 1 || !told.value.is_empty());
    if !partition.iter().all(is_key) {
        return None;
    }
    let mut restriction = Restriction::default();
    for told in partition {
        restriction.add(&table.columns[told.column].name, told.operator, told.value);
    }
    for column in table.partition_key_len..table.key_len {
        let name = &table.columns[column].name;
        let of = |operators: [Operator; 2]| {
            let mut of_column = told.iter().filter(|told| told.column == column && told.value.len() <= VALUE_BYTES_MAX);
            of_column.find(|told| operators.contains(&told.operator))
        };
        if let Some(told) = of([Operator::Equal; 2]) {
            restriction.add(name, told.operator, told.value);
            continue;
        }
        let ends = [of([Operator::Greater, Operator::GreaterEqual]), of([Operator::Less, Operator::LessEqual])];
        for told in ends.into_iter().flatten() {
            restriction.add(name, told.operator, told.value);
        }
        break;
    }
    Some(restriction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_tables::test_schema::schema;
    use sql::Value;

    /// A table with a partition key of two columns, three clustering columns, of which the last is a double, and an index.
    fn table() -> CqlTable {
        let schema = schema(&[
            "CREATE TABLE ks.t (p1 int, p2 text, c1 timestamp, c2 int, c3 double, v text, w text, PRIMARY KEY ((p1, p2), c1, c2, c3))",
            "CREATE INDEX by_v ON ks.t (v)",
        ]);
        CqlTable::new(schema.table("ks", "t").unwrap_or_else(|| unreachable!("it was made")), "ks", true)
    }

    fn told(table: &CqlTable, conditions: &[(&str, Operator, Value)]) -> Option<String> {
        let column = |name: &str| table.seen.columns.iter().position(|column| column.name == name).unwrap_or(usize::MAX);
        let conditions: Vec<Condition> = conditions
            .iter()
            .map(|(name, operator, value)| Condition { column: column(name), operator: *operator, value: value.clone() })
            .collect();
        let restriction = restriction(table, &conditions)?;
        assert_eq!(restriction.text.matches('?').count(), restriction.values.len());
        Some(restriction.text)
    }

    #[test]
    fn keys_and_indexes_are_told() {
        use Operator::{Equal, Greater, GreaterEqual, Less};
        let table = table();
        let text = |text: &str| Value::Text(text.to_owned());
        let (p1, p2) = (("p1", Equal, Value::Integer(1)), ("p2", Equal, text("x")));
        let key = " WHERE \"p1\" = ? AND \"p2\" = ?";
        let some = |more: &str| Some(format!("{key}{more}"));
        assert_eq!(told(&table, std::slice::from_ref(&p1)).as_deref(), Some(""), "half a partition key finds nothing");
        assert_eq!(told(&table, &[p2.clone(), p1.clone()]), some(""));
        let range =
            [p1.clone(), p2.clone(), ("c1", GreaterEqual, text("2024")), ("c1", Less, text("2025")), ("c2", Equal, Value::Integer(7))];
        assert_eq!(told(&table, &range), some(" AND \"c1\" >= ? AND \"c1\" < ?"), "nothing is told behind a range");
        let at = ("c1", Equal, text("2024-02-29T00:00:00.000Z"));
        let all = [p1.clone(), p2.clone(), at, ("c2", Greater, Value::Integer(7)), ("c2", Greater, Value::Integer(8))];
        assert_eq!(told(&table, &all), some(" AND \"c1\" = ? AND \"c2\" > ?"), "a range has one end of a kind");
        assert_eq!(told(&table, &[("v", Equal, text("a")), p1.clone(), ("w", Equal, text("b"))]).as_deref(), Some(" WHERE \"v\" = ?"));
        assert_eq!(told(&table, &[("v", Greater, text("a"))]).as_deref(), Some(""));
        assert_eq!(told(&table, &[("v", Equal, text(&"a".repeat(2_000)))]).as_deref(), Some(""));
        assert_eq!(told(&table, &[p1.clone(), ("p2", Equal, text(&"a".repeat(70_000)))]), None);
        assert_eq!(told(&table, &[("c2", Equal, Value::Integer(1 << 40))]), None, "no int is this");
    }
}
