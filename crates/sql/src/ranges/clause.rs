//! What follows GROUP BY RANGE: the column, the steps, what fills.

use crate::syntax::{SyntaxError, Word, WordKind};

/// What a step without rows gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Nothing,
    Null,
    Previous,
    Linear,
}

fn wrong(message: impl Into<String>) -> SyntaxError {
    SyntaxError(message.into())
}

/// The words of the clause from the column on.
pub(super) struct Clause<'w, 'a> {
    pub(super) words: &'w [Word<'a>],
}

impl<'a> Clause<'_, 'a> {
    /// The column, the length of a step and where one begins, and what fills.
    pub(super) fn read(&mut self) -> Result<(String, [i64; 2], Fill), SyntaxError> {
        let is_enclosed = self.takes('(');
        let mut time = self.name()?;
        while self.takes('.') {
            time = self.name()?;
        }
        if is_enclosed {
            self.expect(')')?;
        }
        self.keyword("EVERY")?;
        self.expect('(')?;
        let count = self.integer()?;
        self.expect(',')?;
        let unit = self.name()?;
        let units = [("DAY", 86_400_000), ("HOUR", 3_600_000), ("MINUTE", 60_000), ("SECOND", 1_000), ("MILLISECOND", 1)];
        let unit_ms = units.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name)).map(|(_, unit_ms)| *unit_ms);
        let unit_ms = unit_ms.ok_or_else(|| wrong(format!("{unit} is no unit of EVERY: DAY, HOUR, MINUTE, SECOND, MILLISECOND are")))?;
        let too_large = || wrong("the step of GROUP BY RANGE is too large");
        let step_ms = count.checked_mul(unit_ms).filter(|step_ms| *step_ms < i64::MAX / 4).ok_or_else(too_large)?;
        if step_ms <= 0 {
            return Err(wrong("the step of GROUP BY RANGE is at least one unit"));
        }
        let offset_ms = if self.takes(',') { self.offset(unit_ms)? } else { 0 };
        self.expect(')')?;
        Ok((time, [step_ms, offset_ms.rem_euclid(step_ms)], self.fill()?))
    }

    /// Units, or a time zone, whose days begin that much earlier.
    fn offset(&mut self, unit_ms: i64) -> Result<i64, SyntaxError> {
        match self.words.split_first() {
            Some((zone, rest)) if zone.kind == WordKind::Text => {
                self.words = rest;
                let text = zone.text.trim_matches('\'');
                let minutes = zone_minutes(text).ok_or_else(|| wrong(format!("'{text}' is no time zone: Z, +HH:MM or +HHMM")))?;
                Ok(-minutes * 60_000)
            }
            _ => {
                let is_negative = self.takes('-');
                let count = self.integer()?;
                let count = if is_negative { -count } else { count };
                count.checked_mul(unit_ms).ok_or_else(|| wrong("the offset of GROUP BY RANGE is too large"))
            }
        }
    }

    fn fill(&mut self) -> Result<Fill, SyntaxError> {
        if !self.words.first().is_some_and(|word| word.is("FILL")) {
            return Ok(Fill::Nothing);
        }
        self.words = &self.words[1..];
        self.expect('(')?;
        let name = self.name()?;
        self.expect(')')?;
        match name.to_ascii_uppercase().as_str() {
            "NONE" => Ok(Fill::Nothing),
            "NULL" => Ok(Fill::Null),
            "PREVIOUS" => Ok(Fill::Previous),
            "LINEAR" => Ok(Fill::Linear),
            _ => Err(wrong(format!("{name} is no way to fill: NONE, NULL, PREVIOUS, LINEAR are"))),
        }
    }

    fn expected(&self, what: &str) -> SyntaxError {
        let near = self.words.first().map_or("the end", |word| word.text);
        wrong(format!("near \"{near}\": syntax error: {what} is expected"))
    }

    fn takes(&mut self, symbol: char) -> bool {
        let is_there = self.words.first().is_some_and(|word| word.is_symbol(symbol));
        self.words = &self.words[usize::from(is_there)..];
        is_there
    }

    fn expect(&mut self, symbol: char) -> Result<(), SyntaxError> {
        if self.takes(symbol) { Ok(()) } else { Err(self.expected(&symbol.to_string())) }
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), SyntaxError> {
        let Some((_, rest)) = self.words.split_first().filter(|(word, _)| word.is(keyword)) else { return Err(self.expected(keyword)) };
        self.words = rest;
        Ok(())
    }

    fn name(&mut self) -> Result<String, SyntaxError> {
        let name = self.words.first().and_then(Word::name).ok_or_else(|| self.expected("a name"))?;
        self.words = &self.words[1..];
        Ok(name)
    }

    fn integer(&mut self) -> Result<i64, SyntaxError> {
        let number = self.words.first().filter(|word| word.kind == WordKind::Number).and_then(|word| word.text.parse().ok());
        let number = number.ok_or_else(|| self.expected("a whole number"))?;
        self.words = &self.words[1..];
        Ok(number)
    }
}

fn zone_minutes(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("Z") {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits.replace(':', "")),
        ("-", digits) => (-1, digits.replace(':', "")),
        _ => return None,
    };
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (digits[..2].parse().ok()?, digits[2..].parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}
