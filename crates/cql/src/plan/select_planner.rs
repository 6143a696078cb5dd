//! SELECT against a table: what it reads, which rows it is about, in which order they come.
//!
//! `restrictions` takes WHERE apart into keys, ranges (`clustering`) and filters; `selection` makes outputs of what stands before FROM; `shape` has the
//! rules for ORDER BY, GROUP BY and DISTINCT.

mod beside;
mod clustering;
mod composed;
mod draft;
mod grouping;
mod indexes;
mod literal;
mod reads;
mod restrictions;
mod selection;
mod several_columns;
mod shape;
mod view;

use super::masked;
use super::select::Metadata;
use super::{Expression, Planner, SLOT_FIRST, SLOT_UNREAD, Select, Source};
use crate::CqlError;
use crate::language::ast;
use model::{ColumnKind, DataType, Table};
use reads::Reads;
use selection::Selected;
use std::sync::Arc;

impl Planner<'_> {
    /// Plans a SELECT.
    ///
    /// # Errors
    /// Everything that Cassandra refuses, in its words.
    pub(super) fn select(&mut self, statement: &ast::Select) -> Result<Select, CqlError> {
        let table = self.table(&statement.from)?;
        let mut reads = Reads::new(Arc::clone(&table));
        let selected = self.selection(statement, &mut reads)?;
        let has_only_static = shape::has_only_static(&table, &reads);
        let mut restrictions = self.restrictions(statement, &table, &mut reads)?;
        if has_only_static && restrictions.restricts_clustering && !statement.distinct {
            return Err(CqlError::invalid("Cannot restrict clustering columns when selecting only static columns"));
        }
        indexes::analyse(&table, &reads, &mut restrictions.filters);
        let nearest = indexes::nearest(self, statement, &table, &mut reads)?;
        if statement.distinct {
            shape::check_distinct(&table, &reads, &restrictions)?;
        }
        let group_by = self.group_by(statement, &mut reads, &restrictions)?;
        if nearest.is_some() && (group_by.is_some() || !selected.aggregates.is_empty()) {
            return Err(CqlError::invalid("Top-K queries can not be run with aggregation"));
        }
        let (reversed, sort) = shape::order_by(&table, statement, &mut reads, &restrictions)?;
        let is_aggregate = !selected.aggregates.is_empty() && group_by.is_none();
        let per_partition_limit = self.per_partition_limit(statement, nearest.is_some(), is_aggregate)?;
        let limit = self.limit(statement.limit.as_ref(), "[limit]")?;

        let json = statement.kind == ast::SelectKind::Json;
        let Selected { outputs, aggregates } = selected;
        let plain = !json
            && outputs.len() == reads.sources.len()
            && outputs.iter().enumerate().all(|(index, output)| matches!(output.expression, Expression::Source(source) if source == index));
        let single = plain && restrictions.is_one_row(&table) && group_by.is_none() && nearest.is_none() && !statement.distinct;
        let restricts_partition = restrictions.restricts_partition();
        let static_only_rows = table.has_static() && !restrictions.about_rows;
        let index = if restrictions.partition.is_empty() { indexes::choose(&table, &reads, &restrictions.filters) } else { None };
        Ok(Select {
            slots: slots(&table, &reads),
            clustering_read: reads.clustering_read(&restrictions.filters),
            reads_stamps: reads
                .sources
                .iter()
                .any(|source| !matches!(source, Source::Partition(_) | Source::Clustering(_) | Source::Cell(_))),
            cells: reads.cells,
            sources: reads.sources,
            outputs,
            plain,
            single,
            distinct: statement.distinct,
            json,
            partition: restrictions.partition,
            token_lower: restrictions.token_lower,
            token_upper: restrictions.token_upper,
            clustering: restrictions.clustering,
            filters: restrictions.filters,
            restricts_partition,
            index,
            allow_filtering: statement.allow_filtering,
            static_only_rows,
            reversed,
            group_by,
            aggregates,
            limit,
            per_partition_limit,
            sort,
            nearest,
            masked_restrictions: masked::restricted(&table, statement),
            metadata: Metadata::default(),
            table,
        })
    }

    /// PER PARTITION LIMIT, of a statement that can have one.
    fn per_partition_limit(
        &mut self,
        statement: &ast::Select,
        is_nearest: bool,
        is_aggregate: bool,
    ) -> Result<Option<super::Term>, CqlError> {
        let limit = self.limit(statement.per_partition_limit.as_ref(), "[per_partition_limit]")?;
        if limit.is_some() {
            if is_nearest {
                return Err(CqlError::invalid("Top-K queries do not support per-partition limits"));
            }
            if statement.distinct {
                return Err(CqlError::invalid("PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries"));
            }
            if is_aggregate {
                return Err(CqlError::invalid("PER PARTITION LIMIT is not allowed with aggregate queries."));
            }
        }
        Ok(limit)
    }

    fn limit(&mut self, term: Option<&ast::Term>, name: &str) -> Result<Option<super::Term>, CqlError> {
        term.map(|term| self.term(term, &DataType::Int, name)).transpose()
    }
}

/// What each column id means to the plan.
fn slots(table: &Table, reads: &Reads) -> Vec<u16> {
    let mut slots = vec![super::SLOT_GONE; usize::from(table.next_column.0)];
    let mut set = |position: usize, slot: u16| {
        let id = usize::from(table.columns[position].id.0);
        if id >= slots.len() {
            slots.resize(id + 1, super::SLOT_GONE);
        }
        slots[id] = slot;
    };
    for (position, column) in table.columns.iter().enumerate() {
        if matches!(column.kind, ColumnKind::Static | ColumnKind::Regular) {
            set(position, SLOT_UNREAD);
        }
    }
    for (index, cell) in reads.cells.iter().enumerate() {
        set(cell.position, SLOT_FIRST + index as u16);
    }
    slots
}
