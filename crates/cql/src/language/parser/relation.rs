//! Rules for WHERE and IF.

use super::{Parse, cursor::Parser, name::is_identifier};
use crate::language::{
    ast::{CompareOperator, Comparison, ConditionClause, InValues, Relation, RelationTarget, WhereClause, WhereExpression},
    keyword::Keyword,
    token::TokenKind,
};

/// Where a comparison stands: IF knows fewer than WHERE.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    Where,
    If,
}

impl Parser<'_> {
    /// `WHERE …`, if it is there.
    pub(super) fn optional_where(&mut self) -> Parse<WhereClause> {
        if self.accept_word(Keyword::Where)? { self.conjunction(Self::where_expression) } else { Ok(Vec::new()) }
    }

    /// `WHERE …`
    pub(super) fn where_clause(&mut self) -> Parse<WhereClause> {
        self.expect_word(Keyword::Where)?;
        self.conjunction(Self::where_expression)
    }

    fn where_expression(&mut self) -> Parse<WhereExpression> {
        let custom = self.kind() == TokenKind::Identifier && self.token_text() == "expr" && self.peek(1) == TokenKind::OpenParenthesis;
        if custom {
            self.advance()?;
            self.advance()?;
            let index = self.index_name()?;
            self.expect(TokenKind::Comma)?;
            let value = self.term()?;
            self.expect(TokenKind::CloseParenthesis)?;
            return Ok(WhereExpression::CustomIndex { index, value });
        }
        Ok(WhereExpression::Relation(self.relation()?))
    }

    fn relation(&mut self) -> Parse<Relation> {
        let target = match self.kind() {
            TokenKind::OpenParenthesis if self.column_tuple_follows() => RelationTarget::Tuple(self.parenthesised_list(Self::column)?),
            TokenKind::OpenParenthesis => {
                self.advance()?;
                let relation = self.nested(Self::relation)?;
                self.expect(TokenKind::CloseParenthesis)?;
                return Ok(relation);
            }
            TokenKind::Keyword(Keyword::Token) => {
                self.advance()?;
                RelationTarget::Token(self.parenthesised_list(Self::column)?)
            }
            _ => {
                let column = self.column()?;
                if self.accept(TokenKind::OpenBracket)? {
                    let key = self.term()?;
                    self.expect(TokenKind::CloseBracket)?;
                    RelationTarget::Element { column, key }
                } else {
                    RelationTarget::Column(column)
                }
            }
        };
        let comparison = self.comparison(Clause::Where)?;
        Ok(Relation { target, comparison })
    }

    /// Whether the bracket here opens `(column, …)` rather than a relation.
    fn column_tuple_follows(&self) -> bool {
        is_identifier(self.peek(1)) && matches!(self.peek(2), TokenKind::Comma | TokenKind::CloseParenthesis)
    }

    /// `IF …`, if it is there.
    pub(super) fn optional_condition(&mut self) -> Parse<ConditionClause> {
        if !self.accept_word(Keyword::If)? {
            return Ok(ConditionClause::None);
        }
        if self.at(Keyword::Exists) && !self.comparison_follows() {
            self.advance()?;
            return Ok(ConditionClause::Exists);
        }
        Ok(ConditionClause::Relations(self.conjunction(Self::condition)?))
    }

    /// Whether the word here, which has a meaning of its own, is a column in a comparison.
    fn comparison_follows(&self) -> bool {
        let next = self.peek(1);
        compare_operator(next).is_some()
            || matches!(next, TokenKind::OpenBracket | TokenKind::Dot | TokenKind::Keyword(Keyword::In | Keyword::Contains))
    }

    fn condition(&mut self) -> Parse<Relation> {
        let column = self.column()?;
        let target = if self.accept(TokenKind::OpenBracket)? {
            let key = self.term()?;
            self.expect(TokenKind::CloseBracket)?;
            RelationTarget::Element { column, key }
        } else if self.accept(TokenKind::Dot)? {
            RelationTarget::Field { column, field: self.identifier()? }
        } else {
            RelationTarget::Column(column)
        };
        let comparison = self.comparison(Clause::If)?;
        Ok(Relation { target, comparison })
    }

    fn comparison(&mut self, clause: Clause) -> Parse<Comparison> {
        if let Some(operator) = compare_operator(self.kind()) {
            self.advance()?;
            return Ok(Comparison::Compare(operator, self.term()?));
        }
        if self.accept_word(Keyword::In)? {
            return Ok(Comparison::In(self.in_values()?));
        }
        if self.accept_word(Keyword::Contains)? {
            let key = self.accept_key_of_contains()?;
            let value = self.term()?;
            return Ok(if key { Comparison::ContainsKey(value) } else { Comparison::Contains(value) });
        }
        if clause == Clause::If {
            return Err(self.unexpected());
        }
        if self.accept_word(Keyword::Not)? {
            if self.accept_word(Keyword::In)? {
                return Ok(Comparison::NotIn(self.in_values()?));
            }
            self.expect_word(Keyword::Contains)?;
            let key = self.accept_key_of_contains()?;
            let value = self.term()?;
            return Ok(if key { Comparison::NotContainsKey(value) } else { Comparison::NotContains(value) });
        }
        if self.accept_word(Keyword::Between)? {
            let low = self.term()?;
            self.expect_word(Keyword::And)?;
            return Ok(Comparison::Between(low, self.term()?));
        }
        if self.accept_word(Keyword::Like)? {
            return Ok(Comparison::Like(self.term()?));
        }
        if self.accept_words(&[Keyword::Is, Keyword::Not, Keyword::Null])? {
            return Ok(Comparison::IsNotNull);
        }
        Err(self.unexpected())
    }

    /// `KEY` after CONTAINS, unless it is the keyspace of a function.
    fn accept_key_of_contains(&mut self) -> Parse<bool> {
        if self.peek(1) == TokenKind::Dot { Ok(false) } else { self.accept_word(Keyword::Key) }
    }

    /// What stands after IN.
    fn in_values(&mut self) -> Parse<InValues> {
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Ok(InValues::Marker(self.marker()?)),
            _ => Ok(InValues::List(self.optional_list(Self::term)?)),
        }
    }
}

fn compare_operator(kind: TokenKind) -> Option<CompareOperator> {
    match kind {
        TokenKind::Equal => Some(CompareOperator::Equal),
        TokenKind::NotEqual => Some(CompareOperator::NotEqual),
        TokenKind::Less => Some(CompareOperator::Less),
        TokenKind::LessOrEqual => Some(CompareOperator::LessOrEqual),
        TokenKind::Greater => Some(CompareOperator::Greater),
        TokenKind::GreaterOrEqual => Some(CompareOperator::GreaterOrEqual),
        _ => None,
    }
}
