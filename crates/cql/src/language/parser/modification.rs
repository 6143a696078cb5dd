//! Rules for INSERT, UPDATE, DELETE, BATCH, TRUNCATE.

use super::{
    Parse,
    cursor::{Parser, fault_at},
    name::is_identifier,
};
use crate::language::{
    SyntaxErrorKind,
    ast::{
        Assignment, Batch, BatchKind, Delete, Deletion, Identifier, Insert, InsertSource, JsonDefault, JsonValue, Modification, PruneView,
        Term, Truncate, Update,
    },
    keyword::Keyword,
    token::TokenKind,
};

/// What USING may say in INSERT, UPDATE and BATCH.
const WRITE_ATTRIBUTES: &[Keyword] = &[Keyword::Timestamp, Keyword::Ttl, Keyword::Timeout];
/// What USING may say in DELETE.
const DELETE_ATTRIBUTES: &[Keyword] = &[Keyword::Timestamp, Keyword::Timeout];

impl Parser<'_> {
    /// `INSERT …`
    pub(super) fn insert(&mut self) -> Parse<Insert> {
        self.expect_words(&[Keyword::Insert, Keyword::Into])?;
        let table = self.table_name()?;
        let source = if self.accept_word(Keyword::Json)? {
            let value = match self.kind() {
                TokenKind::Question | TokenKind::Colon => JsonValue::Marker(self.marker()?),
                _ => JsonValue::Text(self.string()?),
            };
            InsertSource::Json { value, default: self.json_default()? }
        } else {
            let columns = self.parenthesised_list(Self::column)?;
            self.expect_word(Keyword::Values)?;
            InsertSource::Values { columns, values: self.parenthesised_list(Self::term)? }
        };
        let if_not_exists = self.if_not_exists()?;
        let attributes = self.attributes(WRITE_ATTRIBUTES)?;
        Ok(Insert { table, source, if_not_exists, attributes })
    }

    fn json_default(&mut self) -> Parse<JsonDefault> {
        if !self.accept_word(Keyword::Default)? {
            return Ok(JsonDefault::Null);
        }
        if self.accept_word(Keyword::Unset)? {
            return Ok(JsonDefault::Unset);
        }
        self.expect_word(Keyword::Null)?;
        Ok(JsonDefault::Null)
    }

    /// `UPDATE …`
    pub(super) fn update(&mut self) -> Parse<Update> {
        self.expect_word(Keyword::Update)?;
        let table = self.table_name()?;
        let attributes = self.attributes(WRITE_ATTRIBUTES)?;
        self.expect_word(Keyword::Set)?;
        let assignments = self.list(Self::assignment)?;
        let where_clause = self.where_clause()?;
        let condition = self.optional_condition()?;
        Ok(Update { table, attributes, assignments, where_clause, condition })
    }

    fn assignment(&mut self) -> Parse<Assignment> {
        let column = self.column()?;
        match self.kind() {
            TokenKind::Equal => {
                self.advance()?;
                self.whole_column_assignment(column)
            }
            TokenKind::PlusEqual => {
                self.advance()?;
                Ok(Assignment::Add { column, value: self.term()? })
            }
            TokenKind::MinusEqual => {
                self.advance()?;
                Ok(Assignment::Subtract { column, value: self.term()? })
            }
            TokenKind::OpenBracket => {
                self.advance()?;
                let key = self.term()?;
                self.expect(TokenKind::CloseBracket)?;
                self.expect(TokenKind::Equal)?;
                Ok(Assignment::SetElement { column, key, value: self.term()? })
            }
            TokenKind::Dot => {
                self.advance()?;
                let field = self.identifier()?;
                self.expect(TokenKind::Equal)?;
                Ok(Assignment::SetField { column, field, value: self.term()? })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// What stands after `column =`.
    fn whole_column_assignment(&mut self, column: Identifier) -> Parse<Assignment> {
        let column_first = is_identifier(self.kind()) && matches!(self.peek(1), TokenKind::Plus | TokenKind::Minus);
        if column_first {
            let adds = self.peek(1) == TokenKind::Plus;
            self.same_column(&column, if adds { "X = X + <value>" } else { "X = X - <value>" })?;
            if self.negative_number_follows() {
                // `c = c -1`: a literal, and so an addition
                let value = self.integer_or_marker()?;
                return Ok(Assignment::Add { column, value });
            }
            self.advance()?;
            let value = self.term()?;
            return Ok(if adds { Assignment::Add { column, value } } else { Assignment::Subtract { column, value } });
        }
        let value: Term = self.term()?;
        if self.accept(TokenKind::Plus)? {
            self.same_column(&column, "X = <value> + X")?;
            return Ok(Assignment::Prepend { column, value });
        }
        Ok(Assignment::Set { column, value })
    }

    /// A column that must be `column`; `form` is what the statement should look like.
    fn same_column(&mut self, column: &Identifier, form: &'static str) -> Parse<()> {
        let start = self.token();
        if self.column()? == *column { Ok(()) } else { Err(fault_at(start, SyntaxErrorKind::AssignmentForm { form })) }
    }

    /// `DELETE …`
    pub(super) fn delete(&mut self) -> Parse<Delete> {
        self.expect_word(Keyword::Delete)?;
        let deletions = if self.at(Keyword::From) { Vec::new() } else { self.list(Self::deletion)? };
        self.expect_word(Keyword::From)?;
        let table = self.table_name()?;
        let attributes = self.attributes(DELETE_ATTRIBUTES)?;
        let where_clause = self.where_clause()?;
        let condition = self.optional_condition()?;
        Ok(Delete { deletions, table, attributes, where_clause, condition })
    }

    fn deletion(&mut self) -> Parse<Deletion> {
        let column = self.column()?;
        if self.accept(TokenKind::OpenBracket)? {
            let key = self.term()?;
            self.expect(TokenKind::CloseBracket)?;
            return Ok(Deletion::Element { column, key });
        }
        if self.accept(TokenKind::Dot)? {
            return Ok(Deletion::Field { column, field: self.identifier()? });
        }
        Ok(Deletion::Column(column))
    }

    /// `BEGIN … APPLY BATCH`
    pub(super) fn batch(&mut self) -> Parse<Batch> {
        self.expect_word(Keyword::Begin)?;
        let kind = if self.accept_word(Keyword::Unlogged)? {
            BatchKind::Unlogged
        } else if self.accept_word(Keyword::Counter)? {
            BatchKind::Counter
        } else {
            BatchKind::Logged
        };
        self.expect_word(Keyword::Batch)?;
        let attributes = self.attributes(WRITE_ATTRIBUTES)?;
        let mut statements = Vec::new();
        while !self.at(Keyword::Apply) {
            statements.push(match self.kind() {
                TokenKind::Keyword(Keyword::Insert) => Modification::Insert(self.insert()?),
                TokenKind::Keyword(Keyword::Update) => Modification::Update(self.update()?),
                TokenKind::Keyword(Keyword::Delete) => Modification::Delete(self.delete()?),
                _ => return Err(self.unexpected()),
            });
            self.accept(TokenKind::Semicolon)?;
        }
        self.expect_words(&[Keyword::Apply, Keyword::Batch])?;
        Ok(Batch { kind, attributes, statements })
    }

    /// `TRUNCATE …`
    pub(super) fn truncate(&mut self) -> Parse<Truncate> {
        self.expect_word(Keyword::Truncate)?;
        self.accept_table_word()?;
        let table = self.table_name()?;
        let attributes = self.attributes(&[Keyword::Timeout])?;
        Ok(Truncate { table, attributes })
    }

    /// `PRUNE MATERIALIZED VIEW …`
    pub(super) fn prune(&mut self) -> Parse<PruneView> {
        self.expect_words(&[Keyword::Prune, Keyword::Materialized, Keyword::View])?;
        let view = self.table_name()?;
        let where_clause = self.where_clause()?;
        let attributes = self.attributes(&[Keyword::Timeout, Keyword::Concurrency])?;
        Ok(PruneView { view, where_clause, attributes })
    }

    /// `TABLE` or `COLUMNFAMILY`, if it is there.
    pub(super) fn accept_table_word(&mut self) -> Parse<bool> {
        Ok(self.accept_word(Keyword::Table)? || self.accept_word(Keyword::ColumnFamily)?)
    }

    /// `KEYSPACE` or `SCHEMA`, if it is there.
    pub(super) fn accept_keyspace_word(&mut self) -> Parse<bool> {
        Ok(self.accept_word(Keyword::Keyspace)? || self.accept_word(Keyword::Schema)?)
    }
}
