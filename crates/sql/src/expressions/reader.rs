//! Goes through the clauses of a statement; what is between their keywords are expressions.

use super::edits::Edits;
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
}

/// Keywords between which expressions are, and that no expression begins with.
const KEYWORDS: [&str; 25] = [
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "LIMIT",
    "ON",
    "USING",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "NATURAL",
    "DISTINCT",
    "VALUES",
    "BETWEEN",
    "AND",
    "OR",
    "ORDER",
    "SELECT",
    "AS",
    "SET",
    "INNER",
    "CROSS",
    "OUTER",
];
/// Others, which may be names of columns, too.
const SOFT: [&str; 27] = [
    "BY",
    "OFFSET",
    "LEFT",
    "RIGHT",
    "FULL",
    "WINDOW",
    "EXPLAIN",
    "QUERY",
    "PLAN",
    "INDEXED",
    "PARTITION",
    "ROWS",
    "RANGE",
    "GROUPS",
    "PRECEDING",
    "FOLLOWING",
    "UNBOUNDED",
    "CURRENT",
    "ROW",
    "EXCLUDE",
    "TIES",
    "OTHERS",
    "WITH",
    "ASC",
    "DESC",
    "NULLS",
    "NO",
];
/// Keywords that no alias is, and that end an expression.
const OPERATORS: [&str; 24] = [
    "IS",
    "IN",
    "LIKE",
    "GLOB",
    "MATCH",
    "REGEXP",
    "ISNULL",
    "NOTNULL",
    "NOT",
    "ESCAPE",
    "COLLATE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CASE",
    "CAST",
    "EXISTS",
    "FILTER",
    "OVER",
    "WITHIN",
    "RETURNING",
    "MATERIALIZED",
    "RECURSIVE",
];

/// Whether a word is a keyword of clauses wherever it is.
pub(super) fn is_keyword(word: &Word<'_>) -> bool {
    KEYWORDS.iter().any(|keyword| word.is(keyword))
}

fn is_soft_keyword(word: &Word<'_>) -> bool {
    SOFT.iter().any(|keyword| word.is(keyword))
}

impl<'a> Reader<'a> {
    pub(super) fn new(sql: &'a str, words: &'a [Word<'a>], names: Names, dialect: Dialect) -> Self {
        let (edits, compared) = (Edits::default(), Vec::new());
        Self { sql, words, at: 0, names, edits, dialect, checks: false, kinds: None, compared, parameters: 0, depth: 0 }
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
            self.clauses()?;
            // A bracket that closes nothing: SQLite says so.
            self.at += 1;
        }
        Ok(())
    }

    /// Clauses up to a bracket that closes what they are in; gives what the first list of them holds.
    pub(super) fn clauses(&mut self) -> Result<Option<Vec<Option<Kind>>>, SyntaxError> {
        self.deeper(|reader| {
            let mut first = None;
            while let Some(word) = reader.word() {
                if word.is_symbol(')') {
                    break;
                }
                if word.is("SELECT") {
                    let is_outermost = reader.depth == 1;
                    let kinds = reader.select()?;
                    if is_outermost && reader.kinds.is_none() {
                        reader.kinds = Some(kinds.clone());
                    }
                    first = first.or(Some(kinds));
                } else if reader.depth == 1 && reader.kinds.is_none() && (word.is("VALUES") || word.is("EXPLAIN")) {
                    // What the statement gives is no list of a SELECT that comes later.
                    reader.kinds = Some(Vec::new());
                    reader.at += 1;
                } else if word.is("WITH") {
                    reader.common_tables()?;
                } else if word.is("ORDER") && reader.peek(1).is_some_and(|word| word.is("BY")) {
                    reader.at += 2;
                    reader.order_terms()?;
                } else if word.is("AS") {
                    reader.at += 1;
                    reader.at += usize::from(!reader.is_symbol('(') && reader.word().is_some());
                } else if is_keyword(word) || reader.is_soft_here(word) || reader.expression(0)?.is_none() {
                    reader.at += 1;
                }
            }
            Ok(first)
        })
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
            self.clauses()?;
            self.at += 1;
            if !self.takes_symbol(',') {
                return Ok(());
            }
        }
    }

    /// A list after SELECT, and what it holds: nothing if it has `*`.
    fn select(&mut self) -> Result<Vec<Option<Kind>>, SyntaxError> {
        self.at += 1;
        let _ = self.takes("DISTINCT") || self.takes("ALL");
        let (mut kinds, mut has_all) = (Vec::new(), false);
        loop {
            let before = self.edits.count();
            if self.takes_symbol('*') {
                has_all = true;
            } else {
                let Some(item) = self.expression(0)? else { break };
                has_all |= self.words.get(self.at - 1).is_some_and(|word| word.is_symbol('*'));
                self.label(&item, before);
                kinds.push(item.kind);
            }
            if !self.takes_symbol(',') {
                break;
            }
        }
        Ok(if has_all { Vec::new() } else { kinds })
    }

    /// The name of an item of a list. Without one it is called as it was written, also where it was changed.
    fn label(&mut self, item: &Term, before: usize) {
        let has_as = self.takes("AS");
        let is_label = |word: &&Word<'_>| match word.kind {
            WordKind::Plain => has_as || !(is_keyword(word) || is_soft_keyword(word) || OPERATORS.iter().any(|operator| word.is(operator))),
            WordKind::Quoted | WordKind::Text => true,
            WordKind::Number | WordKind::Symbol => false,
        };
        match self.word().filter(is_label) {
            Some(word) => {
                let name = word.name().unwrap_or_else(|| word.text.trim_matches('\'').to_owned());
                self.names.define(&name, item.kind);
                self.at += 1;
            }
            None if self.edits.count() > before => {
                let written = self.sql[item.start..item.end].replace('"', "\"\"");
                self.edits.append(item.end, &format!(" AS \"{written}\""));
            }
            None => {}
        }
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
