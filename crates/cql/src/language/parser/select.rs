//! The rule for SELECT.

use super::{Parse, cursor::Parser, name::is_identifier};
use crate::language::{
    ast::{Attributes, OrderBy, OrderDirection, Ordering, Select, SelectKind},
    keyword::Keyword,
    token::TokenKind,
};

impl Parser<'_> {
    /// `SELECT …`
    pub(super) fn select(&mut self) -> Parse<Select> {
        self.expect_word(Keyword::Select)?;
        let kind = if self.accept_modifier(Keyword::Json)? { SelectKind::Json } else { SelectKind::Columns };
        let distinct = self.accept_modifier(Keyword::Distinct)?;
        let selection = self.selection()?;
        self.expect_word(Keyword::From)?;
        let from = self.table_name()?;
        let where_clause = self.optional_where()?;
        let group_by = if self.accept_words(&[Keyword::Group, Keyword::By])? { self.list(Self::selector)? } else { Vec::new() };
        let order_by = if self.accept_words(&[Keyword::Order, Keyword::By])? { self.list(Self::order_by)? } else { Vec::new() };
        let per_partition_limit =
            if self.accept_words(&[Keyword::Per, Keyword::Partition, Keyword::Limit])? { Some(self.integer_or_marker()?) } else { None };
        let limit = if self.accept_word(Keyword::Limit)? { Some(self.integer_or_marker()?) } else { None };
        let allow_filtering = self.accept_words(&[Keyword::Allow, Keyword::Filtering])?;
        let bypass_cache = self.accept_words(&[Keyword::Bypass, Keyword::Cache])?;
        let attributes = self.attributes(&[Keyword::Timeout])?;
        Ok(Select {
            kind,
            distinct,
            selection,
            from,
            where_clause,
            group_by,
            order_by,
            per_partition_limit,
            limit,
            allow_filtering,
            bypass_cache,
            attributes,
        })
    }

    /// `JSON` or `DISTINCT`, unless it is the name of a column or function.
    fn accept_modifier(&mut self, keyword: Keyword) -> Parse<bool> {
        if !self.at(keyword) {
            return Ok(false);
        }
        let is_column = match self.peek(1) {
            TokenKind::Comma | TokenKind::Dot | TokenKind::Plus | TokenKind::Slash | TokenKind::Percent | TokenKind::End => true,
            TokenKind::Keyword(Keyword::From) => true,
            TokenKind::Keyword(Keyword::As) => is_identifier(self.peek(2)),
            _ => false,
        };
        if is_column { Ok(false) } else { self.accept_word(keyword) }
    }

    fn order_by(&mut self) -> Parse<OrderBy> {
        let column = self.column()?;
        let ordering = if self.accept_words(&[Keyword::Ann, Keyword::Of])? { Ordering::NearestTo(self.term()?) } else { Ordering::Value };
        let direction = self.optional_direction()?.unwrap_or(OrderDirection::Ascending);
        Ok(OrderBy { column, ordering, direction })
    }

    /// `ASC` or `DESC`, if it is there.
    pub(super) fn optional_direction(&mut self) -> Parse<Option<OrderDirection>> {
        if self.accept_word(Keyword::Asc)? {
            return Ok(Some(OrderDirection::Ascending));
        }
        Ok(if self.accept_word(Keyword::Desc)? { Some(OrderDirection::Descending) } else { None })
    }

    /// `USING … AND …`, if it is there; `allowed` are the attributes that the statement knows. The last of several wins.
    pub(super) fn attributes(&mut self, allowed: &[Keyword]) -> Parse<Attributes> {
        let mut attributes = Attributes::default();
        if !self.accept_word(Keyword::Using)? {
            return Ok(attributes);
        }
        loop {
            let TokenKind::Keyword(keyword) = self.kind() else { return Err(self.unexpected()) };
            if !allowed.contains(&keyword) {
                return Err(self.unexpected());
            }
            self.advance()?;
            match keyword {
                Keyword::Timestamp => attributes.timestamp = Some(self.integer_or_marker()?),
                Keyword::Ttl => attributes.time_to_live = Some(self.integer_or_marker()?),
                Keyword::Concurrency => attributes.concurrency = Some(self.integer_or_marker()?),
                _ => attributes.timeout = Some(self.duration_or_marker()?),
            }
            if !self.accept_word(Keyword::And)? {
                return Ok(attributes);
            }
        }
    }
}
