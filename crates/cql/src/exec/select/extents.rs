//! What a SELECT looks through: partitions, or runs of tokens that one shard owns each, in the order of the result.

use super::paging;
use crate::exec::fetch::{Cursor, Extent};
use crate::exec::{Bound, Environment, keys};
use crate::plan::{Select, TokenBound, TokenTerm};
use crate::{CqlError, value};
use base::{SLOT_COUNT, Slot, Token};
use std::collections::VecDeque;

/// What one shard looks through, and where it starts.
pub(super) struct Range {
    pub(super) extent: Extent,
    pub(super) cursor: Cursor,
}

/// The extents of a statement, in the order of the result.
pub(super) fn extents(plan: &Select, environment: &Environment<'_>, cores: u16) -> Result<VecDeque<Range>, CqlError> {
    let lower = plan.token_lower.as_ref().map(|bound| token(plan, bound, environment)).transpose()?;
    let upper = plan.token_upper.as_ref().map(|bound| token(plan, bound, environment)).transpose()?;
    // Nothing lies at the smallest token: as a start it is that of the ring, and as an end the ring's.
    let first = match lower {
        Some((token, false)) if token.0 != i64::MIN => token.0.checked_add(1),
        Some((token, _)) => Some(token.0),
        None => Some(i64::MIN),
    };
    let last = match upper {
        Some((token, false)) if token.0 != i64::MIN => Some(token.0 - 1),
        Some((token, _)) if token.0 != i64::MIN => Some(token.0),
        _ => Some(i64::MAX),
    };
    let (Some(first), Some(last)) = (first, last) else { return Ok(VecDeque::new()) };
    if !plan.partition.is_empty() {
        let keys = keys::partition_keys(&plan.table, &plan.partition, environment)?;
        return Ok(keys
            .into_iter()
            .map(|key| Cursor::start(keys::token(&plan.table, &key), key))
            .filter(|cursor| (first..=last).contains(&cursor.token.0))
            .map(|cursor| Range { extent: Extent::Partition, cursor })
            .collect());
    }
    let mut ranges = VecDeque::new();
    let mut next = (first <= last).then_some(first);
    while let Some(start) = next {
        let end = last_token_of_core(Token(start), cores).min(last);
        ranges.push_back(Range { extent: Extent::Ring { until: Token(end) }, cursor: Cursor::start(Token(start), Vec::new()) });
        next = end.checked_add(1).filter(|next| *next <= last);
    }
    Ok(ranges)
}

/// The last token of the core that owns `token`.
fn last_token_of_core(token: Token, cores: u16) -> i64 {
    let after = (u32::from(token.slot().core(cores).0) + 1) * SLOT_COUNT;
    let after = after.div_ceil(u32::from(cores));
    if after < SLOT_COUNT { Slot(after as u16).first_token().0 - 1 } else { i64::MAX }
}

fn token(plan: &Select, bound: &TokenBound, environment: &Environment<'_>) -> Result<(Token, bool), CqlError> {
    let token = match &bound.token {
        TokenTerm::Value(term) => {
            let bytes = term.evaluate(environment)?.require(|| CqlError::invalid("Invalid null token value"))?;
            let bytes = <[u8; 8]>::try_from(&*bytes).map_err(|_| CqlError::invalid("Invalid token value"))?;
            Token(i64::from_be_bytes(bytes))
        }
        TokenTerm::Of(terms) => {
            let mut parts = Vec::with_capacity(terms.len());
            for (term, column) in terms.iter().zip(plan.table.partition_key()) {
                parts.push(match term.evaluate(environment)? {
                    Bound::Bytes(bytes) => bytes,
                    Bound::Null => return Err(CqlError::Invalid(format!("Invalid null value in condition for column {}", column.name))),
                    Bound::Unset => return Err(CqlError::invalid("Invalid unset value for argument in call to function token")),
                });
            }
            let mut key = Vec::new();
            value::partition_key(parts.iter().map(|part| &**part), &mut key).map_err(|error| CqlError::Invalid(error.to_string()))?;
            keys::token(&plan.table, &key)
        }
    };
    Ok((token, bound.inclusive))
}

/// Drops the extents before `cursor` and makes the first one start there.
pub(super) fn skip_to(extents: &mut VecDeque<Range>, cursor: Cursor) -> Result<Cursor, CqlError> {
    let holds = |range: &Range| match range.extent {
        Extent::Partition => range.cursor.token == cursor.token && range.cursor.partition == cursor.partition,
        Extent::Ring { until } => range.cursor.token <= cursor.token && cursor.token <= until,
    };
    let position = extents.iter().position(holds).ok_or_else(paging::invalid)?;
    extents.drain(..position);
    if let Some(first) = extents.front_mut() {
        first.cursor = cursor.clone();
    }
    Ok(cursor)
}
