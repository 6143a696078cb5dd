//! Rules for what SELECT computes.

use super::{
    Parse,
    cursor::Parser,
    name::{is_function_name, is_identifier},
    term::{additive, is_constant, is_number, multiplicative},
};
use crate::language::{
    ast::{CellAttribute, FunctionName, Literal, Selection, Selector, SelectorItem, TypeName},
    keyword::Keyword,
    token::TokenKind,
};

impl Parser<'_> {
    /// `*` or selectors.
    pub(super) fn selection(&mut self) -> Parse<Selection> {
        if self.accept(TokenKind::Star)? {
            return Ok(Selection::Wildcard);
        }
        Ok(Selection::Selectors(self.list(|parser| {
            let selector = parser.selector()?;
            let alias = if parser.accept_word(Keyword::As)? { Some(parser.identifier()?) } else { None };
            Ok(SelectorItem { selector, alias })
        })?))
    }

    /// Any selector.
    pub(super) fn selector(&mut self) -> Parse<Selector> {
        self.nested(Self::selector_sum)
    }

    fn selector_sum(&mut self) -> Parse<Selector> {
        let mut left = self.selector_product()?;
        while let Some(operator) = additive(self.kind()) {
            if self.negative_number_follows() {
                break;
            }
            self.count_operator()?;
            self.advance()?;
            left = Selector::Arithmetic { operator, left: Box::new(left), right: Box::new(self.selector_product()?) };
        }
        Ok(left)
    }

    fn selector_product(&mut self) -> Parse<Selector> {
        let mut left = self.signed_selector()?;
        while let Some(operator) = multiplicative(self.kind()) {
            self.count_operator()?;
            self.advance()?;
            left = Selector::Arithmetic { operator, left: Box::new(left), right: Box::new(self.signed_selector()?) };
        }
        Ok(left)
    }

    fn signed_selector(&mut self) -> Parse<Selector> {
        if !self.accept(TokenKind::Minus)? {
            let selector = self.simple_selector()?;
            return self.parts_of(selector);
        }
        if is_number(self.kind()) {
            return Ok(Selector::Literal(self.negative_number()?));
        }
        Ok(Selector::Negation(Box::new(self.nested(Self::signed_selector)?)))
    }

    /// `selector`, or the field, element or slice of it that follows.
    fn parts_of(&mut self, mut selector: Selector) -> Parse<Selector> {
        loop {
            if self.accept(TokenKind::Dot)? {
                self.count_operator()?;
                selector = Selector::Field { of: Box::new(selector), field: self.identifier()? };
            } else if self.accept(TokenKind::OpenBracket)? {
                self.count_operator()?;
                selector = self.element_of(selector)?;
                self.expect(TokenKind::CloseBracket)?;
            } else {
                return Ok(selector);
            }
        }
    }

    fn element_of(&mut self, of: Selector) -> Parse<Selector> {
        let of = Box::new(of);
        if self.accept(TokenKind::Range)? {
            return Ok(Selector::Slice { of, from: None, to: Some(self.term()?) });
        }
        let key = self.term()?;
        if !self.accept(TokenKind::Range)? {
            return Ok(Selector::Element { of, key });
        }
        let to = if self.kind() == TokenKind::CloseBracket { None } else { Some(self.term()?) };
        Ok(Selector::Slice { of, from: Some(key), to })
    }

    fn simple_selector(&mut self) -> Parse<Selector> {
        if let Some(literal) = self.literal()? {
            return Ok(Selector::Literal(literal));
        }
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Ok(Selector::Marker(self.marker()?)),
            TokenKind::OpenParenthesis => self.tuple_or_hinted_selector(),
            TokenKind::OpenBracket => {
                self.advance()?;
                let elements = if self.kind() == TokenKind::CloseBracket { Vec::new() } else { self.list(Self::selector)? };
                self.expect(TokenKind::CloseBracket)?;
                Ok(Selector::List(elements))
            }
            TokenKind::OpenBrace => self.braced_selector(),
            _ => self.named_selector(),
        }
    }

    /// A function of some kind, or a column.
    fn named_selector(&mut self) -> Parse<Selector> {
        let kind = self.kind();
        match (kind, self.peek(1)) {
            (TokenKind::Keyword(keyword), TokenKind::OpenParenthesis) => match keyword {
                Keyword::Count if self.peek(2) == TokenKind::Star => {
                    self.advance()?;
                    self.advance()?;
                    self.advance()?;
                    self.expect(TokenKind::CloseParenthesis)?;
                    return Ok(Selector::CountRows);
                }
                Keyword::WriteTime => return self.cell_attribute(CellAttribute::WriteTime),
                Keyword::MaxWriteTime => return self.cell_attribute(CellAttribute::MaxWriteTime),
                Keyword::Ttl => return self.cell_attribute(CellAttribute::Ttl),
                Keyword::Cast => return self.cast_selector(),
                _ if is_function_name(kind) => return self.function_selector(),
                _ => {}
            },
            (_, TokenKind::OpenParenthesis) if is_function_name(kind) => return self.function_selector(),
            (_, TokenKind::Dot) if is_identifier(kind) && is_function_name(self.peek(2)) && self.peek(3) == TokenKind::OpenParenthesis => {
                return self.function_selector();
            }
            _ => {}
        }
        Ok(Selector::Column(self.identifier()?))
    }

    fn function_selector(&mut self) -> Parse<Selector> {
        let name = self.function_name()?;
        let arguments = self.optional_list(Self::selector)?;
        let counts_rows =
            matches!(arguments.as_slice(), [Selector::Literal(literal)] if *literal != Literal::Null) && is_native_count(&name);
        Ok(if counts_rows { Selector::CountRows } else { Selector::Function { name, arguments } })
    }

    fn cell_attribute(&mut self, attribute: CellAttribute) -> Parse<Selector> {
        self.advance()?;
        self.expect(TokenKind::OpenParenthesis)?;
        let column = Selector::Column(self.identifier()?);
        let of = Box::new(self.parts_of(column)?);
        self.expect(TokenKind::CloseParenthesis)?;
        Ok(Selector::CellAttribute { attribute, of })
    }

    fn cast_selector(&mut self) -> Parse<Selector> {
        self.advance()?;
        self.expect(TokenKind::OpenParenthesis)?;
        let value = Box::new(self.selector()?);
        self.expect_word(Keyword::As)?;
        let type_name = self.native_type()?;
        self.expect(TokenKind::CloseParenthesis)?;
        Ok(Selector::Cast { value, type_name })
    }

    /// `(selector, …)` or `(type) selector`
    fn tuple_or_hinted_selector(&mut self) -> Parse<Selector> {
        if let Some(type_name) = self.type_hint(Self::type_hint_before_selector)? {
            let value = self.nested(|parser| match parser.kind() {
                TokenKind::Minus => parser.signed_selector(),
                _ => parser.simple_selector(),
            })?;
            return Ok(Selector::TypeHint { type_name, value: Box::new(value) });
        }
        Ok(Selector::Tuple(self.parenthesised_list(Self::selector)?))
    }

    /// Whether a type in brackets, which may as well be a column or a string, has a value behind it.
    fn type_hint_before_selector(&self, type_name: &TypeName) -> bool {
        let ambiguous = matches!(type_name, TypeName::User(_) | TypeName::Custom(_));
        match self.kind() {
            TokenKind::OpenParenthesis | TokenKind::OpenBracket | TokenKind::OpenBrace | TokenKind::Question => true,
            // after a name, more likely the colon of a map literal
            TokenKind::Colon => !ambiguous,
            // `(a) - 3` subtracts, `(a) -3` is a value of the type a: so Cassandra reads it
            TokenKind::Minus => self.negative_number_follows(),
            TokenKind::Keyword(Keyword::As) => !is_identifier(self.peek(1)),
            TokenKind::Keyword(Keyword::Token) => true,
            kind => is_constant(kind) || is_identifier(kind),
        }
    }

    /// `{…}`: a set, or a map or value of a user-defined type.
    fn braced_selector(&mut self) -> Parse<Selector> {
        self.advance()?;
        if self.accept(TokenKind::CloseBrace)? {
            return Ok(Selector::Set(Vec::new()));
        }
        let first = self.selector()?;
        let selector = if self.accept(TokenKind::Colon)? {
            let mut entries = vec![(first, self.selector()?)];
            while self.accept(TokenKind::Comma)? {
                let key = self.selector()?;
                self.expect(TokenKind::Colon)?;
                entries.push((key, self.selector()?));
            }
            Selector::Map(entries)
        } else {
            let mut elements = vec![first];
            while self.accept(TokenKind::Comma)? {
                elements.push(self.selector()?);
            }
            Selector::Set(elements)
        };
        self.expect(TokenKind::CloseBrace)?;
        Ok(selector)
    }
}

fn is_native_count(name: &FunctionName) -> bool {
    name.name == "count" && name.keyspace.as_ref().is_none_or(|keyspace| *keyspace == "system")
}
