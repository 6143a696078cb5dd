//! Rules for what stands after WITH.

use std::collections::BTreeSet;

use super::{
    Parse,
    cursor::{Parser, fault_at},
    term::is_number,
};
use crate::language::{
    SyntaxErrorKind,
    ast::{Literal, Property, PropertyValue},
    error::{Fault, shortened},
    keyword::Keyword,
    token::{Token, TokenKind},
};

impl Parser<'_> {
    /// `WITH name = value AND …`
    pub(super) fn with_properties(&mut self) -> Parse<Vec<Property>> {
        self.expect_word(Keyword::With)?;
        let mut seen = PropertyNames::default();
        self.conjunction(|parser| parser.property(&mut seen))
    }

    /// `WITH name = value AND …`, if it is there.
    pub(super) fn optional_properties(&mut self) -> Parse<Vec<Property>> {
        if self.at(Keyword::With) { self.with_properties() } else { Ok(Vec::new()) }
    }

    /// `name = value`, with a name that is not among `seen` yet.
    pub(super) fn property(&mut self, seen: &mut PropertyNames) -> Parse<Property> {
        let start = self.token();
        let name = self.identifier()?;
        if !seen.0.insert(name.as_str().into()) {
            return Err(duplicate(start, &name));
        }
        self.expect(TokenKind::Equal)?;
        let value = match self.kind() {
            TokenKind::OpenBrace => PropertyValue::Map(self.property_map()?),
            TokenKind::Keyword(keyword) if !keyword.is_reserved() => {
                let token = self.advance()?;
                PropertyValue::Word(self.name_of(token))
            }
            _ => PropertyValue::Literal(self.property_literal()?),
        };
        Ok(Property { name, value })
    }

    /// `{literal: literal, …}`, each key once.
    pub(super) fn property_map(&mut self) -> Parse<Vec<(Literal, Literal)>> {
        self.expect(TokenKind::OpenBrace)?;
        let mut entries = Vec::new();
        if self.accept(TokenKind::CloseBrace)? {
            return Ok(entries);
        }
        let mut seen = BTreeSet::new();
        loop {
            let start = self.token();
            let key = self.property_literal()?;
            if !seen.insert(key.raw_text().into_owned()) {
                return Err(duplicate(start, &key.raw_text()));
            }
            self.expect(TokenKind::Colon)?;
            entries.push((key, self.property_literal()?));
            if !self.accept(TokenKind::Comma)? {
                self.expect(TokenKind::CloseBrace)?;
                return Ok(entries);
            }
        }
    }

    /// A constant, perhaps negative, but not null.
    pub(super) fn property_literal(&mut self) -> Parse<Literal> {
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Err(self.fault_here(SyntaxErrorKind::MarkerInProperty)),
            TokenKind::Keyword(Keyword::Null) => Err(self.unexpected()),
            TokenKind::Minus if is_number(self.peek(1)) => {
                self.advance()?;
                self.negative_number()
            }
            _ => self.literal()?.ok_or_else(|| self.unexpected()),
        }
    }
}

fn duplicate(token: Token, name: &str) -> Fault {
    fault_at(token, SyntaxErrorKind::DuplicateProperty { name: shortened(name).into() })
}

/// The names of the properties that a statement has given so far.
#[derive(Default)]
pub(super) struct PropertyNames(BTreeSet<Box<str>>);
