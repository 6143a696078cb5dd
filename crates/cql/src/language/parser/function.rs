//! Rules for functions and aggregates. Each starts after the words that lead to it.

use super::{Parse, cursor::Parser};
use crate::language::{
    ast::{CreateAggregate, CreateFunction, DropAggregate, DropFunction, NullInput, TypeName},
    keyword::Keyword,
    token::TokenKind,
};

impl Parser<'_> {
    pub(super) fn create_function(&mut self, or_replace: bool) -> Parse<CreateFunction> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.function_name()?;
        let arguments = self.optional_list(|parser| {
            let argument = parser.identifier()?;
            Ok((argument, parser.type_name()?))
        })?;
        let null_input = if self.accept_word(Keyword::Called)? {
            NullInput::Called
        } else {
            self.expect_words(&[Keyword::Returns, Keyword::Null])?;
            NullInput::ReturnsNull
        };
        self.expect_words(&[Keyword::On, Keyword::Null, Keyword::Input, Keyword::Returns])?;
        let returns = self.type_name()?;
        self.expect_word(Keyword::Language)?;
        let language = self.identifier()?;
        self.expect_word(Keyword::As)?;
        let body = self.string()?;
        Ok(CreateFunction { name, or_replace, if_not_exists, arguments, null_input, returns, language, body })
    }

    pub(super) fn drop_function(&mut self) -> Parse<DropFunction> {
        let if_exists = self.if_exists()?;
        let name = self.function_name()?;
        Ok(DropFunction { name, if_exists, arguments: self.optional_argument_types()? })
    }

    pub(super) fn create_aggregate(&mut self, or_replace: bool) -> Parse<CreateAggregate> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.function_name()?;
        let arguments = self.optional_list(Self::type_name)?;
        self.expect_word(Keyword::SFunc)?;
        let state_function = self.plain_function_name()?;
        self.expect_word(Keyword::SType)?;
        let state_type = self.type_name()?;
        let reduce_function = if self.accept_word(Keyword::ReduceFunc)? { Some(self.plain_function_name()?) } else { None };
        let final_function = if self.accept_word(Keyword::FinalFunc)? { Some(self.plain_function_name()?) } else { None };
        let initial_condition = if self.accept_word(Keyword::InitCond)? { Some(self.term()?) } else { None };
        Ok(CreateAggregate {
            name,
            or_replace,
            if_not_exists,
            arguments,
            state_function,
            state_type,
            reduce_function,
            final_function,
            initial_condition,
        })
    }

    pub(super) fn drop_aggregate(&mut self) -> Parse<DropAggregate> {
        let if_exists = self.if_exists()?;
        let name = self.function_name()?;
        Ok(DropAggregate { name, if_exists, arguments: self.optional_argument_types()? })
    }

    fn optional_argument_types(&mut self) -> Parse<Option<Vec<TypeName>>> {
        if self.kind() == TokenKind::OpenParenthesis { Ok(Some(self.optional_list(Self::type_name)?)) } else { Ok(None) }
    }
}
