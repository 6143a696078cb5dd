//! Goes through the clauses of a statement; what is between their keywords are expressions.

use super::edits::{EDITED_BYTES_MAX, Edits};
use super::keywords::{ends_from, is_keyword, is_operator, is_soft_keyword};
use super::kinds::{Category, Kind};
use super::names::Names;
use crate::syntax::{SyntaxError, Word, WordKind};
use crate::tables::Dialect;

/// How deep expressions and statements are in each other: SQLite takes no more.
const DEPTH_MAX: usize = 500;

/// An expression that was read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Term {
    /// Where it is in the text.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Option<Kind>,
    /// Whether its kind is beyond doubt.
    pub(super) is_certain: bool,
    /// Whether it has a value in every row.
    pub(super) is_never_null: bool,
    /// Whether it is a number that is written there and not zero.
    pub(super) is_nonzero: bool,
    /// The parameter that it is.
    pub(super) parameter: Option<usize>,
}

impl Term {
    pub(super) fn span(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    pub(super) fn of(self, kind: Option<Kind>) -> Self {
        Self { kind, is_certain: kind.is_some(), ..self }
    }

    /// What is known of what is one or the other.
    pub(super) fn or(self, other: Self) -> Self {
        let kind = Kind::either(self.kind, other.kind);
        Self { kind, is_certain: kind.is_some() && self.is_certain && other.is_certain, ..Self::default() }
    }
}

/// Words of a statement, and what was found in them.
pub(super) struct Reader<'a> {
    pub(super) sql: &'a str,
    pub(super) words: &'a [Word<'a>],
    pub(super) at: usize,
    pub(super) names: Names,
    pub(super) edits: Edits,
    pub(super) dialect: Dialect,
    /// Whether what cannot be is refused: all names are known then.
    pub(super) checks: bool,
    /// Of the first list that is in no bracket.
    pub(super) kinds: Option<Vec<Option<Kind>>>,
    pub(super) compared: Vec<(usize, Category)>,
    pub(super) parameters: usize,
    pub(super) depth: usize,
    /// Where the SELECT begins that is read.
    pub(super) select_at: Option<usize>,
    /// Whether a statement in brackets is a table here: it is after FROM.
    is_in_from: bool,
    /// Whether the lists of the statement have labels that anybody may ask for: those of an operand have none.
    has_labels: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(sql: &'a str, words: &'a [Word<'a>], names: Names, dialect: Dialect) -> Self {
        Self {
            sql,
            words,
            at: 0,
            names,
            edits: Edits::default(),
            dialect,
            checks: false,
            kinds: None,
            compared: Vec::new(),
            parameters: 0,
            depth: 0,
            select_at: None,
            is_in_from: false,
            has_labels: true,
        }
    }

    pub(super) fn word(&self) -> Option<&'a Word<'a>> {
        self.words.get(self.at)
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<&'a Word<'a>> {
        self.words.get(self.at + ahead)
    }

    pub(super) fn is_next(&self, keyword: &str) -> bool {
        self.word().is_some_and(|word| word.is(keyword))
    }

    pub(super) fn is_symbol(&self, symbol: char) -> bool {
        self.word().is_some_and(|word| word.is_symbol(symbol))
    }

    pub(super) fn takes(&mut self, keyword: &str) -> bool {
        let is_there = self.is_next(keyword);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn takes_symbol(&mut self, symbol: char) -> bool {
        let is_there = self.is_symbol(symbol);
        self.at += usize::from(is_there);
        is_there
    }

    /// Where the last word that was read ends.
    pub(super) fn end(&self) -> usize {
        self.at.min(self.words.len()).checked_sub(1).and_then(|at| self.words.get(at)).map_or(0, Word::end)
    }

    /// What a comparison gives: SQLite's own truths are integers.
    pub(super) fn truth(&self) -> Option<Kind> {
        Some(if self.dialect == Dialect::GridDb { Kind::BOOL } else { Kind::Number })
    }

    /// A type that the answers of GridDB's SQL have; elsewhere the first value tells it.
    pub(super) fn told(&self, kind: Kind) -> Option<Kind> {
        if self.dialect == Dialect::GridDb || kind.is_time() { Some(kind) } else { None }
    }

    /// One level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, SyntaxError>) -> Result<T, SyntaxError> {
        if self.depth >= DEPTH_MAX {
            return Err(SyntaxError(format!("expressions are at most {DEPTH_MAX} levels deep")));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// The whole text.
    pub(super) fn read_all(&mut self) -> Result<(), SyntaxError> {
        while self.at < self.words.len() {
            self.clauses(true)?;
            // A bracket that closes nothing: SQLite says so.
            self.at += 1;
        }
        self.check_edits()
    }

    /// Refuses a statement that becomes too long.
    pub(super) fn check_edits(&self) -> Result<(), SyntaxError> {
        if self.edits.is_full() { Err(SyntaxError(format!("the statement becomes longer than {EDITED_BYTES_MAX} bytes"))) } else { Ok(()) }
    }

    /// Clauses up to a bracket that closes what they are in; gives what the first list of them holds.
    pub(super) fn clauses(&mut self, has_labels: bool) -> Result<Option<Vec<Term>>, SyntaxError> {
        let outside = (self.select_at, self.is_in_from, self.has_labels);
        self.has_labels = has_labels;
        let read = self.deeper(Self::clauses_here);
        (self.select_at, self.is_in_from, self.has_labels) = outside;
        read
    }

    fn clauses_here(&mut self) -> Result<Option<Vec<Term>>, SyntaxError> {
        let mut first = None;
        while let Some(word) = self.word() {
            if word.is_symbol(')') {
                break;
            }
            if word.is("SELECT") {
                let is_outermost = self.depth == 1;
                (self.select_at, self.is_in_from) = (Some(self.at), false);
                let items = self.select()?;
                if is_outermost && self.kinds.is_none() {
                    self.kinds = Some(items.iter().map(|item| item.kind).collect());
                }
                first = first.or(Some(items));
            } else if self.depth == 1 && self.kinds.is_none() && (word.is("VALUES") || word.is("EXPLAIN")) {
                // What the statement gives is no list of a SELECT that comes later.
                self.kinds = Some(Vec::new());
                self.at += 1;
            } else if word.is("WITH") {
                self.common_tables()?;
            } else if word.is("ORDER") && self.peek(1).is_some_and(|word| word.is("BY")) {
                self.is_in_from = false;
                self.at += 2;
                self.order_terms()?;
            } else if word.is("AS") {
                self.at += 1;
                self.at += usize::from(!self.is_symbol('(') && self.word().is_some());
            } else if is_keyword(word) {
                self.is_in_from = (self.is_in_from || word.is("FROM")) && !ends_from(word);
                self.at += 1;
            } else if self.is_soft_here(word) || self.expression(0)?.is_none() {
                self.at += 1;
            }
        }
        Ok(first)
    }

    /// A statement in brackets, or what else is there: a table, or a value.
    pub(super) fn inner_clauses(&mut self) -> Result<Option<Vec<Term>>, SyntaxError> {
        self.clauses(self.is_in_from)
    }

    /// Whether a word that may be a name is a keyword between clauses: nothing is done with it.
    fn is_soft_here(&self, word: &Word<'_>) -> bool {
        let is_operand =
            |next: &Word<'_>| next.kind == WordKind::Symbol && !['(', ')', ',', '?', ';', ':'].iter().any(|sign| next.is_symbol(*sign));
        is_soft_keyword(word) && !self.peek(1).is_some_and(is_operand)
    }

    /// `WITH name (columns) AS (…), …`: the columns are names of which nothing is known.
    fn common_tables(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        self.takes("RECURSIVE");
        loop {
            self.at += 1;
            if self.takes_symbol('(') {
                while let Some(word) = self.word().filter(|word| !word.is_symbol(')')) {
                    if let Some(name) = word.name() {
                        self.names.define(&name, None);
                    }
                    self.at += 1;
                }
                self.at += 1;
            }
            if !self.takes("AS") {
                return Ok(());
            }
            self.takes("NOT");
            self.takes("MATERIALIZED");
            if !self.takes_symbol('(') {
                return Ok(());
            }
            self.clauses(true)?;
            self.at += 1;
            if !self.takes_symbol(',') {
                return Ok(());
            }
        }
    }

    /// A list after SELECT, and what it holds: nothing if it has `*`.
    fn select(&mut self) -> Result<Vec<Term>, SyntaxError> {
        self.at += 1;
        let _ = self.takes("DISTINCT") || self.takes("ALL");
        let (mut items, mut has_all) = (Vec::new(), false);
        loop {
            let before = self.edits.count();
            if self.takes_symbol('*') {
                has_all = true;
            } else {
                let Some(item) = self.expression(0)? else { break };
                has_all |= self.words.get(self.at - 1).is_some_and(|word| word.is_symbol('*'));
                self.label(&item, before);
                items.push(item);
            }
            if !self.takes_symbol(',') {
                break;
            }
        }
        Ok(if has_all { Vec::new() } else { items })
    }

    /// The name of an item of a list. Without one it is called as it was written, also where it was changed.
    fn label(&mut self, item: &Term, before: usize) {
        let has_as = self.takes("AS");
        let is_label = |word: &&Word<'_>| match word.kind {
            WordKind::Plain => {
                let is_reserved = is_keyword(word) || is_operator(word);
                has_as || !(is_reserved || is_soft_keyword(word) && !self.ends_item(1))
            }
            WordKind::Quoted | WordKind::Text => true,
            WordKind::Number | WordKind::Symbol => false,
        };
        match self.word().filter(is_label) {
            Some(word) => {
                let name = word.name().unwrap_or_else(|| word.text.trim_matches('\'').to_owned());
                self.names.define(&name, item.kind);
                self.at += 1;
            }
            None if self.has_labels && self.edits.count() > before && self.edits.has_room(item.end - item.start) => {
                let written = self.sql[item.start..item.end].replace('"', "\"\"");
                self.edits.append(item.end, &format!(" AS \"{written}\""));
            }
            None => {}
        }
    }

    /// Whether an item of a list ends before a word that comes.
    fn ends_item(&self, ahead: usize) -> bool {
        self.peek(ahead).is_none_or(|next| next.is("FROM") || [',', ')', ';'].iter().any(|sign| next.is_symbol(*sign)))
    }

    /// What follows ORDER BY.
    pub(super) fn order_terms(&mut self) -> Result<(), SyntaxError> {
        while let Some(term) = self.expression(0)? {
            let is_descending = self.takes("DESC");
            let _ = is_descending || self.takes("ASC");
            if self.is_next("NULLS") {
                self.at += 2;
            } else if !term.is_never_null {
                self.edits.append(self.end(), if is_descending { " NULLS FIRST" } else { " NULLS LAST" });
            }
            if !self.takes_symbol(',') {
                break;
            }
        }
        Ok(())
    }
}
