//! What is known of cells besides their values: when they were written, and how long they live.

use super::element_types;
use crate::CqlError;
use crate::language::ast::{CellAttribute, Selector};
use crate::plan::columns::find_column;
use crate::plan::select_planner::reads::Reads;
use crate::plan::{Expression, Planner, Source, Stamps};
use model::{Column, ColumnKind, DataType, Frozen};
use std::sync::Arc;

impl Planner<'_> {
    /// `WRITETIME(c)` and the like: of a column of several cells a list, of one of its parts one.
    pub(super) fn cell_attribute(
        &mut self,
        attribute: CellAttribute,
        of: &Selector,
        reads: &mut Reads,
    ) -> Result<(Expression, DataType), CqlError> {
        let table = Arc::clone(&reads.table);
        let function = match attribute {
            CellAttribute::WriteTime => "writetime",
            CellAttribute::MaxWriteTime => "maxwritetime",
            CellAttribute::Ttl => "ttl",
        };
        let whole = match of {
            Selector::Element { of, .. } | Selector::Field { of, .. } | Selector::Slice { of, .. } => of,
            whole => whole,
        };
        let Selector::Column(name) = whole else {
            return Err(CqlError::Invalid(format!("Selection function {function} cannot be used on {of}")));
        };
        let (position, column) = find_column(&table, name)?;
        if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
            return Err(CqlError::Invalid(format!("Cannot use selection function {function} on PRIMARY KEY part {}", column.name)));
        }
        let cell = reads.cell(position);
        let stamp_type = if attribute == CellAttribute::Ttl { DataType::Int } else { DataType::BigInt };
        let (of_cell, of_parts) = match attribute {
            CellAttribute::WriteTime | CellAttribute::MaxWriteTime => (Source::WriteTime(cell), Source::WriteTimes(cell)),
            CellAttribute::Ttl => (Source::TimeToLive(cell), Source::TimesToLive(cell)),
        };
        // All parts of a frozen value were written at once, and the latest of a whole column is known without its parts.
        let is_whole = matches!(of, Selector::Column(_));
        if !is_whole {
            // There must be such a part.
            self.selector(of, None, reads, &mut Vec::new())?;
        }
        if !column.data_type.is_multi_cell() || (is_whole && attribute == CellAttribute::MaxWriteTime) {
            return Ok((Expression::Source(reads.source(of_cell)), stamp_type));
        }
        let stamps = Expression::Source(reads.source(of_parts));
        let part = self.stamps_of(of, column, stamps, stamp_type, reads)?;
        part.ok_or_else(|| CqlError::Invalid(format!("Selection function {function} cannot be used on {of}")))
    }

    /// Of a column of several cells: what is made of the stamps of all. `None` if `of` has none.
    fn stamps_of(
        &mut self,
        of: &Selector,
        column: &Column,
        stamps: Expression,
        stamp_type: DataType,
        reads: &mut Reads,
    ) -> Result<Option<(Expression, DataType)>, CqlError> {
        let stamps = Box::new(stamps);
        let by_part = match &column.data_type {
            DataType::Map(key, ..) | DataType::Set(key, _) => DataType::Map(Arc::clone(key), Arc::new(stamp_type.clone()), Frozen::Yes),
            whole => whole.clone(),
        };
        let list = DataType::List(Arc::new(stamp_type.clone()), Frozen::No);
        Ok(Some(match (of, &column.data_type) {
            (Selector::Column(_), DataType::List(..)) => (Expression::Stamps(stamps, Stamps::OfList), list),
            (Selector::Column(_), DataType::Udt(..)) => (Expression::Stamps(stamps, Stamps::OfFields), list),
            (Selector::Column(_), _) => (Expression::Stamps(stamps, Stamps::OfMap), list),
            (Selector::Field { .. }, DataType::Udt(user, _)) => {
                let (expression, _) = self.selector(of, None, reads, &mut Vec::new())?;
                let Expression::Field(_, number) = expression else {
                    return Err(CqlError::Invalid(format!("{} has no such field", user.name)));
                };
                (Expression::Field(stamps, number), stamp_type)
            }
            (Selector::Element { key, .. }, whole) => {
                let (key_type, _) = element_types(of, whole, "element")?;
                let key = self.term(key, &key_type, &format!("key({})", column.name))?;
                let element = Expression::Element(stamps, by_part, key);
                (Expression::Stamps(Box::new(element), Stamps::One), stamp_type)
            }
            (Selector::Slice { from, to, .. }, whole) => {
                let (key_type, _) = element_types(of, whole, "slice")?;
                let name = format!("key({})", column.name);
                let from = from.as_ref().map(|term| self.term(term, &key_type, &name)).transpose()?;
                let to = to.as_ref().map(|term| self.term(term, &key_type, &name)).transpose()?;
                let slice = Expression::Slice(stamps, by_part, from, to);
                (Expression::Stamps(Box::new(slice), Stamps::OfMap), list)
            }
            _ => return Ok(None),
        }))
    }
}
