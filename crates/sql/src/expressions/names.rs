//! What the names of a statement mean: columns of its tables, and what it calls itself.

use super::kinds::Kind;
use crate::syntax::{Word, WordKind};
use crate::tables::{ColumnType, Table};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) kind: Option<Kind>,
    /// Whether the statement gives no other thing this name.
    pub(super) is_certain: bool,
    /// Whether it always has a value.
    pub(super) is_never_null: bool,
}

/// Names of a statement.
#[derive(Default)]
pub(super) struct Names {
    /// By their names in lower case; without a type if several have different ones.
    columns: HashMap<String, (Option<ColumnType>, bool)>,
    /// What is before a point: the table, if it is one alone.
    qualifiers: HashMap<String, Option<Arc<Table>>>,
    /// What a list gives a name.
    aliases: HashMap<String, Option<Kind>>,
    /// Whether a column may be null that in its table never is: a join finds nothing, another part of a UNION has others.
    has_other_nulls: bool,
}

impl Names {
    pub(super) fn of(words: &[Word<'_>], tables: &[Arc<Table>], has_views: bool) -> Self {
        // A UNION orders by a column of its first part, and has others in it.
        let gives_nulls = |word: &Word<'_>| ["LEFT", "RIGHT", "FULL", "UNION"].iter().any(|kind| word.is(kind));
        let mut names = Self { has_other_nulls: has_views || words.iter().any(gives_nulls), ..Self::default() };
        for table in tables {
            names.qualify(&table.name, table);
            for (at, column) in table.columns.iter().enumerate() {
                let is_never_null = column.is_not_null || at < table.key_len;
                let known = names.columns.entry(column.name.to_lowercase()).or_insert((Some(column.kind), is_never_null));
                known.0 = known.0.filter(|kind| *kind == column.kind);
                known.1 &= is_never_null;
            }
        }
        names.find_sources(words, tables);
        names
    }

    /// What stands after FROM, JOIN and commas, and what it is called.
    fn find_sources(&mut self, words: &[Word<'_>], tables: &[Arc<Table>]) {
        for at in 1..words.len() {
            let before = &words[at - 1];
            if before.is_symbol(')') {
                // What is in brackets may be called as a table is.
                let next = at + usize::from(words[at].is("AS"));
                if let Some(name) = words.get(next).and_then(Word::name) {
                    self.qualifiers.insert(name.to_lowercase(), None);
                }
            }
            if !(before.is("FROM") || before.is("JOIN") || before.is_symbol(',')) {
                continue;
            }
            let mut next = at;
            let Some(mut name) = words[at].name() else { continue };
            if words.get(at + 1).is_some_and(|word| word.is_symbol('.')) {
                let Some(last) = words.get(at + 2).and_then(Word::name) else { continue };
                (name, next) = (last, at + 2);
            }
            let Some(table) = tables.iter().find(|table| table.name.eq_ignore_ascii_case(&name)) else { continue };
            next += 1;
            next += usize::from(words.get(next).is_some_and(|word| word.is("AS")));
            if let Some(alias) = words.get(next).filter(|word| matches!(word.kind, WordKind::Plain | WordKind::Quoted)).and_then(Word::name)
            {
                self.qualify(&alias, table);
            }
        }
    }

    fn qualify(&mut self, name: &str, table: &Arc<Table>) {
        let known = self.qualifiers.entry(name.to_lowercase()).or_insert_with(|| Some(Arc::clone(table)));
        *known = known.take().filter(|known| Arc::ptr_eq(known, table));
    }

    /// A list calls something so.
    pub(super) fn define(&mut self, name: &str, kind: Option<Kind>) {
        let known = self.aliases.entry(name.to_lowercase()).or_insert(kind);
        *known = known.filter(|known| Some(*known) == kind);
    }

    /// All that another text calls something.
    pub(super) fn define_all(&mut self, other: &Self) {
        other.aliases.iter().for_each(|(name, kind)| self.define(name, *kind));
    }

    /// What a name means. A column comes before what a list calls so.
    pub(super) fn column(&self, qualifier: Option<&str>, name: &str) -> Known {
        let lower = name.to_lowercase();
        if let Some(Some(table)) = qualifier.and_then(|qualifier| self.qualifiers.get(&qualifier.to_lowercase())) {
            let found = table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
            if let Some((at, column)) = found.map(|at| (at, &table.columns[at])) {
                let is_never_null = (column.is_not_null || at < table.key_len) && !self.has_other_nulls;
                return Known { kind: Some(Kind::Of(column.kind)), is_certain: true, is_never_null };
            }
        }
        let alias = self.aliases.get(&lower);
        match self.columns.get(&lower) {
            Some((kind, is_never_null)) => Known {
                kind: kind.map(Kind::Of),
                is_certain: alias.is_none() && kind.is_some(),
                is_never_null: *is_never_null && alias.is_none() && !self.has_other_nulls,
            },
            None => Known { kind: alias.copied().flatten(), ..Known::default() },
        }
    }
}
