//! How operations of views travel to other members: they need nothing of the client's request.

use super::build::{Advance, Build};
use super::collect::{Collect, End, Stretch};
use super::description::{ADVANCE, APPLY, BUILD, COLLECT, END};
use super::shape::Shapes;
use super::update::Apply;
use crate::plan::view_plans;
use crate::wire::{Reader, WireError};
use base::Slot;
use model::Schema;
use model::operation::Operation;
use std::sync::Arc;

/// Whether a description is of an operation of views.
#[must_use]
pub fn is_view_part(description: &[u8]) -> bool {
    description.first().is_some_and(|first| (COLLECT..=ADVANCE).contains(first))
}

/// Makes an operation of views again from its description; nothing if it is another's, or damaged, or about tables that are gone.
#[must_use]
pub fn part(schema: &Schema, description: &[u8]) -> Option<Box<dyn Operation>> {
    read(schema, description).ok().flatten()
}

fn read(schema: &Schema, description: &[u8]) -> Result<Option<Box<dyn Operation>>, WireError> {
    let mut reader = Reader::new(description);
    Ok(match reader.byte()? {
        COLLECT => {
            let Some(shapes) = read_shapes(schema, &mut reader)? else { return Ok(None) };
            let stretch = Stretch { slot: Slot(reader.short()?), first: reader.long()?, last: reader.long()? };
            Some(Box::new(Collect { shapes, stretch, above: reader.long()? }))
        }
        APPLY => Some(Box::new(Apply::read(&mut reader)?)),
        END => Some(Box::new(End::read(&mut reader)?)),
        BUILD => {
            let Some(shapes) = read_shapes(schema, &mut reader)? else { return Ok(None) };
            Some(Box::new(Build::read(shapes, &mut reader)?))
        }
        ADVANCE => Some(Box::new(Advance::read(&mut reader)?)),
        _ => None,
    })
}

fn read_shapes(schema: &Schema, reader: &mut Reader<'_>) -> Result<Option<Arc<Shapes>>, WireError> {
    let (keyspace, name) = (reader.string()?, reader.string()?);
    let base = schema.table(keyspace, name);
    Ok(base.map(|base| Arc::new(Shapes::new(base, &view_plans(schema, base)))))
}
