//! EXECUTE_MULTIPLE_QUERIES: queries of containers of one partition, each in its container's transaction if that has begun.

use super::query::Query;
use crate::failure::Failure;
use crate::transaction::{Change, Overlay, Scope, Transaction};
use crate::wire::{put_i32, put_i64};

/// Appends how many there are, then the size and the answer of each.
pub(super) fn run(queries: &[Query<'_>], scope: &mut Scope<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut transactions: Vec<Transaction<'_>> = Vec::new();
    put_i32(out, queries.len() as i32);
    for query in queries {
        let start = out.len();
        put_i64(out, 0);
        run_one(query, &mut transactions, scope, out)?;
        let length = (out.len() - start - 8) as u64;
        out[start..start + 8].copy_from_slice(&length.to_le_bytes());
    }
    transactions.iter().for_each(|transaction| transaction.stage(scope));
    Ok(())
}

fn run_one<'q>(
    query: &'q Query<'_>,
    transactions: &mut Vec<Transaction<'q>>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let (container, context, store) = (query.head.container, scope.context, scope.store);
    let Some(reference) = &query.head.transaction else { return query.run(context, store, None, out) };
    let known = transactions.iter().position(|transaction| transaction.is_of(container, reference.id));
    let at = match known {
        Some(at) => at,
        None => {
            transactions.push(Transaction::open(container, reference, scope)?);
            transactions.len() - 1
        }
    };
    let transaction = &mut transactions[at];
    let overlay = Overlay::new(container, transaction.number(), store);
    let mut lock = |key: &[u8]| Ok(transaction.lock(key, Change::Locked, scope)? + 1);
    query.run(context, &overlay, if query.head.locks_rows { Some(&mut lock) } else { None }, out)
}
