//! Rules for WHERE and IF.

use super::{Parse, cursor::Parser, name::is_identifier};
use crate::language::{
    ast::{CompareOperator, Comparison, ConditionClause, InValues, Relation, RelationTarget, Term, WhereClause, WhereExpression},
    keyword::Keyword,
    token::TokenKind,
};

/// What is compared, which decides how it may be compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A column in WHERE.
    Column,
    /// An element of a column in WHERE.
    Element,
    /// `token(…)` in WHERE.
    Token,
    /// Several columns in WHERE.
    Tuple,
    /// Anything in IF.
    Condition,
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
        let (target, side) = match self.kind() {
            TokenKind::OpenParenthesis if self.column_tuple_follows() => {
                (RelationTarget::Tuple(self.parenthesised_list(Self::column)?), Side::Tuple)
            }
            TokenKind::OpenParenthesis => {
                self.advance()?;
                let relation = self.nested(Self::relation)?;
                self.expect(TokenKind::CloseParenthesis)?;
                return Ok(relation);
            }
            TokenKind::Keyword(Keyword::Token) => {
                self.advance()?;
                (RelationTarget::Token(self.parenthesised_list(Self::column)?), Side::Token)
            }
            _ => {
                let column = self.column()?;
                if self.accept(TokenKind::OpenBracket)? {
                    let key = self.term()?;
                    self.expect(TokenKind::CloseBracket)?;
                    (RelationTarget::Element { column, key }, Side::Element)
                } else {
                    (RelationTarget::Column(column), Side::Column)
                }
            }
        };
        let comparison = self.comparison(side)?;
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
        let comparison = self.comparison(Side::Condition)?;
        Ok(Relation { target, comparison })
    }

    fn comparison(&mut self, side: Side) -> Parse<Comparison> {
        if let Some(operator) = compare_operator(self.kind()) {
            self.advance()?;
            return Ok(Comparison::Compare(operator, self.compared(side)?));
        }
        let TokenKind::Keyword(keyword) = self.kind() else { return Err(self.unexpected()) };
        match (keyword, side) {
            (Keyword::In, Side::Column | Side::Tuple | Side::Condition) => {
                self.advance()?;
                Ok(Comparison::In(self.in_values(side)?))
            }
            (Keyword::Not, Side::Tuple) => {
                self.expect_words(&[Keyword::Not, Keyword::In])?;
                Ok(Comparison::NotIn(self.in_values(side)?))
            }
            (Keyword::Not, Side::Column) => {
                self.advance()?;
                if self.accept_word(Keyword::In)? {
                    return Ok(Comparison::NotIn(self.in_values(side)?));
                }
                self.expect_word(Keyword::Contains)?;
                let key = self.accept_key_of_contains()?;
                let value = self.term()?;
                Ok(if key { Comparison::NotContainsKey(value) } else { Comparison::NotContains(value) })
            }
            (Keyword::Contains, Side::Column | Side::Condition) => {
                self.advance()?;
                let key = self.accept_key_of_contains()?;
                let value = self.term()?;
                Ok(if key { Comparison::ContainsKey(value) } else { Comparison::Contains(value) })
            }
            (Keyword::Between, Side::Column | Side::Token | Side::Tuple) => {
                self.advance()?;
                let low = self.compared(side)?;
                self.expect_word(Keyword::And)?;
                Ok(Comparison::Between(low, self.compared(side)?))
            }
            (Keyword::Like, Side::Column) => {
                self.advance()?;
                Ok(Comparison::Like(self.term()?))
            }
            (Keyword::Is, Side::Column) => {
                self.expect_words(&[Keyword::Is, Keyword::Not, Keyword::Null])?;
                Ok(Comparison::IsNotNull)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// One value to compare with: any term, but for a tuple of columns a tuple or a marker.
    fn compared(&mut self, side: Side) -> Parse<Term> {
        if side != Side::Tuple {
            return self.term();
        }
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Ok(Term::Marker(self.marker()?)),
            _ => Ok(Term::Tuple(self.parenthesised_list(Self::term)?)),
        }
    }

    /// `KEY` after CONTAINS, unless it is the keyspace of a function.
    fn accept_key_of_contains(&mut self) -> Parse<bool> {
        if self.peek(1) == TokenKind::Dot { Ok(false) } else { self.accept_word(Keyword::Key) }
    }

    /// What stands after IN.
    fn in_values(&mut self, side: Side) -> Parse<InValues> {
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Ok(InValues::Marker(self.marker()?)),
            _ => Ok(InValues::List(self.optional_list(|parser| parser.compared(side))?)),
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
