//! The head of the statement in a frame.

use super::Reader;
use super::reply::ReplyHeader;
use super::statement;
use crate::GridError;

/// The head of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// How its reply begins.
    pub reply: ReplyHeader,
    /// The partition that it is about.
    pub partition: i32,
    /// Its arguments.
    pub arguments: Reader<'a>,
}

impl<'a> Statement<'a> {
    /// Reads the head of a frame's body.
    ///
    /// # Errors
    /// The body ends within it.
    pub fn read(body: &'a [u8], is_ipv6: bool) -> Result<Self, GridError> {
        let mut reader = Reader::new(body);
        let number = reader.i32()?;
        let partition = reader.i32()?;
        let id = if number == statement::CONNECT { i64::from(reader.i32()?) } else { reader.i64()? };
        Ok(Self { reply: ReplyHeader { statement: number, id, is_ipv6, is_repeatable: false }, partition, arguments: reader })
    }

    /// Which statement it is.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.reply.statement
    }
}
