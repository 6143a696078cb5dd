//! How the containers of a statement were read, for EXPLAIN ANALYZE: noted with each answer of the node, added up for reads that were alike.

use crate::container::Container;
use crate::node::lock;
use crate::query_text::{Values, query_text};
use griddb::client::{Access, Figures};
use sql::{Condition, Order};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What was read of a statement's containers, in the order in which it began.
#[derive(Default)]
pub(crate) struct Analysis(Mutex<Vec<Read>>);

/// Reads of a container that were alike: conditions of the same columns, by the same way, giving rows or what was made of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) table: String,
    /// The conditions that it was told, as TQL has them; without their values if these were not always the same.
    pub(crate) conditions: String,
    is_shown: bool,
    shape: Arc<str>,
    pub(crate) is_aggregated: bool,
    /// None if the member has not told.
    pub(crate) access: Option<String>,
    /// How often it, or a data partition of it, was read.
    pub(crate) times: u64,
    /// How many rows the node has looked at.
    pub(crate) rows_read: u64,
    /// How many it has given.
    pub(crate) rows_given: u64,
    /// How long it was waited for.
    pub(crate) time: Duration,
}

/// One scan of a container, whose answers are noted.
#[derive(Clone)]
pub(crate) struct Reading {
    analysis: Arc<Analysis>,
    table: Arc<str>,
    conditions: Arc<str>,
    shape: Arc<str>,
    is_aggregated: bool,
}

impl Analysis {
    /// Begins to note a scan that is told these conditions.
    pub(crate) fn reading(
        self: &Arc<Self>,
        container: &Container,
        (conditions, order): (&[Condition], Order),
        is_aggregated: bool,
    ) -> Reading {
        let text = |values| query_text(container, conditions, order, values).trim_start_matches("SELECT *").trim_start().into();
        let table = container.table.name.as_str().into();
        Reading { analysis: Arc::clone(self), table, conditions: text(Values::Told), shape: text(Values::Hidden), is_aggregated }
    }

    /// All of it.
    pub(crate) fn reads(&self) -> Vec<Read> {
        lock(&self.0).clone()
    }
}

impl Reading {
    /// Notes an answer with so many rows, the first one of a place or a later one.
    pub(crate) fn note(&self, is_first: bool, figures: Option<Figures<'_>>, rows_given: u64, time: Duration) {
        let access = figures.map(|figures| match figures.access {
            Access::Scan => "SCAN".to_owned(),
            Access::Keys => "ROW KEY".to_owned(),
            Access::Index => format!("INDEX {}", figures.index),
        });
        let mut reads = lock(&self.analysis.0);
        let is_alike = |read: &Read| {
            (read.is_aggregated, &read.access, &*read.shape, &*read.table) == (self.is_aggregated, &access, &*self.shape, &*self.table)
        };
        let at = reads.iter().position(is_alike).unwrap_or_else(|| {
            reads.push(self.first(access.clone()));
            reads.len() - 1
        });
        let read = &mut reads[at];
        if read.is_shown && *read.conditions != *self.conditions {
            (read.conditions, read.is_shown) = (self.shape.to_string(), false);
        }
        read.times += u64::from(is_first);
        read.rows_read += figures.map_or(0, |figures| figures.rows);
        read.rows_given += rows_given;
        read.time += time;
    }

    fn first(&self, access: Option<String>) -> Read {
        Read {
            table: self.table.to_string(),
            conditions: self.conditions.to_string(),
            is_shown: true,
            shape: Arc::clone(&self.shape),
            is_aggregated: self.is_aggregated,
            access,
            times: 0,
            rows_read: 0,
            rows_given: 0,
            time: Duration::ZERO,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use griddb::client::{ContainerId, Description};
    use griddb::schema::{ColumnDefinition, Kind};
    use griddb::{ContainerName, ElementType};
    use sql::{Operator, Value};

    const MS: Duration = Duration::from_millis(1);

    fn container() -> Container {
        let column =
            |name: &str| ColumnDefinition { name: name.to_owned(), element: ElementType::Long, is_array: false, is_not_null: false };
        let (id, name) = (ContainerId { id: 7, version: 0 }, ContainerName::parse("t"));
        let columns = vec![column("a"), column("b")];
        Container::described(Description { id, name, kind: Kind::Collection, columns, key_len: 1, indexes: Vec::new(), partitioning: None })
    }

    #[test]
    fn reads_that_are_alike_are_added_up() {
        let (analysis, container) = (Arc::new(Analysis::default()), container());
        let condition = |column: usize, value: i64| [Condition { column, operator: Operator::Equal, value: Value::Integer(value) }];
        let keys = |rows| Some(Figures { access: Access::Keys, index: "", rows });
        for (column, value) in [(0, 5), (0, 6), (1, 7), (1, 7)] {
            let reading = analysis.reading(&container, (&condition(column, value), Order::Key), false);
            reading.note(true, keys(3), 2, MS);
            reading.note(false, keys(1), 1, MS);
        }
        let reading = analysis.reading(&container, (&condition(1, 7), Order::Key), false);
        reading.note(true, Some(Figures { access: Access::Index, index: "by_b", rows: 2 }), 2, MS);
        analysis.reading(&container, (&[], Order::KeyDescending), true).note(true, None, 1, MS);
        let told =
            |read: Read| (read.conditions, read.access, read.is_aggregated, [read.times, read.rows_read, read.rows_given], read.time);
        let access = |access: &str| Some(access.to_owned());
        let expected = [
            ("WHERE \"a\" = ?".to_owned(), access("ROW KEY"), false, [2, 8, 6], 4 * MS),
            ("WHERE \"b\" = 7".to_owned(), access("ROW KEY"), false, [2, 8, 6], 4 * MS),
            ("WHERE \"b\" = 7".to_owned(), access("INDEX by_b"), false, [1, 2, 2], MS),
            ("ORDER BY \"a\" DESC".to_owned(), None, true, [1, 0, 1], MS),
        ];
        assert_eq!(analysis.reads().into_iter().map(told).collect::<Vec<_>>(), expected);
    }
}
