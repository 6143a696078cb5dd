//! What the lexer gives the parser: a kind and the range of the statement's text that it covers.
//!
//! A token holds no text of its own; the parser decodes names and strings from the range when it keeps them.

use std::ops::Range;

use super::keyword::Keyword;

/// One lexical element of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Byte offset of its first byte.
    pub(super) start: usize,
    /// Byte offset after its last byte.
    pub(super) end: usize,
}

impl Token {
    /// The bytes of the statement that the token covers.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word that the grammar knows, reserved or not.
    Keyword(Keyword),
    /// A word that the grammar does not know.
    Identifier,
    /// `"…"`, with `""` for a quote inside.
    QuotedIdentifier,
    /// `'…'`, with `''` for a quote inside.
    QuotedString,
    /// `$$…$$`, without escapes.
    DollarString,
    /// Digits.
    Integer,
    /// Digits with a point, an exponent or both.
    Float,
    /// `1h30m` or an ISO 8601 form that starts with `P`.
    Duration,
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// `0x` and any number of hexadecimal digits.
    Blob,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `.`
    Dot,
    /// `..`
    Range,
    /// `(`
    OpenParenthesis,
    /// `)`
    CloseParenthesis,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `+=`
    PlusEqual,
    /// `-=`
    MinusEqual,
    /// The end of the statement's text.
    End,
}

impl TokenKind {
    /// The token's spelling for messages, where it has one only; else the name that Cassandra's messages use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keyword(keyword) => keyword.text(),
            Self::Identifier => "IDENT",
            Self::QuotedIdentifier => "QUOTED_NAME",
            Self::QuotedString | Self::DollarString => "STRING_LITERAL",
            Self::Integer => "INTEGER",
            Self::Float => "FLOAT",
            Self::Duration => "DURATION",
            Self::Uuid => "UUID",
            Self::Blob => "HEXNUMBER",
            Self::Question => "'?'",
            Self::Colon => "':'",
            Self::Comma => "','",
            Self::Semicolon => "';'",
            Self::Dot => "'.'",
            Self::Range => "'..'",
            Self::OpenParenthesis => "'('",
            Self::CloseParenthesis => "')'",
            Self::OpenBracket => "'['",
            Self::CloseBracket => "']'",
            Self::OpenBrace => "'{'",
            Self::CloseBrace => "'}'",
            Self::Plus => "'+'",
            Self::Minus => "'-'",
            Self::Star => "'*'",
            Self::Slash => "'/'",
            Self::Percent => "'%'",
            Self::Equal => "'='",
            Self::NotEqual => "'!='",
            Self::Less => "'<'",
            Self::LessOrEqual => "'<='",
            Self::Greater => "'>'",
            Self::GreaterOrEqual => "'>='",
            Self::PlusEqual => "'+='",
            Self::MinusEqual => "'-='",
            Self::End => "EOF",
        }
    }
}
