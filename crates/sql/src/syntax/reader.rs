//! The words of a statement, read one after the other.

use super::SyntaxError;
use super::words::{Word, WordKind};

/// What has not been read.
pub(super) struct Parser<'a> {
    pub(super) sql: &'a str,
    pub(super) words: &'a [Word<'a>],
}

impl Parser<'_> {
    /// Where what has not been read begins.
    pub(super) fn start(&self) -> usize {
        self.words.first().map_or(self.sql.len(), |word| word.start)
    }

    /// All from there on, which is then read.
    pub(super) fn from(&mut self, start: usize) -> Result<String, SyntaxError> {
        self.words = &[];
        Ok(self.sql[start..].to_owned())
    }

    pub(super) fn is_next(&self, keyword: &str) -> bool {
        self.words.first().is_some_and(|word| word.is(keyword))
    }

    pub(super) fn is_symbol_next(&self, symbol: char) -> bool {
        self.words.first().is_some_and(|word| word.is_symbol(symbol))
    }

    pub(super) fn takes(&mut self, keyword: &str) -> bool {
        let found = self.is_next(keyword);
        self.words = &self.words[usize::from(found)..];
        found
    }

    /// Takes these keywords if the first one comes.
    pub(super) fn takes_all(&mut self, keywords: &[&str]) -> Result<bool, SyntaxError> {
        let Some((first, rest)) = keywords.split_first() else { return Ok(false) };
        if !self.takes(first) {
            return Ok(false);
        }
        rest.iter().try_for_each(|keyword| self.expect(keyword))?;
        Ok(true)
    }

    pub(super) fn expect(&mut self, keyword: &str) -> Result<(), SyntaxError> {
        if self.takes(keyword) { Ok(()) } else { Err(self.expected(keyword)) }
    }

    pub(super) fn takes_symbol(&mut self, symbol: char) -> bool {
        let found = self.is_symbol_next(symbol);
        self.words = &self.words[usize::from(found)..];
        found
    }

    pub(super) fn expect_symbol(&mut self, symbol: char) -> Result<(), SyntaxError> {
        if self.takes_symbol(symbol) { Ok(()) } else { Err(self.expected(&symbol.to_string())) }
    }

    pub(super) fn expected(&self, what: &str) -> SyntaxError {
        let near = self.words.first().map_or("the end", |word| word.text);
        SyntaxError(format!("near \"{near}\": syntax error: {what} is expected"))
    }

    pub(super) fn name(&mut self) -> Result<String, SyntaxError> {
        let name = self.words.first().and_then(Word::name).ok_or_else(|| self.expected("a name"))?;
        self.words = &self.words[1..];
        Ok(name)
    }

    /// Names in brackets.
    pub(super) fn names(&mut self) -> Result<Vec<String>, SyntaxError> {
        self.expect_symbol('(')?;
        let mut names = vec![self.name()?];
        while self.takes_symbol(',') {
            names.push(self.name()?);
        }
        self.expect_symbol(')')?;
        Ok(names)
    }

    pub(super) fn number(&mut self) -> Result<u64, SyntaxError> {
        let number = self.words.first().filter(|word| word.kind == WordKind::Number).and_then(|word| word.text.parse().ok());
        let number = number.ok_or_else(|| self.expected("a number"))?;
        self.words = &self.words[1..];
        Ok(number)
    }
}
