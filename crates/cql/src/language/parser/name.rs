//! Rules for names.

use super::{Parse, cursor::Parser};
use crate::language::{
    SyntaxErrorKind,
    ast::{FunctionName, Identifier, QualifiedName},
    keyword::{Keyword, KeywordClass},
    token::{Token, TokenKind},
};

/// Whether a token of `kind` may be an identifier.
pub(super) fn is_identifier(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Identifier | TokenKind::QuotedIdentifier => true,
        TokenKind::Keyword(keyword) => !keyword.is_reserved(),
        _ => false,
    }
}

/// Whether a token of `kind` may name a function.
pub(super) fn is_function_name(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Identifier | TokenKind::QuotedIdentifier => true,
        TokenKind::Keyword(Keyword::Token | Keyword::Count) => true,
        TokenKind::Keyword(keyword) => matches!(keyword.class(), KeywordClass::Basic | KeywordClass::NativeType),
        _ => false,
    }
}

impl Parser<'_> {
    /// The name that a token which may be an identifier stands for.
    pub(super) fn name_of(&self, token: Token) -> Identifier {
        let text = self.text_of(token);
        match token.kind {
            TokenKind::QuotedIdentifier => Identifier::new(unquoted(text, '"')),
            TokenKind::Keyword(keyword) => Identifier::new(keyword.text()),
            _ => Identifier::new(text.to_ascii_lowercase()),
        }
    }

    /// A name that is not empty.
    pub(super) fn identifier(&mut self) -> Parse<Identifier> {
        if !is_identifier(self.kind()) || self.token_text() == "\"\"" {
            return Err(self.unexpected());
        }
        let token = self.advance()?;
        Ok(self.name_of(token))
    }

    /// The name of a column where the statement does not create it: may be `""`.
    pub(super) fn column(&mut self) -> Parse<Identifier> {
        if !is_identifier(self.kind()) {
            return Err(self.unexpected());
        }
        let token = self.advance()?;
        Ok(self.name_of(token))
    }

    /// The name of a keyspace, table, index or role, with a clear complaint about a bind marker; `place` is what it names.
    fn schema_name(&mut self, place: &'static str) -> Parse<Identifier> {
        if self.kind() == TokenKind::Question {
            return Err(self.fault_here(SyntaxErrorKind::MarkerAsName { place }));
        }
        self.identifier()
    }

    pub(super) fn keyspace_name(&mut self) -> Parse<Identifier> {
        self.schema_name("keyspace names")
    }

    /// `[ks.]name` of a table or view.
    pub(super) fn table_name(&mut self) -> Parse<QualifiedName> {
        self.qualified_name("table names")
    }

    /// `[ks.]name` of an index.
    pub(super) fn index_name(&mut self) -> Parse<QualifiedName> {
        self.qualified_name("index names")
    }

    fn qualified_name(&mut self, place: &'static str) -> Parse<QualifiedName> {
        let first = self.schema_name(place)?;
        if self.accept(TokenKind::Dot)? {
            return Ok(QualifiedName { keyspace: Some(first), name: self.schema_name(place)? });
        }
        Ok(QualifiedName { keyspace: None, name: first })
    }

    /// `[ks.]name` of a user-defined type; native types cannot be redefined.
    pub(super) fn user_type_name(&mut self) -> Parse<QualifiedName> {
        let keyspace = if self.peek(1) == TokenKind::Dot {
            let keyspace = self.identifier()?;
            self.advance()?;
            Some(keyspace)
        } else {
            None
        };
        let allowed = match self.kind() {
            TokenKind::Identifier | TokenKind::QuotedIdentifier | TokenKind::Keyword(Keyword::Key) => true,
            TokenKind::Keyword(keyword) => keyword.class() == KeywordClass::Basic,
            _ => false,
        };
        if !allowed {
            return Err(self.unexpected());
        }
        let reserved = self.kind() == TokenKind::Identifier && is_reserved_type_name(self.token_text());
        if reserved {
            let name = self.token_text().into();
            return Err(self.fault_here(SyntaxErrorKind::ReservedTypeName { name }));
        }
        Ok(QualifiedName { keyspace, name: self.identifier()? })
    }

    /// `[ks.]name` of a function.
    pub(super) fn function_name(&mut self) -> Parse<FunctionName> {
        let keyspace = if self.peek(1) == TokenKind::Dot {
            let keyspace = self.keyspace_name()?;
            self.advance()?;
            Some(keyspace)
        } else {
            None
        };
        Ok(FunctionName { keyspace, name: self.plain_function_name()? })
    }

    /// The name of a function without a keyspace.
    pub(super) fn plain_function_name(&mut self) -> Parse<Identifier> {
        if !is_function_name(self.kind()) || self.token_text() == "\"\"" {
            return Err(self.unexpected());
        }
        let token = self.advance()?;
        Ok(self.name_of(token))
    }

    /// The name of a role: an identifier or a string, which is taken as it is.
    pub(super) fn role_name(&mut self) -> Parse<Identifier> {
        match self.kind() {
            TokenKind::QuotedString | TokenKind::DollarString => Ok(Identifier::new(self.string()?)),
            _ => self.schema_name("role names"),
        }
    }

    /// The name of a user: as a role's, but an unquoted one keeps its case.
    pub(super) fn user_name(&mut self) -> Parse<Identifier> {
        match self.kind() {
            TokenKind::Identifier => {
                let token = self.advance()?;
                Ok(Identifier::new(self.text_of(token)))
            }
            _ => self.role_name(),
        }
    }

    /// A string's content.
    pub(super) fn string(&mut self) -> Parse<Box<str>> {
        match self.kind() {
            TokenKind::QuotedString => {
                let token = self.advance()?;
                Ok(unquoted(self.text_of(token), '\''))
            }
            TokenKind::DollarString => {
                let token = self.advance()?;
                let text = self.text_of(token);
                Ok(text.get(2..text.len().saturating_sub(2)).unwrap_or_default().into())
            }
            _ => Err(self.mismatch(TokenKind::QuotedString)),
        }
    }
}

/// The content of quoted text whose quotes are doubled inside.
fn unquoted(text: &str, quote: char) -> Box<str> {
    let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    if !inside.contains(quote) {
        return inside.into();
    }
    let mut content = String::with_capacity(inside.len());
    let mut escaped = false;
    for character in inside.chars() {
        escaped = character == quote && !escaped;
        if !escaped {
            content.push(character);
        }
    }
    content.into()
}

/// Names that Cassandra keeps for types it may get one day.
fn is_reserved_type_name(name: &str) -> bool {
    ["byte", "complex", "enum", "date", "interval", "macaddr", "bitstring"].iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}
