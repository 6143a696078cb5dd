//! Calls of functions.

use super::kinds::Kind;
use super::primaries::text_form;
use super::reader::{Reader, Term};
use crate::syntax::{SyntaxError, Word, WordKind};
use crate::tables::{ColumnType, Dialect};

/// Functions, and what they give.
const GIVING: [(&str, Kind); 44] = [
    ("NOW", Kind::Of(ColumnType::Timestamp)),
    ("TIMESTAMP", Kind::Of(ColumnType::Timestamp)),
    ("TIMESTAMP_MS", Kind::Of(ColumnType::Timestamp)),
    ("TO_TIMESTAMP_MS", Kind::Of(ColumnType::Timestamp)),
    ("MAKE_TIMESTAMP", Kind::Of(ColumnType::Timestamp)),
    ("MAKE_TIMESTAMP_BY_DATE", Kind::Of(ColumnType::Timestamp)),
    ("TIMESTAMP_US", Kind::Of(ColumnType::MicroTimestamp)),
    ("TIMESTAMP_NS", Kind::Of(ColumnType::NanoTimestamp)),
    ("COUNT", Kind::LONG),
    ("ROW_NUMBER", Kind::LONG),
    ("TO_EPOCH_MS", Kind::LONG),
    ("TIMESTAMP_DIFF", Kind::LONG),
    ("TIMESTAMPDIFF", Kind::LONG),
    ("EXTRACT", Kind::LONG),
    ("LENGTH", Kind::LONG),
    ("CHAR_LENGTH", Kind::LONG),
    ("INSTR", Kind::LONG),
    ("UNICODE", Kind::LONG),
    ("HEX_TO_DEC", Kind::LONG),
    ("RANDOM", Kind::LONG),
    ("SUM", Kind::Number),
    ("TOTAL", Kind::DOUBLE),
    ("AVG", Kind::Number),
    ("ABS", Kind::Number),
    ("ROUND", Kind::Number),
    ("TRUNC", Kind::Number),
    ("SQRT", Kind::Number),
    ("LOG", Kind::Number),
    ("POWER", Kind::Number),
    ("FLOOR", Kind::Number),
    ("CEIL", Kind::Number),
    ("MEDIAN", Kind::Number),
    ("GROUP_CONCAT", Kind::TEXT),
    ("UPPER", Kind::TEXT),
    ("LOWER", Kind::TEXT),
    ("SUBSTR", Kind::TEXT),
    ("REPLACE", Kind::TEXT),
    ("TRIM", Kind::TEXT),
    ("LTRIM", Kind::TEXT),
    ("RTRIM", Kind::TEXT),
    ("TRANSLATE", Kind::TEXT),
    ("TYPEOF", Kind::TEXT),
    ("STRFTIME", Kind::TEXT),
    ("HEX", Kind::TEXT),
];
/// Functions whose result is a time of the precision that their second argument has.
const CHANGING: [&str; 3] = ["TIMESTAMP_ADD", "TIMESTAMPADD", "TIMESTAMP_TRUNC"];
/// Functions whose result is a value of their first argument.
const PASSING: [&str; 6] = ["FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "LAG", "LEAD", "NULLIF"];
/// Functions whose result is one of their arguments.
const CHOOSING: [&str; 4] = ["COALESCE", "IFNULL", "MIN", "MAX"];
/// Functions of texts: times and truths are their texts there.
const OF_TEXTS: [&str; 14] = [
    "LENGTH",
    "CHAR_LENGTH",
    "UPPER",
    "LOWER",
    "SUBSTR",
    "SUBSTRING",
    "REPLACE",
    "TRIM",
    "LTRIM",
    "RTRIM",
    "INSTR",
    "TRANSLATE",
    "CONCAT",
    "GROUP_CONCAT",
];

/// What a call has in its brackets.
struct Arguments {
    terms: Vec<Term>,
    /// Where DISTINCT is, among the words.
    distinct: Option<usize>,
}

/// Whether the arguments that a call's result is of are beyond doubt. What is of its function's own type is, too.
fn is_certain(name: &Word<'_>, terms: &[Term]) -> bool {
    let is_any = |names: &[&str]| names.iter().any(|known| name.is(known));
    let of = match () {
        () if is_any(&PASSING) => terms.get(..1),
        () if is_any(&CHOOSING) => Some(terms),
        () if name.is("IIF") || name.is("IF") => terms.get(1..),
        () => None,
    };
    of.is_none_or(|of| of.iter().all(|term| term.is_certain))
}

impl Reader<'_> {
    /// A function's call, with what follows its brackets.
    pub(super) fn call(&mut self, start: usize) -> Result<Term, SyntaxError> {
        let name = &self.words[self.at];
        self.at += 2;
        let arguments = self.arguments()?;
        self.takes_symbol(')');
        let close = self.end();
        if self.is_next("WITHIN")
            && self.peek(1).is_some_and(|word| word.is("GROUP"))
            && self.peek(2).is_some_and(|word| word.is_symbol('('))
        {
            self.within_group(name, close)?;
        }
        if self.is_next("FILTER") && self.peek(1).is_some_and(|word| word.is_symbol('(')) {
            self.at += 2;
            self.clauses(false)?;
            self.takes_symbol(')');
        }
        if self.takes("OVER") {
            if self.takes_symbol('(') {
                self.clauses(false)?;
                self.takes_symbol(')');
            } else {
                self.at += 1;
            }
        }
        let kind = if name.kind == WordKind::Plain { self.change_call(name, &arguments) } else { None };
        let is_certain = kind.is_some() && (name.kind != WordKind::Plain || is_certain(name, &arguments.terms));
        Ok(Term { start, end: self.end(), kind, is_certain, ..Term::default() })
    }

    fn arguments(&mut self) -> Result<Arguments, SyntaxError> {
        let distinct = self.is_next("DISTINCT").then_some(self.at);
        let _ = self.takes("DISTINCT") || self.takes("ALL");
        let mut terms = Vec::new();
        if self.begins_statement() {
            self.clauses(false)?;
        }
        while !self.is_symbol(')') && self.word().is_some() {
            if !self.takes_symbol('*') {
                match self.expression(0)? {
                    Some(term) => terms.push(term),
                    // ORDER BY within an aggregation; or what SQLite is to refuse.
                    None => {
                        self.clauses(false)?;
                        break;
                    }
                }
            }
            if !self.takes_symbol(',') {
                self.clauses(false)?;
                break;
            }
        }
        Ok(Arguments { terms, distinct })
    }

    /// `WITHIN GROUP (ORDER BY x)`, whose x becomes the last argument.
    fn within_group(&mut self, name: &Word<'_>, close: usize) -> Result<(), SyntaxError> {
        if !name.is("PERCENTILE_CONT") {
            return Err(SyntaxError(format!("WITHIN GROUP is for PERCENTILE_CONT, and not for {}", name.text)));
        }
        self.at += 3;
        let expected = || SyntaxError("after WITHIN GROUP comes (ORDER BY …), with one expression".to_owned());
        if !(self.takes("ORDER") && self.takes("BY")) {
            return Err(expected());
        }
        let from = self.word().ok_or_else(expected)?.start;
        self.expression(0)?.ok_or_else(expected)?;
        let (end, is_descending) = (self.end(), self.is_next("DESC"));
        let _ = self.takes("DESC") || self.takes("ASC");
        let before_close = self.end();
        if !self.takes_symbol(')') {
            return Err(expected());
        }
        self.edits.replace((close - 1, from), ", ");
        if is_descending {
            self.edits.replace((end, before_close), ", 1");
        } else if before_close > end {
            self.edits.replace((end, before_close), "");
        }
        Ok(())
    }

    /// What a call gives; some are written anew.
    fn change_call(&mut self, name: &Word<'_>, arguments: &Arguments) -> Option<Kind> {
        let terms = &arguments.terms;
        let is_any = |names: &[&str]| names.iter().any(|known| name.is(known));
        if is_any(&OF_TEXTS) {
            terms.iter().for_each(|term| self.as_text(term));
        }
        if let Some(distinct) = arguments.distinct.filter(|_| name.is("GROUP_CONCAT") && terms.len() == 2) {
            // SQLite's takes no separator with DISTINCT.
            self.edits.replace((name.start, name.end()), "distinct_concat");
            let word = &self.words[distinct];
            self.edits.replace((word.start, word.end()), "");
        }
        if name.is("STRFTIME")
            && let Some(kind) = terms.get(1).and_then(|term| term.kind).filter(|kind| kind.is_time() && *kind != Kind::Time)
        {
            self.edits.replace((name.start, name.end()), &format!("strftime_{}", kind.digits()));
        }
        if name.is("TYPEOF") && self.dialect == Dialect::GridDb {
            let of = terms.first().and_then(|term| term.kind).map_or("", Kind::type_name);
            self.edits.replace((name.start, name.end()), "type_name");
            if let Some(term) = terms.first() {
                self.edits.append(term.end, &format!(", '{of}'"));
            }
        }
        if name.is("ROUND") && self.dialect == Dialect::GridDb && terms.first().is_some_and(|term| term.kind.is_some_and(Kind::is_whole)) {
            // SQLite's makes a real number of a whole one, which has no digits behind a point.
            self.edits.replace((name.start, name.end()), "trunc");
            return Some(Kind::LONG);
        }
        if let [first, ..] = &terms[..]
            && (name.is("ROUND") || name.is("TRUNC") || name.is("ABS") || name.is("MEDIAN"))
            && first.kind.is_some_and(Kind::is_whole)
        {
            return self.told(Kind::LONG);
        }
        if let Some((_, kind)) = GIVING.iter().find(|(known, _)| name.is(known)) {
            return self.told(*kind);
        }
        if is_any(&CHANGING) {
            let changed = terms.get(1).and_then(|term| term.kind);
            return Some(changed.filter(|kind| kind.is_time()).unwrap_or(Kind::Time));
        }
        if is_any(&PASSING) {
            return terms.first()?.kind;
        }
        if is_any(&CHOOSING) {
            let chosen = terms.iter().map(|term| term.kind).reduce(Kind::either)?;
            return if terms.len() == 1 { chosen } else { chosen.and_then(|kind| self.told(kind)) };
        }
        if name.is("IIF") || name.is("IF") {
            return terms.iter().skip(1).map(|term| term.kind).reduce(Kind::either)?.and_then(|kind| self.told(kind));
        }
        None
    }

    /// Makes a text of a time or a truth.
    pub(super) fn as_text(&mut self, term: &Term) {
        let form = term.kind.map_or(0, text_form);
        if form > 0 && self.dialect == Dialect::GridDb {
            self.edits.wrap(term.span(), "cast_string(", &format!(", {form})"));
        }
    }
}
