//! The types of a result's columns that functions compute: SQLite tells those of tables' columns alone.

use crate::syntax::{Word, WordKind, words};
use crate::tables::{ColumnType, Table};
use std::sync::Arc;

/// Functions whose result is a time.
const TIMES: [(&str, ColumnType); 6] = [
    ("NOW", ColumnType::Timestamp),
    ("TIMESTAMP", ColumnType::Timestamp),
    ("TIMESTAMP_MS", ColumnType::Timestamp),
    ("TO_TIMESTAMP_MS", ColumnType::Timestamp),
    ("TIMESTAMP_US", ColumnType::MicroTimestamp),
    ("TIMESTAMP_NS", ColumnType::NanoTimestamp),
];
/// Functions whose result is a time of the precision that their second argument has.
const CHANGING: [&str; 3] = ["TIMESTAMP_ADD", "TIMESTAMPADD", "TIMESTAMP_TRUNC"];
/// Functions whose result is a value of their first argument.
const PASSING: [&str; 7] = ["MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "LAG", "LEAD"];
/// What ends the list of a SELECT.
const ENDS: [&str; 9] = ["FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT"];

/// What is known of what is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Computed {
    Of(ColumnType),
    /// A time of an argument whose type is not known: as precise as the statement's times may be.
    Time,
}

impl Computed {
    pub(crate) fn kind(self, is_precise: bool) -> ColumnType {
        match self {
            Self::Of(kind) => kind,
            Self::Time if is_precise => ColumnType::NanoTimestamp,
            Self::Time => ColumnType::Timestamp,
        }
    }

    pub(crate) fn is_time(self) -> bool {
        self.kind(false).is_time()
    }
}

/// The tables of a statement, and the names that it gives them.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) words: &'a [Word<'a>],
    pub(crate) tables: &'a [Arc<Table>],
}

/// Whether a statement puts results together: SQLite tells the types of the first of them.
pub(crate) fn has_union(sql: &str) -> bool {
    words(sql).is_ok_and(|words| words.iter().any(|word| word.is("UNION")))
}

/// What the columns hold that are known by the function that computes them; nothing of a statement that is not a plain SELECT, or selects `*`.
pub(crate) fn computed(sql: &str, tables: &[Arc<Table>]) -> Vec<Option<Computed>> {
    let Ok(words) = words(sql) else { return Vec::new() };
    let named = Named { words: &words, tables };
    let Some((first, mut rest)) = words.split_first() else { return Vec::new() };
    if !first.is("SELECT") {
        return Vec::new();
    }
    if rest.first().is_some_and(|word| word.is("DISTINCT") || word.is("ALL")) {
        rest = &rest[1..];
    }
    let items = items(rest);
    if items.iter().any(|item| item.last().is_some_and(|word| word.is_symbol('*'))) {
        return Vec::new();
    }
    items.into_iter().map(|item| item_type(item, named)).collect()
}

/// The items of a list, which commas separate that are in no bracket.
fn items<'w, 'a>(words: &'w [Word<'a>]) -> Vec<&'w [Word<'a>]> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, word) in words.iter().enumerate() {
        if word.is_symbol('(') {
            depth += 1;
        } else if word.is_symbol(')') {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && word.is_symbol(',') {
            items.push(&words[start..at]);
            start = at + 1;
        } else if depth == 0 && ENDS.iter().any(|end| word.is(end)) {
            items.push(&words[start..at]);
            return items;
        }
    }
    items.push(&words[start..]);
    items
}

/// What an item of a list holds.
pub(crate) fn item_type(item: &[Word<'_>], named: Named<'_>) -> Option<Computed> {
    let [function, bracket, arguments @ ..] = item else { return None };
    if !bracket.is_symbol('(') || function.kind != WordKind::Plain {
        return None;
    }
    let mut depth = 1_usize;
    let end = arguments.iter().position(|word| {
        depth = if word.is_symbol('(') { depth + 1 } else { depth - usize::from(word.is_symbol(')')) };
        depth == 0
    })?;
    let after = &arguments[end + 1..];
    // Nothing is computed from the function's result.
    let is_all = after.first().is_none_or(|word| word.is("AS") || word.is("OVER") || word.is("FILTER") || after.len() == 1);
    if !is_all {
        return None;
    }
    if let Some((_, kind)) = TIMES.iter().find(|(known, _)| function.is(known)) {
        return Some(Computed::Of(*kind));
    }
    if CHANGING.iter().any(|known| function.is(known)) {
        let changed = items(&arguments[..end]).get(1).and_then(|argument| value_type(argument, named));
        return Some(changed.filter(|kind| kind.is_time()).unwrap_or(Computed::Time));
    }
    if !PASSING.iter().any(|known| function.is(known)) {
        return None;
    }
    let argument = items(&arguments[..end]);
    let is_aggregate = argument.len() == 1 || !(function.is("MIN") || function.is("MAX"));
    if is_aggregate { column_type(argument.first()?, named).map(Computed::Of) } else { None }
}

/// Whether a statement makes times more precise than a millisecond.
pub(crate) fn tells_precise_times(sql: &str) -> bool {
    // Columns may be called so, too.
    let is_call = |two: &[Word<'_>]| (two[0].is("TIMESTAMP_US") || two[0].is("TIMESTAMP_NS")) && two[1].is_symbol('(');
    words(sql).is_ok_and(|words| words.windows(2).any(is_call))
}

/// What an argument is, a column or a function.
fn value_type(argument: &[Word<'_>], named: Named<'_>) -> Option<Computed> {
    column_type(argument, named).map(Computed::Of).or_else(|| item_type(argument, named))
}

fn column_type(argument: &[Word<'_>], named: Named<'_>) -> Option<ColumnType> {
    match argument {
        [column] => type_of(&column.name()?, named.tables),
        [qualifier, dot, column] if dot.is_symbol('.') => {
            let (qualifier, column) = (qualifier.name()?, column.name()?);
            let of_qualified = named.table(&qualifier).and_then(|table| type_of(&column, std::slice::from_ref(table)));
            of_qualified.or_else(|| type_of(&column, named.tables))
        }
        _ => None,
    }
}

impl<'a> Named<'a> {
    /// The table that a statement gives a name, or that has it.
    fn table(&self, name: &str) -> Option<&'a Arc<Table>> {
        let is = |word: &Word<'_>, name: &str| word.name().is_some_and(|own| own.eq_ignore_ascii_case(name));
        let gives = |at: usize| match &self.words[at + 1..] {
            [keyword, given, ..] if keyword.is("AS") => is(given, name),
            [given, ..] => is(given, name),
            [] => false,
        };
        let is_source = |at: usize| {
            at.checked_sub(1).is_some_and(|before| {
                let before = &self.words[before];
                before.is("FROM") || before.is("JOIN") || before.is_symbol(',')
            })
        };
        let given = |table: &&Arc<Table>| (0..self.words.len()).any(|at| is_source(at) && is(&self.words[at], &table.name) && gives(at));
        self.tables.iter().find(given).or_else(|| self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name)))
    }
}

/// The type of a column, if all columns of this name have the same.
fn type_of(name: &str, tables: &[Arc<Table>]) -> Option<ColumnType> {
    let columns = tables.iter().flat_map(|table| &table.columns);
    let mut kinds = columns.filter(|column| column.name.eq_ignore_ascii_case(name)).map(|column| column.kind);
    let first = kinds.next()?;
    kinds.all(|kind| kind == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Column;

    #[test]
    fn functions_tell_their_types() {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind, is_not_null: false };
        let table = |name: &str, columns| {
            Arc::new(Table { name: name.to_owned(), columns, schema: None, key_len: 0, indexed: Vec::new(), lookup: None })
        };
        let one = table("t", vec![column("at", ColumnType::Timestamp), column("n", ColumnType::Short), column("x", ColumnType::Long)]);
        let tables = [one, table("other", vec![column("x", ColumnType::Text), column("u", ColumnType::Text)])];
        let sql = "SELECT MAX(at), MIN( t.n ) AS least, x, MAX(x), MAX(at) + 1, LAG(at, 1) OVER (ORDER BY n), NOW() t, MAX(at, n), COUNT(*) FROM t";
        let time = Some(Computed::Of(ColumnType::Timestamp));
        assert_eq!(computed(sql, &tables), [time, Some(Computed::Of(ColumnType::Short)), None, None, None, time, time, None, None]);
        let [long, text] = [ColumnType::Long, ColumnType::Text].map(|kind| Some(Computed::Of(kind)));
        let joined =
            "SELECT MAX(t.x), MAX(o.x), MAX(OTHER.x), MAX(b.x), MAX(c.x), MAX(nobody.x) FROM t AS b JOIN other o ON b.x = o.n, \"other\" c";
        assert_eq!(computed(joined, &tables), [long, text, text, long, text, None]);
        let nested = "SELECT TIMESTAMP_TRUNC('DAY', TIMESTAMP_ADD('DAY', at, 1)), TIMESTAMP_ADD('DAY', CAST(x AS TEXT), 1) FROM t";
        assert_eq!(computed(nested, &tables), [time, Some(Computed::Time)]);
        assert_eq!(computed("SELECT *, MAX(at) FROM t", &tables), []);
        assert_eq!(computed("WITH x AS (SELECT 1) SELECT MAX(at) FROM x", &tables), []);
        assert_eq!(computed("SELECT MAX(at", &tables), [None]);
    }
}
