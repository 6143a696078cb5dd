//! Expressions without operators: literals, names, brackets, CASE, CAST.

use super::keywords::is_keyword;
use super::kinds::Kind;
use super::reader::{Reader, Term};
use crate::syntax::{SyntaxError, Word, WordKind, type_of_name};
use crate::tables::{ColumnType, Dialect};

/// SQLite numbers no more parameters.
const PARAMETERS_MAX: usize = 32_766;

impl Reader<'_> {
    /// One; none if there is none.
    pub(super) fn primary(&mut self) -> Result<Option<Term>, SyntaxError> {
        let Some(word) = self.word() else { return Ok(None) };
        let start = word.start;
        let literal = |reader: &mut Self, words: usize, kind| {
            reader.at += words;
            Ok(Some(Term { start, end: reader.end(), ..Term::default() }.of(reader.told(kind))))
        };
        match word.kind {
            WordKind::Text => return literal(self, 1, Kind::TEXT),
            WordKind::Number => {
                let number = number(word);
                let number = number.of(number.kind.and_then(|kind| self.told(kind)));
                self.at += 1;
                return Ok(Some(Term { start, end: word.end(), ..number }));
            }
            WordKind::Symbol => return self.symbol(word),
            WordKind::Plain | WordKind::Quoted => {}
        }
        let is_bytes = |next: &Word<'_>| next.kind == WordKind::Text && next.start == word.end();
        let is_call = self.peek(1).is_some_and(|next| next.is_symbol('('));
        match word {
            word if word.is("NULL") => literal(self, 1, Kind::Null),
            word if word.is("TRUE") || word.is("FALSE") => literal(self, 1, self.truth().unwrap_or(Kind::Null)),
            word if word.is("X") && self.peek(1).is_some_and(is_bytes) => literal(self, 2, Kind::Of(ColumnType::Blob)),
            word if word.is("CASE") => self.case(start).map(Some),
            word if word.is("CAST") && is_call => self.cast(start).map(Some),
            word if is_keyword(word) && !self.peek(1).is_some_and(|next| next.is_symbol('.')) => Ok(None),
            _ if is_call => self.call(start).map(Some),
            _ => Ok(Some(self.column(start))),
        }
    }

    /// What begins with a sign: a bracket, a parameter, a number without a digit before its point.
    fn symbol(&mut self, word: &Word<'_>) -> Result<Option<Term>, SyntaxError> {
        let start = word.start;
        if word.is_symbol('(') {
            return self.bracket(start).map(Some);
        }
        let next = self.peek(1).filter(|next| next.start == word.end());
        if word.is_symbol('.')
            && let Some(digits) = next.filter(|next| next.kind == WordKind::Number)
        {
            self.at += 2;
            let is_nonzero = is_nonzero(&format!(".{}", digits.text));
            return Ok(Some(Term { start, end: self.end(), is_nonzero, ..Term::default() }.of(self.told(Kind::DOUBLE))));
        }
        if word.is_symbol('?') {
            self.at += 1;
            let written = next.filter(|next| next.kind == WordKind::Number);
            self.at += usize::from(written.is_some());
            let number = written.map_or(Some(self.parameters.saturating_add(1)), |written| written.text.parse().ok());
            let parameter = number.filter(|number| (1..=PARAMETERS_MAX).contains(number));
            self.parameters = self.parameters.max(parameter.unwrap_or(0));
            return Ok(Some(Term { start, end: self.end(), parameter, ..Term::default() }));
        }
        if word.is_symbol(':') && next.is_some() {
            self.at += 2;
            return Ok(Some(Term { start, end: self.end(), ..Term::default() }));
        }
        Ok(None)
    }

    /// What is in brackets: an expression, several, a statement, tables.
    fn bracket(&mut self, start: usize) -> Result<Term, SyntaxError> {
        self.at += 1;
        let mut inner = Term::default();
        if self.begins_statement() {
            if let Some([item]) = self.inner_clauses()?.as_deref() {
                inner = Term { kind: item.kind, is_certain: item.is_certain, ..inner };
            }
        } else {
            inner = self.expression(0)?.unwrap_or_default();
            if !self.is_symbol(')') {
                inner = Term::default();
                self.inner_clauses()?;
            }
        }
        self.takes_symbol(')');
        Ok(Term { start, end: self.end(), is_never_null: false, ..inner })
    }

    /// A column, with what is before it.
    fn column(&mut self, start: usize) -> Term {
        let mut names: Vec<String> = Vec::new();
        loop {
            names.extend(self.word().and_then(Word::name));
            self.at += 1;
            if !self.is_symbol('.') || self.peek(1).is_none_or(|next| next.name().is_none() && !next.is_symbol('*')) {
                break;
            }
            self.at += 1;
            if self.takes_symbol('*') {
                return Term { start, end: self.end(), ..Term::default() };
            }
        }
        let end = self.end();
        let Some((name, qualifiers)) = names.split_last() else { return Term { start, end, ..Term::default() } };
        let known = self.names.column(self.select_at, qualifiers.last().map(String::as_str), name);
        let (kind, is_certain, is_never_null) = (known.kind, known.is_certain, known.is_never_null);
        Term { start, end, kind, is_certain, is_never_null, ..Term::default() }
    }

    /// `CASE [x] WHEN … THEN … [ELSE …] END`.
    fn case(&mut self, start: usize) -> Result<Term, SyntaxError> {
        self.at += 1;
        let subject = if self.is_next("WHEN") { None } else { self.expression(0)? };
        let mut result = Term::default().of(Some(Kind::Null));
        while self.takes("WHEN") {
            let when = self.expression(0)?;
            if let (Some(subject), Some(when)) = (&subject, &when) {
                self.compare(subject, when)?;
            }
            self.takes("THEN");
            result = result.or(self.expression(0)?.unwrap_or_default());
        }
        if self.takes("ELSE") {
            result = result.or(self.expression(0)?.unwrap_or_default());
        }
        self.takes("END");
        let kind = result.kind.and_then(|kind| self.told(kind));
        Ok(Term { start, end: self.end(), kind, is_certain: result.is_certain && kind.is_some(), ..Term::default() })
    }

    /// `CAST(x AS TYPE)`, which becomes the call of a function.
    fn cast(&mut self, start: usize) -> Result<Term, SyntaxError> {
        let open = self.words[self.at + 1].end();
        self.at += 2;
        let value = self.expression(0)?.unwrap_or_default();
        let as_start = self.word().map_or(self.sql.len(), |word| word.start);
        let whole = |reader: &Self, kind| Term { start, end: reader.end(), ..Term::default() }.of(kind);
        if !self.takes("AS") {
            return Ok(whole(self, None));
        }
        let type_start = self.at;
        let mut depth = 0_usize;
        while let Some(word) = self.word().filter(|word| depth > 0 || !word.is_symbol(')')) {
            depth = if word.is_symbol('(') { depth + 1 } else { depth - usize::from(word.is_symbol(')')) };
            self.at += 1;
        }
        let (written, close) = (&self.words[type_start..self.at], self.end());
        if !self.takes_symbol(')') || self.dialect == Dialect::Plain {
            return Ok(whole(self, None));
        }
        let to = cast_type(written)?;
        if self.checks {
            check_cast(value, to)?;
        }
        let (function, last) = function_of_cast(value.kind.unwrap_or(Kind::Null), to);
        self.edits.replace((start, open), &format!("{function}("));
        self.edits.replace((as_start, close), &last);
        Ok(whole(self, Some(Kind::Of(to))))
    }
}

fn number(word: &Word<'_>) -> Term {
    let is_hex = word.text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    let is_real = !is_hex && word.text.contains(['.', 'e', 'E']);
    let is_nonzero = if is_hex { word.text[2..].bytes().any(|digit| digit != b'0') } else { is_nonzero(word.text) };
    let kind = match is_real {
        true => Kind::DOUBLE,
        // One that is too large is no integer.
        false if is_hex || word.text.parse::<i64>().is_ok() => Kind::LONG,
        false => Kind::Number,
    };
    Term { is_nonzero, ..Term::default() }.of(Some(kind))
}

/// Whether a number is not zero, which one with a large negative exponent is.
fn is_nonzero(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|number| number != 0.0)
}

/// The type that is written after AS.
fn cast_type(written: &[Word<'_>]) -> Result<ColumnType, SyntaxError> {
    let name = written.first().and_then(Word::name).unwrap_or_default();
    let size = match written {
        [_, _, size, _] => size.text.parse().ok(),
        _ => None,
    };
    type_of_name(&name, size)
}

/// Refuses what GridDB does not convert.
fn check_cast(value: Term, to: ColumnType) -> Result<(), SyntaxError> {
    let Some(from) = value.kind.filter(|_| value.is_certain) else { return Ok(()) };
    let is_bytes = from == Kind::Of(ColumnType::Blob);
    let number = Kind::Of(to).is_number();
    let (what, remedy) = match to {
        _ if from.is_time() && (number || to == ColumnType::Bool || to == ColumnType::Blob) => {
            ("a TIMESTAMP", "TO_EPOCH_MS gives its milliseconds")
        }
        _ if to.is_time() && (from.is_number() || from == Kind::BOOL) => ("a number", "TO_TIMESTAMP_MS makes a time of milliseconds"),
        _ if is_bytes && !matches!(to, ColumnType::Text | ColumnType::Blob) => ("a BLOB", "HEX gives its digits"),
        _ => return Ok(()),
    };
    Err(SyntaxError(format!("{what} is not cast to {}: {remedy}", to.griddb_name())))
}

/// The function that casts, and what it is told besides the value.
fn function_of_cast(from: Kind, to: ColumnType) -> (&'static str, String) {
    match to {
        ColumnType::Text => ("cast_string", format!(", {}", text_form(from))),
        ColumnType::Bool => ("cast_bool", String::new()),
        ColumnType::Float | ColumnType::Double => ("cast_real", format!(", '{}'", to.griddb_name())),
        ColumnType::Blob => ("cast_blob", String::new()),
        kind if kind.is_time() => ("cast_timestamp", format!(", {}", Kind::Of(to).digits())),
        _ => ("cast_integer", format!(", '{}'", to.griddb_name())),
    }
}

/// How a value becomes a text: 1 of a truth, so many digits of a second, 0 of what is no time.
pub(super) fn text_form(kind: Kind) -> usize {
    match kind {
        Kind::BOOL => 1,
        kind if kind.is_time() => kind.digits(),
        _ => 0,
    }
}
