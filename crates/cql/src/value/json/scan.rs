//! A pull scanner over JSON text: what kind of value comes next, its parts one by one. It builds no tree and allocates only for strings
//! with escapes.

use crate::value::parse::Excerpt;
use std::borrow::Cow;

/// How deep arrays and objects may nest.
const DEPTH_MAX: usize = 64;

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number without a point or an exponent.
    Integer,
    /// Any other number.
    Fraction,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Text that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// Something else than JSON allows at this place.
    #[error("Unexpected input at position {position}: {text}")]
    Unexpected {
        /// Bytes before it.
        position: usize,
        /// What follows.
        text: Excerpt,
    },
    /// The text ends within a value.
    #[error("Unexpected end of input")]
    End,
    /// Nested too deeply.
    #[error("More than {DEPTH_MAX} levels of nesting")]
    Depth,
}

/// The scanner.
#[derive(Clone)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        self.at += self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    #[cold]
    fn unexpected(&self) -> SyntaxError {
        let text = self.text.get(self.at..).unwrap_or_default();
        if text.is_empty() {
            return SyntaxError::End;
        }
        SyntaxError::Unexpected { position: self.at, text: Excerpt::new(&text.chars().take(20).collect::<String>()) }
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.rest().first().copied()
    }

    /// Takes one character of punctuation, if it comes next.
    fn take(&mut self, punctuation: u8) -> bool {
        let found = self.peek() == Some(punctuation);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, punctuation: u8) -> Result<(), SyntaxError> {
        if self.take(punctuation) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The kind of the value that comes next, by its beginning.
    pub(super) fn kind(&mut self) -> Result<Kind, SyntaxError> {
        match self.peek() {
            Some(b'n') => Ok(Kind::Null),
            Some(b't' | b'f') => Ok(Kind::Boolean),
            Some(b'"') => Ok(Kind::String),
            Some(b'[') => Ok(Kind::Array),
            Some(b'{') => Ok(Kind::Object),
            Some(b'-' | b'0'..=b'9') => {
                let number = self.clone().number()?;
                Ok(if number.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9')) { Kind::Integer } else { Kind::Fraction })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Takes `word`, which must come next.
    fn word(&mut self, word: &str) -> Result<(), SyntaxError> {
        let after = self.rest().get(word.len());
        if !self.rest().starts_with(word.as_bytes()) || after.is_some_and(u8::is_ascii_alphanumeric) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(())
    }

    pub(super) fn null(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        self.word("null")
    }

    pub(super) fn boolean(&mut self) -> Result<bool, SyntaxError> {
        let value = self.peek() == Some(b't');
        self.word(if value { "true" } else { "false" })?;
        Ok(value)
    }

    /// Takes a number and gives its text.
    pub(super) fn number(&mut self) -> Result<&'a str, SyntaxError> {
        self.skip_space();
        let start = self.at;
        self.at += usize::from(self.rest().first() == Some(&b'-'));
        if self.rest().first() == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.rest().first() == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.rest().first(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.rest().first(), Some(b'+' | b'-')));
            self.digits()?;
        }
        if self.rest().first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.') {
            return Err(self.unexpected());
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.unexpected()) } else { Ok(()) }
    }

    /// Takes a string and gives what it says. A lone surrogate says `?`, as in Java.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let plain = self.rest().iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)).count();
            let piece = self.text.get(self.at..self.at + plain).unwrap_or_default();
            self.at += plain;
            match self.rest().first() {
                Some(b'"') => {
                    self.at += 1;
                    if out.is_empty() {
                        return Ok(Cow::Borrowed(piece));
                    }
                    out.push_str(piece);
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    out.push_str(piece);
                    self.at += 1;
                    let escaped = self.escape()?;
                    out.push(escaped);
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let c = match self.rest().first() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{C}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let unit = self.four_digits()?;
                return Ok(self.surrogates(unit));
            }
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(c)
    }

    /// The character of a UTF-16 unit, together with the escape that follows if both are a pair.
    fn surrogates(&mut self, unit: u32) -> char {
        if (0xD800..0xDC00).contains(&unit) && self.rest().starts_with(b"\\u") {
            let mut ahead = self.clone();
            ahead.at += 2;
            if let Ok(second @ 0xDC00..0xE000) = ahead.four_digits() {
                self.at = ahead.at;
                return char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (second - 0xDC00)).unwrap_or('?');
            }
        }
        char::from_u32(unit).unwrap_or('?')
    }

    fn four_digits(&mut self) -> Result<u32, SyntaxError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.rest().first().and_then(|byte| char::from(*byte).to_digit(16)).ok_or_else(|| self.unexpected())?;
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// Takes an array; `element` must take each value.
    pub(super) fn array<E: From<SyntaxError>>(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), E>) -> Result<(), E> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if !self.take(b',') {
                return Ok(self.expect(b']')?);
            }
        }
    }

    /// Takes an object; `member` must take the value of each name.
    pub(super) fn object<E: From<SyntaxError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.expect(b':')?;
            member(self, name)?;
            if !self.take(b',') {
                return Ok(self.expect(b'}')?);
            }
        }
    }

    /// Takes a value of any kind and gives its text.
    pub(super) fn any(&mut self) -> Result<&'a str, SyntaxError> {
        self.skip_space();
        let start = self.at;
        self.skip(0)?;
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn skip(&mut self, depth: usize) -> Result<(), SyntaxError> {
        match self.kind()? {
            Kind::Array | Kind::Object if depth >= DEPTH_MAX => Err(SyntaxError::Depth),
            Kind::Null => self.null(),
            Kind::Boolean => self.boolean().map(|_| ()),
            Kind::Integer | Kind::Fraction => self.number().map(|_| ()),
            Kind::String => self.string().map(|_| ()),
            Kind::Array => self.array(|scanner| scanner.skip(depth + 1)),
            Kind::Object => self.object(|scanner, _| scanner.skip(depth + 1)),
        }
    }

    /// Checks that nothing but space follows.
    pub(super) fn end(&mut self) -> Result<(), SyntaxError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected()),
        }
    }
}
