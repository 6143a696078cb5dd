//! Which rule a statement is for.

use super::{Parse, cursor::Parser};
use crate::language::{Statement, ast::UnsupportedStatement, keyword::Keyword, token::TokenKind};

impl Parser<'_> {
    /// Any statement.
    pub(super) fn statement(&mut self) -> Parse<Statement> {
        if self.service_level_follows() {
            while !matches!(self.kind(), TokenKind::End | TokenKind::Semicolon) {
                self.advance()?;
            }
            return Ok(Statement::Unsupported(UnsupportedStatement::ServiceLevel));
        }
        let TokenKind::Keyword(keyword) = self.kind() else { return Err(self.unexpected()) };
        match keyword {
            Keyword::Select => Ok(Statement::Select(self.select()?)),
            Keyword::Insert => Ok(Statement::Insert(self.insert()?)),
            Keyword::Update => Ok(Statement::Update(self.update()?)),
            Keyword::Delete => Ok(Statement::Delete(self.delete()?)),
            Keyword::Begin => Ok(Statement::Batch(self.batch()?)),
            Keyword::Truncate => Ok(Statement::Truncate(self.truncate()?)),
            Keyword::Prune => Ok(Statement::PruneView(self.prune()?)),
            Keyword::Use => {
                self.advance()?;
                Ok(Statement::Use(self.keyspace_name()?))
            }
            Keyword::Create => self.create(),
            Keyword::Alter => self.alter(),
            Keyword::Drop => self.drop(),
            Keyword::Grant => self.grant(),
            Keyword::Revoke => self.revoke(),
            Keyword::List => self.list_statement(),
            Keyword::Add => Ok(Statement::AddIdentity(self.add_identity()?)),
            Keyword::Describe | Keyword::Desc => Ok(Statement::Describe(self.describe()?)),
            _ => Err(self.unexpected()),
        }
    }

    /// `CREATE …`
    fn create(&mut self) -> Parse<Statement> {
        self.advance()?;
        if self.accept_words(&[Keyword::Or, Keyword::Replace])? {
            return match self.kind() {
                TokenKind::Keyword(Keyword::Function) => {
                    self.advance()?;
                    Ok(Statement::CreateFunction(self.create_function(true)?))
                }
                TokenKind::Keyword(Keyword::Aggregate) => {
                    self.advance()?;
                    Ok(Statement::CreateAggregate(self.create_aggregate(true)?))
                }
                _ => Err(self.unexpected()),
            };
        }
        if self.at(Keyword::Custom) || self.at(Keyword::Index) {
            return Ok(Statement::CreateIndex(self.create_index()?));
        }
        match self.schema_noun()? {
            Keyword::Keyspace => Ok(Statement::CreateKeyspace(self.create_keyspace()?)),
            Keyword::Table => self.create_table(),
            Keyword::Type => Ok(Statement::CreateType(self.create_type()?)),
            Keyword::View => Ok(Statement::CreateView(self.create_view()?)),
            Keyword::Function => Ok(Statement::CreateFunction(self.create_function(false)?)),
            Keyword::Aggregate => Ok(Statement::CreateAggregate(self.create_aggregate(false)?)),
            Keyword::Trigger => Ok(Statement::CreateTrigger(self.create_trigger()?)),
            Keyword::Role => Ok(Statement::CreateRole(self.create_role()?)),
            Keyword::User => Ok(Statement::CreateRole(self.create_user()?)),
            _ => Err(self.unexpected()),
        }
    }

    /// `ALTER …`
    fn alter(&mut self) -> Parse<Statement> {
        self.advance()?;
        match self.schema_noun()? {
            Keyword::Keyspace => Ok(Statement::AlterKeyspace(self.alter_keyspace()?)),
            Keyword::Table => Ok(Statement::AlterTable(self.alter_table()?)),
            Keyword::Type => Ok(Statement::AlterType(self.alter_type()?)),
            Keyword::View => Ok(Statement::AlterView(self.alter_view()?)),
            Keyword::Role => Ok(Statement::AlterRole(self.alter_role()?)),
            Keyword::User => Ok(Statement::AlterRole(self.alter_user()?)),
            _ => Err(self.unexpected()),
        }
    }

    /// `DROP …`
    fn drop(&mut self) -> Parse<Statement> {
        self.advance()?;
        match self.schema_noun()? {
            Keyword::Keyspace => Ok(Statement::DropKeyspace(self.drop_keyspace()?)),
            Keyword::Table => Ok(Statement::DropTable(self.drop_table()?)),
            Keyword::Index => Ok(Statement::DropIndex(self.drop_index()?)),
            Keyword::Type => Ok(Statement::DropType(self.drop_type()?)),
            Keyword::View => Ok(Statement::DropView(self.drop_view()?)),
            Keyword::Function => Ok(Statement::DropFunction(self.drop_function()?)),
            Keyword::Aggregate => Ok(Statement::DropAggregate(self.drop_aggregate()?)),
            Keyword::Trigger => Ok(Statement::DropTrigger(self.drop_trigger()?)),
            Keyword::Role => Ok(Statement::DropRole(self.drop_role()?)),
            Keyword::User => Ok(Statement::DropRole(self.drop_user()?)),
            Keyword::Identity => Ok(Statement::DropIdentity(self.drop_identity()?)),
            _ => Err(self.unexpected()),
        }
    }

    /// The word for what a schema statement is about, with one word for those that have two.
    fn schema_noun(&mut self) -> Parse<Keyword> {
        let TokenKind::Keyword(keyword) = self.kind() else { return Err(self.unexpected()) };
        match keyword {
            Keyword::Schema | Keyword::Keyspace => {
                self.advance()?;
                Ok(Keyword::Keyspace)
            }
            Keyword::ColumnFamily | Keyword::Table => {
                self.advance()?;
                Ok(Keyword::Table)
            }
            Keyword::Materialized => {
                self.expect_words(&[Keyword::Materialized, Keyword::View])?;
                Ok(Keyword::View)
            }
            Keyword::Index
            | Keyword::Type
            | Keyword::Function
            | Keyword::Aggregate
            | Keyword::Trigger
            | Keyword::Role
            | Keyword::User
            | Keyword::Identity => {
                self.advance()?;
                Ok(keyword)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Whether this is one of ScyllaDB's statements about service levels.
    fn service_level_follows(&self) -> bool {
        let TokenKind::Keyword(first) = self.kind() else { return false };
        let at_level = |distance| {
            self.peek_is(distance, Keyword::ServiceLevel)
                || self.peek_is(distance, Keyword::ServiceLevels)
                || (self.peek_is(distance, Keyword::Service)
                    && (self.peek_is(distance + 1, Keyword::Level) || self.peek_is(distance + 1, Keyword::Levels)))
        };
        match first {
            Keyword::Create | Keyword::Alter | Keyword::Drop | Keyword::Attach | Keyword::Detach => at_level(1),
            Keyword::List => {
                let qualified = [Keyword::All, Keyword::Attached, Keyword::Effective].iter().any(|word| self.peek_is(1, *word));
                at_level(1) || (qualified && at_level(2))
            }
            _ => false,
        }
    }
}
