//! What the names of a statement mean: columns of its tables, and what it calls itself.

use super::kinds::Kind;
use super::sources::{Sources, common_names, sources};
use crate::syntax::{Word, WordKind};
use crate::tables::{ColumnType, Table};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) kind: Option<Kind>,
    /// Whether nothing else is meant.
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
    /// Whether less is known of an alias than before.
    has_changed: bool,
    /// What each SELECT reads, if these are tables alone.
    sources: Sources,
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
        let common = common_names(words);
        names.sources = sources(words, tables, &common);
        names.qualifiers.extend(common.into_iter().map(|name| (name, None)));
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
        if known.is_some() && *known != kind {
            *known = None;
            self.has_changed = true;
        }
    }

    /// All that another text calls something.
    pub(super) fn define_all(&mut self, other: &Self) {
        other.aliases.iter().for_each(|(name, kind)| self.define(name, *kind));
    }

    /// Whether less is known of an alias since this was asked: what was read before may have meant something else.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Knows nothing of what lists give names.
    pub(super) fn forget_aliases(&mut self) {
        self.aliases.values_mut().for_each(|kind| *kind = None);
    }

    /// What a name means in a SELECT, which is told by its place. In one that reads tables alone it is their column; elsewhere it may be what a list calls so.
    pub(super) fn column(&self, select: Option<usize>, qualifier: Option<&str>, name: &str) -> Known {
        let lower = name.to_lowercase();
        if let Some(Some(table)) = qualifier.and_then(|qualifier| self.qualifiers.get(&qualifier.to_lowercase())) {
            let found = table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
            if let Some((at, column)) = found.map(|at| (at, &table.columns[at])) {
                let is_never_null = (column.is_not_null || at < table.key_len) && !self.has_other_nulls;
                return Known { kind: Some(Kind::Of(column.kind)), is_certain: true, is_never_null };
            }
        }
        let own = select.filter(|_| qualifier.is_none()).and_then(|select| self.own_column(select, name));
        let alias = self.aliases.get(&lower);
        match self.columns.get(&lower) {
            Some((kind, is_never_null)) => {
                let kind = kind.map(Kind::Of);
                // What a list calls so may be of another type.
                let shared = kind.filter(|_| alias.is_none_or(|alias| *alias == kind));
                Known {
                    kind: own.unwrap_or(shared),
                    is_certain: own.map_or(alias.is_none() && kind.is_some(), |own| own.is_some()),
                    // ORDER BY takes what the list calls so first.
                    is_never_null: *is_never_null && alias.is_none() && !self.has_other_nulls,
                }
            }
            None => Known { kind: alias.copied().flatten(), ..Known::default() },
        }
    }

    /// The type of a column that a SELECT has of its tables; none inside if they have several.
    fn own_column(&self, select: usize, name: &str) -> Option<Option<Kind>> {
        let columns = self.sources.get(&select)?.iter().flat_map(|table| &table.columns);
        let kinds = columns.filter(|column| column.name.eq_ignore_ascii_case(name)).map(|column| Some(Kind::Of(column.kind)));
        kinds.reduce(|one, other| one.filter(|_| one == other))
    }
}
