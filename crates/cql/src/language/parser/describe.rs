//! The rule for DESCRIBE.

use super::{Parse, cursor::Parser};
use crate::language::{
    ast::{Describe, DescribeTarget, KeyspaceScope, SchemaScope},
    keyword::Keyword,
    token::TokenKind,
};

impl Parser<'_> {
    /// `DESCRIBE …` or `DESC …`
    pub(super) fn describe(&mut self) -> Parse<Describe> {
        self.advance()?;
        let target = self.describe_target()?;
        let with_internals = self.accept_words(&[Keyword::With, Keyword::Internals])?;
        let with_passwords = with_internals && self.accept_words(&[Keyword::And, Keyword::Passwords])?;
        Ok(Describe { target, with_internals, with_passwords })
    }

    fn describe_target(&mut self) -> Parse<DescribeTarget> {
        let TokenKind::Keyword(keyword) = self.kind() else { return Ok(DescribeTarget::Any(self.table_name()?)) };
        let next = self.peek(1);
        let alone = matches!(next, TokenKind::End | TokenKind::Semicolon | TokenKind::Keyword(Keyword::With));
        let plural = match keyword {
            Keyword::Cluster => Some(DescribeTarget::Cluster),
            Keyword::Keyspaces => Some(DescribeTarget::Keyspaces),
            Keyword::Tables | Keyword::ColumnFamilies => Some(DescribeTarget::Tables),
            Keyword::Types => Some(DescribeTarget::Types),
            Keyword::Functions => Some(DescribeTarget::Functions),
            Keyword::Aggregates => Some(DescribeTarget::Aggregates),
            _ => None,
        };
        match plural {
            Some(target) if next != TokenKind::Dot => {
                self.advance()?;
                return Ok(target);
            }
            _ => {}
        }
        match keyword {
            Keyword::Full => {
                self.expect_words(&[Keyword::Full, Keyword::Schema])?;
                Ok(DescribeTarget::Schema(SchemaScope::Full))
            }
            Keyword::Schema => {
                self.advance()?;
                Ok(DescribeTarget::Schema(SchemaScope::User))
            }
            Keyword::Only if matches!(next, TokenKind::Keyword(Keyword::Keyspace)) => {
                self.advance()?;
                self.describe_keyspace(KeyspaceScope::Only)
            }
            Keyword::Keyspace => self.describe_keyspace(KeyspaceScope::WithContents),
            Keyword::Table | Keyword::ColumnFamily => {
                self.advance()?;
                Ok(DescribeTarget::Table(self.table_name()?))
            }
            Keyword::Index => {
                self.advance()?;
                Ok(DescribeTarget::Index(self.index_name()?))
            }
            Keyword::Materialized => {
                self.expect_words(&[Keyword::Materialized, Keyword::View])?;
                Ok(DescribeTarget::View(self.table_name()?))
            }
            // unreserved: alone or before a point they are the name of something
            _ if alone || next == TokenKind::Dot => Ok(DescribeTarget::Any(self.table_name()?)),
            Keyword::Type => {
                self.advance()?;
                Ok(DescribeTarget::Type(self.user_type_name()?))
            }
            Keyword::Function => {
                self.advance()?;
                Ok(DescribeTarget::Function(self.function_name()?))
            }
            Keyword::Aggregate => {
                self.advance()?;
                Ok(DescribeTarget::Aggregate(self.function_name()?))
            }
            _ => Ok(DescribeTarget::Any(self.table_name()?)),
        }
    }

    /// `KEYSPACE [ks]`
    fn describe_keyspace(&mut self, scope: KeyspaceScope) -> Parse<DescribeTarget> {
        self.expect_word(Keyword::Keyspace)?;
        let unnamed = matches!(self.kind(), TokenKind::End | TokenKind::Semicolon | TokenKind::Keyword(Keyword::With));
        Ok(DescribeTarget::Keyspace(scope, if unnamed { None } else { Some(self.keyspace_name()?) }))
    }
}
