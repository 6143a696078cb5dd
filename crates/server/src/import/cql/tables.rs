//! Which tables of the source are copied, and how each is read.

use super::super::error::ImportError;
use super::plan::{Plan, Times};
use super::schema::{self, Keyspace, Table};
use super::state::STATE;
use crate::feed::{FeedError, Source, text};
use crate::follow::POSITIONS;
use cql::cdc::log_name;
use cql::wire::{Prepare, Request, Response, ResultResponse};
use load::cql::client::ClientError;

/// CQL's codes of a statement that a database does not know.
const SYNTAX: i32 = 0x2000;
const INVALID: i32 = 0x2200;

/// The keyspace as the source has it.
pub(super) fn read(source: &mut Source<'_>, keyspace: &str) -> Result<Keyspace, ImportError> {
    let local = source.all("SELECT partitioner FROM system.local", &[]).map_err(ImportError::Source)?;
    let partitioner = local.first().map(|row| text(row.first())).unwrap_or_default();
    if !partitioner.ends_with("Murmur3Partitioner") {
        return Err(ImportError::Partitioner { partitioner });
    }
    match schema::read(source, keyspace).map_err(ImportError::Source)? {
        Some(found) => Ok(found),
        None => {
            let known = schema::keyspaces(source).map_err(ImportError::Source)?.join(", ");
            Err(ImportError::NoKeyspace { keyspace: keyspace.to_owned(), known })
        }
    }
}

/// Why a table is not copied.
fn unfit(table: &Table) -> Option<&'static str> {
    let has = |flag: &str| table.flags.iter().any(|of_table| of_table == flag);
    if has("counter") {
        return Some("it has counters, whose values cannot be written, and which would count twice what is copied again");
    }
    let is_compact = has("dense") || has("super") || !has("compound");
    is_compact.then_some("it has COMPACT STORAGE: ALTER TABLE … DROP COMPACT STORAGE at the source makes it a table as others are")
}

/// The tables that are asked for, or all that can be copied, and what is left out of the keyspace.
pub(super) fn choose(keyspace: &Keyspace, names: &[String]) -> Result<(Vec<Table>, Vec<String>), ImportError> {
    let of = |table: &Table| (keyspace.name.clone(), table.name.clone());
    let find = |name: &String| {
        keyspace.tables.iter().find(|table| table.name == *name).ok_or_else(|| {
            let known = keyspace.tables.iter().map(|table| &*table.name).collect::<Vec<_>>().join(", ");
            ImportError::NoTable { keyspace: keyspace.name.clone(), table: name.clone(), known }
        })
    };
    let is_log = |table: &Table| keyspace.tables.iter().any(|base| log_name(&base.name) == table.name);
    let (mut chosen, mut left_out) = (Vec::new(), Vec::new());
    if names.is_empty() {
        // Of these tools, and of logs of changes, nobody wants a copy.
        let of_user = keyspace.tables.iter().filter(|table| ![STATE, POSITIONS].contains(&&*table.name) && !is_log(table));
        for table in of_user {
            match unfit(table) {
                None => chosen.push(table.clone()),
                Some(why) => left_out.push(format!("table {}: {why}", table.name)),
            }
        }
        left_out.extend(
            keyspace
                .functions
                .iter()
                .map(|name| format!("function {name}: functions and aggregates are not copied; those of TarnDB are in Lua or WebAssembly")),
        );
    } else {
        for table in names.iter().map(find) {
            let table = table?;
            if let Some(why) = unfit(table) {
                let (keyspace, table) = of(table);
                return Err(ImportError::Unfit { keyspace, table, why });
            }
            if !chosen.iter().any(|other: &Table| other.name == table.name) {
                chosen.push(table.clone());
            }
        }
    }
    let masked = chosen.iter().filter(|table| table.masked > 0);
    left_out.extend(
        masked.map(|table| format!("masks of {} columns of table {}: ALTER TABLE … ALTER … MASKED WITH", table.masked, table.name)),
    );
    Ok((chosen, left_out))
}

/// How a table is read: with the timestamps of elements, if the source tells them.
pub(super) fn plan(source: &mut Source<'_>, keyspace: &Keyspace, table: &Table) -> Result<Plan, ImportError> {
    let plan = Plan::new(&keyspace.name, table, &keyspace.types, Times::OfElements);
    let request = Request::Prepare(Prepare { text: &plan.select, keyspace: None });
    let prepared = source.ask(&request, |response| matches!(response, Response::Result(ResultResponse::Prepared(_))).then_some(()));
    let without = Plan::new(&keyspace.name, table, &keyspace.types, Times::OfCellsOnly);
    match prepared {
        Ok(()) => Ok(plan),
        Err(FeedError::Client(ClientError::Refused { code: SYNTAX | INVALID, .. })) if without.select != plan.select => {
            let Plan { keyspace, table, .. } = &without;
            eprintln!(
                "{keyspace}.{table}: the source tells no timestamps of collections and user types: they get that of the row's newest column"
            );
            Ok(without)
        }
        Err(error) => Err(ImportError::Source(error)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn table(name: &str, flags: &[&str]) -> Table {
        Table {
            name: name.to_owned(),
            id: Vec::new(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            comment: String::new(),
            default_ttl_s: 0,
            gc_grace_s: 0,
            columns: Vec::new(),
            indexes: Vec::new(),
            views: Vec::new(),
            masked: usize::from(name == "m"),
        }
    }

    fn keyspace() -> Keyspace {
        let tables = vec![
            table("a", &["compound"]),
            table("a_scylla_cdc_log", &["compound"]),
            table("b", &["compound", "counter"]),
            table("c", &["dense", "compound"]),
            table("m", &["compound"]),
            table("tarndb_import", &["compound"]),
        ];
        Keyspace { name: "k".to_owned(), replicas: 1, types: Vec::new(), tables, functions: vec!["f".to_owned()] }
    }

    #[test]
    fn a_keyspace_is_copied_without_what_cannot_be() {
        let (chosen, left_out) = choose(&keyspace(), &[]).unwrap();
        assert_eq!(chosen.iter().map(|table| &*table.name).collect::<Vec<_>>(), ["a", "m"]);
        let what: Vec<&str> = left_out.iter().filter_map(|text| text.split(':').next()).collect();
        assert_eq!(what, ["table b", "table c", "function f", "masks of 1 columns of table m"]);
    }

    #[test]
    fn tables_that_are_asked_for_must_be_there_and_fit() {
        let choose = |names: &[&str]| choose(&keyspace(), &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let (chosen, left_out) = choose(&["a", "a"]).unwrap();
        assert_eq!((chosen.len(), left_out.len()), (1, 0));
        assert!(matches!(choose(&["a", "x"]), Err(ImportError::NoTable { table, .. }) if table == "x"));
        assert!(matches!(choose(&["b"]), Err(ImportError::Unfit { why, .. }) if why.contains("counters")));
        assert!(matches!(choose(&["c"]), Err(ImportError::Unfit { why, .. }) if why.contains("COMPACT")));
    }
}
