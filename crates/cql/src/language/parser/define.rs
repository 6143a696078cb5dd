//! Rules for keyspaces, indexes, types, views and triggers. Each starts after the words that lead to it.

use super::{Parse, cursor::Parser};
use crate::language::{
    ast::{
        AlterKeyspace, AlterType, AlterTypeOperation, AlterView, CreateIndex, CreateKeyspace, CreateTrigger, CreateType, CreateView,
        DropIndex, DropKeyspace, DropTrigger, DropType, DropView, Identifier, IndexTarget, TypeName,
    },
    keyword::Keyword,
    token::TokenKind,
};

impl Parser<'_> {
    pub(super) fn create_keyspace(&mut self) -> Parse<CreateKeyspace> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.keyspace_name()?;
        Ok(CreateKeyspace { name, if_not_exists, properties: self.with_properties()? })
    }

    pub(super) fn alter_keyspace(&mut self) -> Parse<AlterKeyspace> {
        let if_exists = self.if_exists()?;
        let name = self.keyspace_name()?;
        Ok(AlterKeyspace { name, if_exists, properties: self.with_properties()? })
    }

    pub(super) fn drop_keyspace(&mut self) -> Parse<DropKeyspace> {
        let if_exists = self.if_exists()?;
        Ok(DropKeyspace { name: self.keyspace_name()?, if_exists })
    }

    /// Starts at `CUSTOM` or `INDEX`.
    pub(super) fn create_index(&mut self) -> Parse<CreateIndex> {
        let custom = self.accept_word(Keyword::Custom)?;
        self.expect_word(Keyword::Index)?;
        let if_not_exists = self.if_not_exists()?;
        let name = if self.at(Keyword::On) { None } else { Some(self.identifier()?) };
        self.expect_word(Keyword::On)?;
        let table = self.table_name()?;
        let targets = self.optional_list(Self::index_target)?;
        let using = if self.accept_word(Keyword::Using)? { Some(self.string()?) } else { None };
        let properties = self.optional_properties()?;
        Ok(CreateIndex { name, custom, if_not_exists, table, targets, using, properties })
    }

    fn index_target(&mut self) -> Parse<IndexTarget> {
        if self.kind() == TokenKind::OpenParenthesis {
            return Ok(IndexTarget::Columns(self.parenthesised_list(Self::column)?));
        }
        let TokenKind::Keyword(keyword @ (Keyword::Keys | Keyword::Values | Keyword::Entries | Keyword::Full)) = self.kind() else {
            return Ok(IndexTarget::Column(self.column()?));
        };
        if self.peek(1) != TokenKind::OpenParenthesis {
            return Ok(IndexTarget::Column(self.column()?));
        }
        self.advance()?;
        self.advance()?;
        let column = self.column()?;
        self.expect(TokenKind::CloseParenthesis)?;
        Ok(match keyword {
            Keyword::Keys => IndexTarget::Keys(column),
            Keyword::Values => IndexTarget::Values(column),
            Keyword::Entries => IndexTarget::Entries(column),
            _ => IndexTarget::Full(column),
        })
    }

    pub(super) fn drop_index(&mut self) -> Parse<DropIndex> {
        let if_exists = self.if_exists()?;
        Ok(DropIndex { name: self.index_name()?, if_exists })
    }

    pub(super) fn create_type(&mut self) -> Parse<CreateType> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.user_type_name()?;
        self.expect(TokenKind::OpenParenthesis)?;
        let mut fields = vec![self.field_definition()?];
        while self.accept(TokenKind::Comma)? {
            if !matches!(self.kind(), TokenKind::Comma | TokenKind::CloseParenthesis) {
                fields.push(self.field_definition()?);
            }
        }
        self.expect(TokenKind::CloseParenthesis)?;
        Ok(CreateType { name, if_not_exists, fields })
    }

    fn field_definition(&mut self) -> Parse<(Identifier, TypeName)> {
        let field = self.identifier()?;
        Ok((field, self.type_name()?))
    }

    pub(super) fn alter_type(&mut self) -> Parse<AlterType> {
        let if_exists = self.if_exists()?;
        let name = self.user_type_name()?;
        let operation = if self.accept_word(Keyword::Add)? {
            let if_not_exists = self.if_not_exists()?;
            let (field, type_name) = self.field_definition()?;
            AlterTypeOperation::Add { if_not_exists, field, type_name }
        } else if self.accept_word(Keyword::Rename)? {
            let if_exists = self.if_exists()?;
            AlterTypeOperation::Rename { if_exists, fields: self.conjunction(Self::renaming)? }
        } else if self.accept_word(Keyword::Alter)? {
            let field = self.identifier()?;
            self.expect_word(Keyword::Type)?;
            AlterTypeOperation::AlterType { field, type_name: self.type_name()? }
        } else {
            return Err(self.unexpected());
        };
        Ok(AlterType { name, if_exists, operation })
    }

    pub(super) fn drop_type(&mut self) -> Parse<DropType> {
        let if_exists = self.if_exists()?;
        Ok(DropType { name: self.user_type_name()?, if_exists })
    }

    pub(super) fn create_view(&mut self) -> Parse<CreateView> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        self.expect_words(&[Keyword::As, Keyword::Select])?;
        let selection = self.selection()?;
        self.expect_word(Keyword::From)?;
        let from = self.table_name()?;
        let where_clause = self.optional_where()?;
        let primary_key = self.primary_key()?;
        let options = self.table_options()?;
        Ok(CreateView { name, if_not_exists, selection, from, where_clause, primary_key, options })
    }

    pub(super) fn alter_view(&mut self) -> Parse<AlterView> {
        let if_exists = self.if_exists()?;
        let name = self.table_name()?;
        Ok(AlterView { name, if_exists, properties: self.with_properties()? })
    }

    pub(super) fn drop_view(&mut self) -> Parse<DropView> {
        let if_exists = self.if_exists()?;
        Ok(DropView { name: self.table_name()?, if_exists })
    }

    pub(super) fn create_trigger(&mut self) -> Parse<CreateTrigger> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.identifier()?;
        self.expect_word(Keyword::On)?;
        let table = self.table_name()?;
        self.expect_word(Keyword::Using)?;
        Ok(CreateTrigger { name, if_not_exists, table, class: self.string()? })
    }

    pub(super) fn drop_trigger(&mut self) -> Parse<DropTrigger> {
        let if_exists = self.if_exists()?;
        let name = self.identifier()?;
        self.expect_word(Keyword::On)?;
        Ok(DropTrigger { name, if_exists, table: self.table_name()? })
    }
}
