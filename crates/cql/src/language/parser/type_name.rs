//! Rules for types.

use super::{Parse, cursor::Parser};
use crate::language::{
    SyntaxErrorKind,
    ast::{NativeType, TypeName},
    error::shortened,
    keyword::Keyword,
    token::TokenKind,
};

impl Parser<'_> {
    /// Any type.
    pub(super) fn type_name(&mut self) -> Parse<TypeName> {
        self.nested(Self::type_name_inside)
    }

    fn type_name_inside(&mut self) -> Parse<TypeName> {
        let TokenKind::Keyword(keyword) = self.kind() else {
            return match self.kind() {
                TokenKind::QuotedString | TokenKind::DollarString => Ok(TypeName::Custom(self.string()?)),
                _ => Ok(TypeName::User(self.user_type_name()?)),
            };
        };
        match self.peek(1) {
            TokenKind::Dot => return Ok(TypeName::User(self.user_type_name()?)),
            TokenKind::Less => match keyword {
                Keyword::List => return Ok(TypeName::List(self.type_parameter()?)),
                Keyword::Set => return Ok(TypeName::Set(self.type_parameter()?)),
                Keyword::Frozen => return Ok(TypeName::Frozen(self.type_parameter()?)),
                Keyword::Map => return self.map_type(),
                Keyword::Tuple => return self.tuple_type(),
                Keyword::Vector => return self.vector_type(),
                _ => {}
            },
            _ => {}
        }
        match NativeType::of_keyword(keyword) {
            Some(native) => {
                self.advance()?;
                Ok(TypeName::Native(native))
            }
            None => Ok(TypeName::User(self.user_type_name()?)),
        }
    }

    /// A type that CAST can convert to.
    pub(super) fn native_type(&mut self) -> Parse<NativeType> {
        let native = match self.kind() {
            TokenKind::Keyword(keyword) => NativeType::of_keyword(keyword),
            _ => None,
        };
        let native = native.ok_or_else(|| self.unexpected())?;
        self.advance()?;
        Ok(native)
    }

    /// `word <type>`
    fn type_parameter(&mut self) -> Parse<Box<TypeName>> {
        self.open_parameters()?;
        let parameter = self.type_name()?;
        self.expect(TokenKind::Greater)?;
        Ok(Box::new(parameter))
    }

    fn open_parameters(&mut self) -> Parse<()> {
        self.advance()?;
        self.expect(TokenKind::Less)?;
        Ok(())
    }

    fn map_type(&mut self) -> Parse<TypeName> {
        self.open_parameters()?;
        let key = self.type_name()?;
        self.expect(TokenKind::Comma)?;
        let value = self.type_name()?;
        self.expect(TokenKind::Greater)?;
        Ok(TypeName::Map(Box::new(key), Box::new(value)))
    }

    fn tuple_type(&mut self) -> Parse<TypeName> {
        self.open_parameters()?;
        let elements = self.list(Self::type_name)?;
        self.expect(TokenKind::Greater)?;
        Ok(TypeName::Tuple(elements))
    }

    fn vector_type(&mut self) -> Parse<TypeName> {
        self.open_parameters()?;
        let element = Box::new(self.type_name()?);
        self.expect(TokenKind::Comma)?;
        let negative = self.kind() == TokenKind::Minus;
        if negative {
            self.advance()?;
        }
        if self.kind() != TokenKind::Integer {
            return Err(self.mismatch(TokenKind::Integer));
        }
        let text = format!("{}{}", if negative { "-" } else { "" }, self.token_text());
        let dimension = text.parse().map_err(|_| self.fault_here(SyntaxErrorKind::IntegerOutOfRange { text: shortened(&text).into() }))?;
        self.advance()?;
        self.expect(TokenKind::Greater)?;
        Ok(TypeName::Vector { element, dimension })
    }
}
