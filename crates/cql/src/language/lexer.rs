//! Text to tokens, one at a time: names, literals, operators; comments and white space vanish.
//!
//! The lexer is a cursor of two words: the parser copies it to look ahead. It reads each byte a bounded number of times, keeps
//! nothing, and every token range lies on character boundaries. A sign is never part of a number here: `-` is a token of its own,
//! and the parser joins the two.

use super::{
    error::{Fault, Reason, SyntaxErrorKind},
    keyword::Keyword,
    token::{Token, TokenKind},
};

/// A position in a statement's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// The next token; [`TokenKind::End`] again and again at the end.
    ///
    /// # Errors
    /// A character that starts no token, or a string, quoted name or comment without an end.
    pub(super) fn next_token(&mut self) -> Result<Token, Fault> {
        self.skip_blank()?;
        let start = self.position;
        let rest = &self.text.as_bytes()[start..];
        let Some(&first) = rest.first() else {
            return Ok(Token { kind: TokenKind::End, start, end: start });
        };
        let (kind, length) = match first {
            b'a'..=b'z' | b'A'..=b'Z' => word(rest),
            b'0'..=b'9' => number(rest),
            b'\'' => (TokenKind::QuotedString, self.quoted_length(b'\'')?),
            b'"' => (TokenKind::QuotedIdentifier, self.quoted_length(b'"')?),
            b'$' if rest.starts_with(b"$$") => (TokenKind::DollarString, self.dollar_length()?),
            _ => match symbol(rest) {
                Some(symbol) => symbol,
                None => {
                    let character = self.text[start..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
                    return Err(fault(start, SyntaxErrorKind::UnknownCharacter { character }));
                }
            },
        };
        self.position = start + length;
        Ok(Token { kind, start, end: self.position })
    }

    fn skip_blank(&mut self) -> Result<(), Fault> {
        let bytes = self.text.as_bytes();
        loop {
            let rest = &bytes[self.position..];
            match rest {
                [b' ' | b'\t' | b'\n' | b'\r', ..] => self.position += 1,
                [b'-', b'-', ..] | [b'/', b'/', ..] => {
                    self.position += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
                }
                [b'/', b'*', body @ ..] => {
                    let Some(end) = body.windows(2).position(|pair| pair == b"*/") else {
                        return Err(fault(self.position, SyntaxErrorKind::Unterminated { terminator: "'*/'" }));
                    };
                    self.position += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    /// The length of the quoted text at the cursor, both quotes included; a doubled quote does not end it.
    fn quoted_length(&self, quote: u8) -> Result<usize, Fault> {
        let rest = &self.text.as_bytes()[self.position..];
        let mut length = 1;
        while let Some(found) = rest[length..].iter().position(|byte| *byte == quote) {
            length += found + 1;
            if rest.get(length) != Some(&quote) {
                return Ok(length);
            }
            length += 1;
        }
        let terminator = if quote == b'"' { "'\"'" } else { "'''" };
        Err(fault(self.position, SyntaxErrorKind::Unterminated { terminator }))
    }

    fn dollar_length(&self) -> Result<usize, Fault> {
        match self.text[self.position + 2..].find("$$") {
            Some(end) => Ok(end + 4),
            None => Err(fault(self.position, SyntaxErrorKind::Unterminated { terminator: "'$$'" })),
        }
    }
}

/// Where a token ends as Cassandra cuts the text: there a sign is part of the number or duration right behind it.
pub(super) fn signed_end(text: &str, start: usize, end: usize) -> usize {
    if text.get(start..end) != Some("-") {
        return end;
    }
    match (Lexer { text, position: end }).next_token() {
        Ok(next) if next.start == end && matches!(next.kind, TokenKind::Integer | TokenKind::Float | TokenKind::Duration) => next.end,
        _ => end,
    }
}

fn fault(start: usize, kind: SyntaxErrorKind) -> Fault {
    Fault { start, end: start, reason: Reason::Kind(kind) }
}

fn symbol(rest: &[u8]) -> Option<(TokenKind, usize)> {
    use TokenKind as Kind;
    let symbol = match rest {
        [b'.', b'.', ..] => (Kind::Range, 2),
        [b'!', b'=', ..] => (Kind::NotEqual, 2),
        [b'<', b'=', ..] => (Kind::LessOrEqual, 2),
        [b'>', b'=', ..] => (Kind::GreaterOrEqual, 2),
        [b'+', b'=', ..] => (Kind::PlusEqual, 2),
        [b'-', b'=', ..] => (Kind::MinusEqual, 2),
        [b'?', ..] => (Kind::Question, 1),
        [b':', ..] => (Kind::Colon, 1),
        [b',', ..] => (Kind::Comma, 1),
        [b';', ..] => (Kind::Semicolon, 1),
        [b'.', ..] => (Kind::Dot, 1),
        [b'(', ..] => (Kind::OpenParenthesis, 1),
        [b')', ..] => (Kind::CloseParenthesis, 1),
        [b'[', ..] => (Kind::OpenBracket, 1),
        [b']', ..] => (Kind::CloseBracket, 1),
        [b'{', ..] => (Kind::OpenBrace, 1),
        [b'}', ..] => (Kind::CloseBrace, 1),
        [b'+', ..] => (Kind::Plus, 1),
        [b'-', ..] => (Kind::Minus, 1),
        [b'*', ..] => (Kind::Star, 1),
        [b'/', ..] => (Kind::Slash, 1),
        [b'%', ..] => (Kind::Percent, 1),
        [b'=', ..] => (Kind::Equal, 1),
        [b'<', ..] => (Kind::Less, 1),
        [b'>', ..] => (Kind::Greater, 1),
        _ => return None,
    };
    Some(symbol)
}

/// The token at a letter: a UUID, an ISO 8601 duration, a keyword or a name.
fn word(rest: &[u8]) -> (TokenKind, usize) {
    if is_uuid(rest) {
        return (TokenKind::Uuid, UUID_BYTES);
    }
    let length = rest.iter().position(|byte| !is_word_byte(*byte)).unwrap_or(rest.len());
    if rest[0] == b'P' {
        match iso_duration_length(rest) {
            Some(duration) if duration >= length => return (TokenKind::Duration, duration),
            _ => {}
        }
    }
    match Keyword::lookup(&rest[..length]) {
        Some(keyword) => (TokenKind::Keyword(keyword), length),
        None => (TokenKind::Identifier, length),
    }
}

/// The token at a digit: a UUID, a blob, a duration, a float or an integer.
fn number(rest: &[u8]) -> (TokenKind, usize) {
    if is_uuid(rest) {
        return (TokenKind::Uuid, UUID_BYTES);
    }
    if let [b'0', b'x' | b'X', hexadecimal @ ..] = rest {
        let digits = hexadecimal.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(hexadecimal.len());
        return (TokenKind::Blob, 2 + digits);
    }
    let mut length = digit_count(rest);
    if let Some(duration) = unit_duration_length(rest) {
        return (TokenKind::Duration, duration);
    }
    let mut kind = TokenKind::Integer;
    match &rest[length..] {
        // `1..2` is a slice, and `1...2` a slice from the float `1.`
        [b'.', b'.', b'.', ..] => return (TokenKind::Float, length + 1),
        [b'.', b'.', ..] => return (TokenKind::Integer, length),
        [b'.', fraction @ ..] => {
            kind = TokenKind::Float;
            length += 1 + digit_count(fraction);
        }
        _ => {}
    }
    let exponent = match &rest[length..] {
        [b'e' | b'E', b'+' | b'-', digits @ ..] => Some((2, digit_count(digits))),
        [b'e' | b'E', digits @ ..] => Some((1, digit_count(digits))),
        _ => None,
    };
    match exponent {
        Some((prefix, digits)) if digits > 0 => (TokenKind::Float, length + prefix + digits),
        _ => (kind, length),
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn digit_count(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len())
}

const UUID_BYTES: usize = 36;

fn is_uuid(rest: &[u8]) -> bool {
    rest.len() >= UUID_BYTES
        && rest[8] == b'-'
        && rest[..UUID_BYTES].iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The length of `digits unit` pairs, if there is at least one.
fn unit_duration_length(rest: &[u8]) -> Option<usize> {
    let mut length = 0;
    loop {
        let digits = digit_count(&rest[length..]);
        let unit = unit_length(&rest[length + digits..]);
        if digits == 0 || unit == 0 {
            return (length > 0).then_some(length);
        }
        length += digits + unit;
    }
}

fn unit_length(rest: &[u8]) -> usize {
    let lower = |index: usize| rest.get(index).map(u8::to_ascii_lowercase);
    match (lower(0), lower(1), lower(2)) {
        (Some(0xC2), Some(0xB5), Some(b's')) => 3, // µs
        (Some(b'm'), Some(b'o' | b's'), _) | (Some(b'u' | b'n'), Some(b's'), _) => 2,
        (Some(b'y' | b'w' | b'd' | b'h' | b'm' | b's'), _, _) => 1,
        _ => 0,
    }
}

/// The length of an ISO 8601 duration: `PnW`, `PnYnMnDTnHnMnS` with any part left out, or `PYYYY-MM-DDThh:mm:ss`.
fn iso_duration_length(rest: &[u8]) -> Option<usize> {
    const ALTERNATIVE: &[u8] = b"P0000-00-00T00:00:00";
    let alternative = rest.len() >= ALTERNATIVE.len()
        && ALTERNATIVE.iter().zip(rest).all(|(pattern, byte)| if *pattern == b'0' { byte.is_ascii_digit() } else { byte == pattern });
    if alternative {
        return Some(ALTERNATIVE.len());
    }
    let body = &rest[1..];
    let weeks = digit_count(body);
    if weeks > 0 && body.get(weeks) == Some(&b'W') {
        return Some(1 + weeks + 1);
    }
    let mut length = 1 + designators_length(body, b"YMD");
    if let [b'T', time @ ..] = &rest[length..] {
        let time_length = designators_length(time, b"HMS");
        if time_length > 0 {
            length += 1 + time_length;
        }
    }
    (length > 1).then_some(length)
}

/// The length of `digits designator` pairs whose designators stand in the order of `designators`, each at most once.
fn designators_length(rest: &[u8], designators: &[u8]) -> usize {
    let mut length = 0;
    for designator in designators {
        let digits = digit_count(&rest[length..]);
        if digits > 0 && rest.get(length + digits) == Some(designator) {
            length += digits + 1;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use TokenKind as Kind;

    fn tokens(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token().unwrap();
            if token.kind == Kind::End {
                return tokens;
            }
            tokens.push((token.kind, &text[token.range()]));
        }
    }

    #[track_caller]
    fn assert_one(text: &str, kind: TokenKind) {
        assert_eq!(tokens(text), [(kind, text)]);
    }

    #[test]
    fn literals_are_told_apart_by_their_shape() {
        for text in ["0", "12", "007", "9223372036854775808"] {
            assert_one(text, Kind::Integer);
        }
        for text in ["1.", "1.5", "1e5", "1E+5", "1.5e-05", "0.0", "1.e3"] {
            assert_one(text, Kind::Float);
        }
        for text in ["0x", "0X00ff", "0xCAFE"] {
            assert_one(text, Kind::Blob);
        }
        for text in ["123e4567-e89b-12d3-a456-426614174000", "ABCDEF01-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"]
        {
            assert_one(text, Kind::Uuid);
        }
        for text in [
            "1y2mo3w4d5h6m7s8ms9us10ns",
            "1h",
            "2µs",
            "3US",
            "1MO",
            "P1Y2M3DT4H5M6S",
            "P1Y",
            "P2D",
            "PT5M",
            "PT1H1S",
            "P3W",
            "P0001-02-03T04:05:06",
        ] {
            assert_one(text, Kind::Duration);
        }
        for text in ["''", "'a'", "'it''s'", "''''", "'é\n'"] {
            assert_one(text, Kind::QuotedString);
        }
        for text in ["$$$$", "$$a'b$c$$"] {
            assert_one(text, Kind::DollarString);
        }
        for text in ["abc", "P", "P1Ya", "PT", "p1y", "a_1", "y_id", "f47ac10b"] {
            assert_one(text, Kind::Identifier);
        }
        for text in ["\"\"", "\"a\"\"b\"", "\"Été\""] {
            assert_one(text, Kind::QuotedIdentifier);
        }
    }

    #[test]
    fn slices_do_not_swallow_the_point() {
        assert_eq!(tokens("1..2"), [(Kind::Integer, "1"), (Kind::Range, ".."), (Kind::Integer, "2")]);
        assert_eq!(tokens("1...2"), [(Kind::Float, "1."), (Kind::Range, ".."), (Kind::Integer, "2")]);
        assert_eq!(tokens("1.5..2"), [(Kind::Float, "1.5"), (Kind::Range, ".."), (Kind::Integer, "2")]);
    }

    #[test]
    fn comments_and_blanks_vanish() {
        assert_eq!(tokens(" a -- x\n// y\r/* z\n * */b--end"), [(Kind::Identifier, "a"), (Kind::Identifier, "b")]);
        assert_eq!(tokens("/**/"), []);
    }

    #[test]
    fn operators_take_the_longest_match() {
        let kinds: Vec<TokenKind> =
            tokens("<= < >= > != = += + -= - .. . * / % ? : , ; ( ) [ ] { }").into_iter().map(|token| token.0).collect();
        let expected = [
            Kind::LessOrEqual,
            Kind::Less,
            Kind::GreaterOrEqual,
            Kind::Greater,
            Kind::NotEqual,
            Kind::Equal,
            Kind::PlusEqual,
            Kind::Plus,
            Kind::MinusEqual,
            Kind::Minus,
            Kind::Range,
            Kind::Dot,
            Kind::Star,
            Kind::Slash,
            Kind::Percent,
            Kind::Question,
            Kind::Colon,
            Kind::Comma,
            Kind::Semicolon,
            Kind::OpenParenthesis,
            Kind::CloseParenthesis,
            Kind::OpenBracket,
            Kind::CloseBracket,
            Kind::OpenBrace,
            Kind::CloseBrace,
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn faults_name_their_place() {
        for (text, message) in [
            ("a\n  'b", "line 2:2 mismatched character '<EOF>' expecting '''"),
            ("\"b", "line 1:0 mismatched character '<EOF>' expecting '\"'"),
            ("é", "line 1:0 no viable alternative at character 'é'"),
            ("'é' @", "line 1:4 no viable alternative at character '@'"),
            ("$$ $", "line 1:0 mismatched character '<EOF>' expecting '$$'"),
            ("/*/", "line 1:0 mismatched character '<EOF>' expecting '*/'"),
            ("!", "line 1:0 no viable alternative at character '!'"),
            ("$", "line 1:0 no viable alternative at character '$'"),
        ] {
            let mut lexer = Lexer::new(text);
            let error = loop {
                match lexer.next_token() {
                    Ok(token) => assert_ne!(token.kind, Kind::End, "{text} has no fault"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.into_error(text).to_string(), message);
        }
    }
}
