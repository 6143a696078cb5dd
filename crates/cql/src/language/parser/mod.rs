//! Tokens to a tree: recursive descent, one function a rule of the grammar, a file a family of rules.
//!
//! The parser sees the current token and may peek at the ones after it by copying the lexer. It goes back in one place only, where a
//! bracket may open a type or a value; a type holds no values, so going back does not multiply.

mod access;
mod cursor;
mod define;
mod describe;
mod function;
mod modification;
mod name;
mod property;
mod relation;
mod select;
mod selector;
mod statement;
mod table;
mod term;
mod type_name;

use super::{Parsed, token::TokenKind};
use cursor::{Parse, Parser};

/// The one statement that `text` is.
pub(super) fn parse(text: &str) -> Parse<Parsed> {
    let mut parser = Parser::new(text)?;
    let statement = parser.statement()?;
    while parser.accept(TokenKind::Semicolon)? {}
    parser.finish(statement)
}
