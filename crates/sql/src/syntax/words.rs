//! Words of a statement, and where they are in it.

use super::SyntaxError;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A keyword, or a name without quotes.
    Plain,
    /// A name in quotes.
    Quoted,
    /// A text in single quotes.
    Text,
    /// A number.
    Number,
    /// A sign, a bracket, a comma, a parameter.
    Symbol,
}

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// What it is.
    pub kind: WordKind,
    /// As it is written.
    pub text: &'a str,
    /// Where it begins.
    pub start: usize,
}

impl Word<'_> {
    /// Where the next one may begin.
    #[must_use]
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this keyword.
    #[must_use]
    pub fn is(&self, keyword: &str) -> bool {
        self.kind == WordKind::Plain && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Whether it is this sign.
    #[must_use]
    pub fn is_symbol(&self, symbol: char) -> bool {
        self.kind == WordKind::Symbol && self.text.starts_with(symbol)
    }

    /// The name that it is, if it may be one.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        match self.kind {
            WordKind::Plain => Some(self.text.to_owned()),
            WordKind::Quoted => {
                let inner = self.text.get(1..self.text.len() - 1)?;
                let quote = &self.text[self.text.len() - 1..];
                Some(if quote == "]" { inner.to_owned() } else { inner.replace(&quote.repeat(2), quote) })
            }
            _ => None,
        }
    }
}

/// The words of a statement, without comments.
///
/// # Errors
/// A text, a name or a comment that does not end.
pub fn words(sql: &str) -> Result<Vec<Word<'_>>, SyntaxError> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = sql[at..].chars().next() {
        let rest = &sql[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            // The star that begins it does not end it.
            at += comment.find("*/").ok_or_else(|| SyntaxError("a comment does not end".to_owned()))? + 4;
            continue;
        }
        let (kind, length) = word(first, rest)?;
        words.push(Word { kind, text: &rest[..length], start: at });
        at += length;
    }
    Ok(words)
}

fn word(first: char, rest: &str) -> Result<(WordKind, usize), SyntaxError> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == '#' || c == '@';
    Ok(match first {
        '\'' => (WordKind::Text, quoted(rest, '\'')?),
        '"' | '`' => (WordKind::Quoted, quoted(rest, first)?),
        '[' => (WordKind::Quoted, rest.find(']').ok_or_else(|| unended("name"))? + 1),
        '0'..='9' => {
            let is_digit = |c: char| is_part(c) || c == '.';
            let mut end = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
            if rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['+', '-']) && !rest.starts_with("0x") {
                let exponent = rest[end + 1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |more| end + 1 + more);
                end = exponent;
            }
            (WordKind::Number, end)
        }
        _ if is_part(first) => (WordKind::Plain, rest.find(|c| !is_part(c)).unwrap_or(rest.len())),
        _ => (WordKind::Symbol, first.len_utf8()),
    })
}

fn unended(what: &str) -> SyntaxError {
    SyntaxError(format!("a {what} does not end"))
}

/// The length of a text in quotes; two of them within are one.
fn quoted(rest: &str, quote: char) -> Result<usize, SyntaxError> {
    let mut at = 1;
    loop {
        let end = rest[at..].find(quote).ok_or_else(|| unended(if quote == '\'' { "text" } else { "name" }))?;
        at += end + 1;
        if !rest[at..].starts_with(quote) {
            return Ok(at);
        }
        at += 1;
    }
}

/// Whether a text has no word: spaces, comments and semicolons alone.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    words(text).is_ok_and(|words| words.iter().all(|word| word.is_symbol(';')))
}

/// Functions whose first argument is a unit of time.
const WITH_UNIT: [&str; 6] = ["TIMESTAMP_ADD", "TIMESTAMPADD", "TIMESTAMP_DIFF", "TIMESTAMPDIFF", "TIMESTAMP_TRUNC", "EXTRACT"];
const UNITS: [&str; 11] =
    ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND", "DAY_OF_WEEK", "DAY_OF_YEAR"];

/// The statement with units of time as texts, where functions want them: SQLite would take them for columns.
///
/// # Errors
/// As [`words`].
pub fn with_units_quoted(sql: &str) -> Result<String, SyntaxError> {
    let words = words(sql)?;
    let (mut quoted, mut taken) = (String::with_capacity(sql.len()), 0);
    for three in words.windows(3) {
        let [function, bracket, unit] = three else { continue };
        let is_unit =
            WITH_UNIT.iter().any(|known| function.is(known)) && bracket.is_symbol('(') && UNITS.iter().any(|known| unit.is(known));
        if is_unit {
            quoted.push_str(&sql[taken..unit.start]);
            quoted.push('\'');
            quoted.push_str(unit.text);
            quoted.push('\'');
            taken = unit.end();
        }
    }
    quoted.push_str(&sql[taken..]);
    Ok(quoted)
}
