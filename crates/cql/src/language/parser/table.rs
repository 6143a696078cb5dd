//! Rules for CREATE, ALTER and DROP TABLE.

use super::{Parse, cursor::Parser, property::PropertyNames};
use crate::language::{
    Statement,
    ast::{
        AlterTable, AlterTableOperation, ColumnDefinition, ColumnMask, CopyTable, CreateTable, DropTable, Identifier, Literal,
        OrderDirection, PrimaryKey, TableOptions,
    },
    keyword::Keyword,
    token::TokenKind,
};

impl Parser<'_> {
    /// What stands after `CREATE TABLE`.
    pub(super) fn create_table(&mut self) -> Parse<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        if self.accept_word(Keyword::Like)? {
            let source = self.table_name()?;
            return Ok(Statement::CopyTable(CopyTable { name, if_not_exists, source, properties: self.optional_properties()? }));
        }
        let mut columns = Vec::new();
        let mut primary_keys = Vec::new();
        self.expect(TokenKind::OpenParenthesis)?;
        self.table_element(&mut columns, &mut primary_keys)?;
        while self.accept(TokenKind::Comma)? {
            if !matches!(self.kind(), TokenKind::Comma | TokenKind::CloseParenthesis) {
                self.table_element(&mut columns, &mut primary_keys)?;
            }
        }
        self.expect(TokenKind::CloseParenthesis)?;
        let options = self.table_options()?;
        Ok(Statement::CreateTable(CreateTable { name, if_not_exists, columns, primary_keys, options }))
    }

    /// A column or a PRIMARY KEY.
    fn table_element(&mut self, columns: &mut Vec<ColumnDefinition>, primary_keys: &mut Vec<PrimaryKey>) -> Parse<()> {
        if self.at(Keyword::Primary) {
            primary_keys.push(self.primary_key()?);
            return Ok(());
        }
        let column = self.column_definition()?;
        if self.accept_words(&[Keyword::Primary, Keyword::Key])? {
            primary_keys.push(PrimaryKey { partition: vec![column.name.clone()], clustering: Vec::new() });
        }
        columns.push(column);
        Ok(())
    }

    fn column_definition(&mut self) -> Parse<ColumnDefinition> {
        let name = self.identifier()?;
        let type_name = self.type_name()?;
        let is_static = self.accept_word(Keyword::Static)?;
        let mask = if self.at(Keyword::Masked) { Some(self.column_mask()?) } else { None };
        Ok(ColumnDefinition { name, type_name, is_static, mask })
    }

    /// `MASKED WITH …`
    fn column_mask(&mut self) -> Parse<ColumnMask> {
        self.expect_words(&[Keyword::Masked, Keyword::With])?;
        if self.at(Keyword::Default) && !matches!(self.peek(1), TokenKind::OpenParenthesis | TokenKind::Dot) {
            self.advance()?;
            return Ok(ColumnMask::Default);
        }
        let name = self.function_name()?;
        Ok(ColumnMask::Function { name, arguments: self.optional_list(Self::term)? })
    }

    /// `PRIMARY KEY (…)`
    pub(super) fn primary_key(&mut self) -> Parse<PrimaryKey> {
        self.expect_words(&[Keyword::Primary, Keyword::Key])?;
        self.expect(TokenKind::OpenParenthesis)?;
        let partition = match self.kind() {
            TokenKind::OpenParenthesis => self.parenthesised_list(Self::identifier)?,
            _ => vec![self.identifier()?],
        };
        let clustering = if self.accept(TokenKind::Comma)? { self.list(Self::identifier)? } else { Vec::new() };
        self.expect(TokenKind::CloseParenthesis)?;
        Ok(PrimaryKey { partition, clustering })
    }

    /// `WITH …` of a table or view, if it is there.
    pub(super) fn table_options(&mut self) -> Parse<TableOptions> {
        let mut options = TableOptions::default();
        if !self.accept_word(Keyword::With)? {
            return Ok(options);
        }
        let mut seen = PropertyNames::default();
        loop {
            if self.at(Keyword::Compact) && self.peek_is(1, Keyword::Storage) {
                self.expect_words(&[Keyword::Compact, Keyword::Storage])?;
                options.compact_storage = true;
            } else if self.at(Keyword::Clustering) && self.peek_is(1, Keyword::Order) {
                self.expect_words(&[Keyword::Clustering, Keyword::Order, Keyword::By])?;
                options.clustering_order.extend(self.parenthesised_list(Self::clustering_order)?);
            } else {
                options.properties.push(self.property(&mut seen)?);
            }
            if !self.accept_word(Keyword::And)? {
                return Ok(options);
            }
        }
    }

    fn clustering_order(&mut self) -> Parse<(Identifier, OrderDirection)> {
        let column = self.identifier()?;
        let direction = self.optional_direction()?.ok_or_else(|| self.unexpected())?;
        Ok((column, direction))
    }

    /// What stands after `ALTER TABLE`.
    pub(super) fn alter_table(&mut self) -> Parse<AlterTable> {
        let if_exists = self.if_exists()?;
        let name = self.table_name()?;
        let operation = match self.kind() {
            TokenKind::Keyword(Keyword::Add) => self.add_columns()?,
            TokenKind::Keyword(Keyword::Drop) => self.drop_columns()?,
            TokenKind::Keyword(Keyword::Rename) => self.rename_columns()?,
            TokenKind::Keyword(Keyword::Alter) => self.alter_column()?,
            TokenKind::Keyword(Keyword::With) => AlterTableOperation::With(self.with_properties()?),
            _ => return Err(self.unexpected()),
        };
        Ok(AlterTable { name, if_exists, operation })
    }

    fn add_columns(&mut self) -> Parse<AlterTableOperation> {
        self.advance()?;
        let if_not_exists = self.if_not_exists()?;
        let columns = match self.kind() {
            TokenKind::OpenParenthesis => self.parenthesised_list(Self::column_definition)?,
            // without brackets Cassandra takes one, ScyllaDB several
            _ => self.list(Self::column_definition)?,
        };
        Ok(AlterTableOperation::Add { if_not_exists, columns })
    }

    fn drop_columns(&mut self) -> Parse<AlterTableOperation> {
        self.advance()?;
        if self.at(Keyword::Compact) && self.peek_is(1, Keyword::Storage) {
            self.expect_words(&[Keyword::Compact, Keyword::Storage])?;
            return Ok(AlterTableOperation::DropCompactStorage);
        }
        let if_exists = self.if_exists()?;
        let columns = match self.kind() {
            TokenKind::OpenParenthesis => self.parenthesised_list(Self::identifier)?,
            _ => self.list(Self::identifier)?,
        };
        let timestamp = if self.accept_words(&[Keyword::Using, Keyword::Timestamp])? {
            if self.kind() != TokenKind::Integer {
                return Err(self.mismatch(TokenKind::Integer));
            }
            let token = self.advance()?;
            Some(Literal::Integer(self.text_of(token).into()))
        } else {
            None
        };
        Ok(AlterTableOperation::Drop { if_exists, columns, timestamp })
    }

    fn rename_columns(&mut self) -> Parse<AlterTableOperation> {
        self.advance()?;
        let if_exists = self.if_exists()?;
        let columns = self.conjunction(Self::renaming)?;
        Ok(AlterTableOperation::Rename { if_exists, columns })
    }

    /// `old TO new`
    pub(super) fn renaming(&mut self) -> Parse<(Identifier, Identifier)> {
        let old = self.identifier()?;
        self.expect_word(Keyword::To)?;
        Ok((old, self.identifier()?))
    }

    fn alter_column(&mut self) -> Parse<AlterTableOperation> {
        self.advance()?;
        let if_exists = self.if_exists()?;
        let column = self.column()?;
        if !if_exists && self.accept_word(Keyword::Type)? {
            return Ok(AlterTableOperation::AlterType { column, type_name: self.type_name()? });
        }
        if self.accept_words(&[Keyword::Drop, Keyword::Masked])? {
            return Ok(AlterTableOperation::Mask { if_exists, column, mask: None });
        }
        Ok(AlterTableOperation::Mask { if_exists, column, mask: Some(self.column_mask()?) })
    }

    /// What stands after `DROP TABLE`.
    pub(super) fn drop_table(&mut self) -> Parse<DropTable> {
        let if_exists = self.if_exists()?;
        Ok(DropTable { name: self.table_name()?, if_exists })
    }
}
