//! Rules for values.

use super::{
    Parse,
    cursor::Parser,
    name::{is_function_name, is_identifier},
};
use crate::language::{
    SyntaxErrorKind,
    ast::{ArithmeticOperator, BindMarker, Literal, Term, TypeName},
    error::shortened,
    keyword::Keyword,
    token::TokenKind,
};

/// The operator of a sum, if `kind` is one.
pub(super) fn additive(kind: TokenKind) -> Option<ArithmeticOperator> {
    match kind {
        TokenKind::Plus => Some(ArithmeticOperator::Add),
        TokenKind::Minus => Some(ArithmeticOperator::Subtract),
        _ => None,
    }
}

/// The operator of a product, if `kind` is one.
pub(super) fn multiplicative(kind: TokenKind) -> Option<ArithmeticOperator> {
    match kind {
        TokenKind::Star => Some(ArithmeticOperator::Multiply),
        TokenKind::Slash => Some(ArithmeticOperator::Divide),
        TokenKind::Percent => Some(ArithmeticOperator::Remainder),
        _ => None,
    }
}

/// Whether `kind` is a constant that may have a minus sign in front.
pub(super) fn is_number(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Integer | TokenKind::Float | TokenKind::Duration | TokenKind::Keyword(Keyword::NaN | Keyword::Infinity))
}

impl Parser<'_> {
    /// Any value.
    pub(super) fn term(&mut self) -> Parse<Term> {
        self.nested(Self::sum)
    }

    fn sum(&mut self) -> Parse<Term> {
        let mut left = self.product()?;
        while let Some(operator) = additive(self.kind()) {
            // `value + column` is an assignment's business; terms have no columns
            if operator == ArithmeticOperator::Add && self.column_follows() {
                break;
            }
            if self.negative_number_follows() {
                break;
            }
            self.count_operator()?;
            self.advance()?;
            left = Term::Arithmetic { operator, left: Box::new(left), right: Box::new(self.product()?) };
        }
        Ok(left)
    }

    /// Whether the next token is a name that no function call starts with.
    fn column_follows(&self) -> bool {
        is_identifier(self.peek(1)) && !matches!(self.peek(2), TokenKind::OpenParenthesis | TokenKind::Dot)
    }

    fn product(&mut self) -> Parse<Term> {
        let mut left = self.signed_term()?;
        while let Some(operator) = multiplicative(self.kind()) {
            self.count_operator()?;
            self.advance()?;
            left = Term::Arithmetic { operator, left: Box::new(left), right: Box::new(self.signed_term()?) };
        }
        Ok(left)
    }

    fn signed_term(&mut self) -> Parse<Term> {
        if !self.accept(TokenKind::Minus)? {
            return self.simple_term();
        }
        if is_number(self.kind()) {
            return Ok(Term::Literal(self.negative_number()?));
        }
        if self.negative_number_follows() {
            self.advance()?;
            return Ok(Term::Negation(Box::new(Term::Literal(self.negative_number()?))));
        }
        Ok(Term::Negation(Box::new(self.simple_term()?)))
    }

    /// Whether the current token is a minus sign that touches a number: the two are a literal, never a subtraction, in Cassandra's
    /// grammar. It is kept that way so that a UUID with a digit missing is an error and not arithmetic.
    pub(super) fn negative_number_follows(&self) -> bool {
        self.kind() == TokenKind::Minus
            && self.peek_token(1).is_some_and(|number| is_number(number.kind) && self.token().end == number.start)
    }

    fn simple_term(&mut self) -> Parse<Term> {
        if let Some(literal) = self.literal()? {
            return Ok(Term::Literal(literal));
        }
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Ok(Term::Marker(self.marker()?)),
            TokenKind::OpenParenthesis => self.tuple_or_hinted_term(),
            TokenKind::OpenBracket => {
                self.advance()?;
                let elements = if self.kind() == TokenKind::CloseBracket { Vec::new() } else { self.list(Self::term)? };
                self.expect(TokenKind::CloseBracket)?;
                Ok(Term::List(elements))
            }
            TokenKind::OpenBrace => self.braced_term(),
            TokenKind::Keyword(Keyword::Cast) if self.peek(1) == TokenKind::OpenParenthesis => {
                self.advance()?;
                self.advance()?;
                let value = Box::new(self.term()?);
                self.expect_word(Keyword::As)?;
                let type_name = self.native_type()?;
                self.expect(TokenKind::CloseParenthesis)?;
                Ok(Term::Cast { value, type_name })
            }
            kind if is_function_name(kind) || is_identifier(kind) => {
                let name = self.function_name()?;
                if self.kind() != TokenKind::OpenParenthesis {
                    return Err(self.unexpected());
                }
                Ok(Term::Function { name, arguments: self.optional_list(Self::term)? })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `(value, …)` or `(type) value`
    fn tuple_or_hinted_term(&mut self) -> Parse<Term> {
        if let Some(type_name) = self.type_hint(Self::type_hint_before_term)? {
            let value = self.nested(Self::signed_term)?;
            return Ok(Term::TypeHint { type_name, value: Box::new(value) });
        }
        Ok(Term::Tuple(self.parenthesised_list(Self::term)?))
    }

    /// `(type)`, if a type is what the bracket holds and `follows` says of what stands behind it that it is a value; else nothing
    /// is consumed.
    pub(super) fn type_hint(&mut self, follows: impl FnOnce(&Self, &TypeName) -> bool) -> Parse<Option<TypeName>> {
        let start = self.checkpoint();
        self.expect(TokenKind::OpenParenthesis)?;
        let type_name = self.type_name().and_then(|type_name| {
            self.expect(TokenKind::CloseParenthesis)?;
            Ok(type_name)
        });
        match type_name {
            Ok(type_name) if follows(self, &type_name) => Ok(Some(type_name)),
            _ => {
                self.restore(start);
                Ok(None)
            }
        }
    }

    /// Names are no values, so a name in brackets is a type. A string may be either: it is a type if a value follows.
    fn type_hint_before_term(&self, type_name: &TypeName) -> bool {
        if !matches!(type_name, TypeName::Custom(_)) {
            return true;
        }
        match self.kind() {
            TokenKind::OpenParenthesis | TokenKind::OpenBracket | TokenKind::OpenBrace | TokenKind::Question => true,
            kind if is_function_name(kind) => matches!(self.peek(1), TokenKind::OpenParenthesis | TokenKind::Dot),
            kind => is_constant(kind),
        }
    }

    /// `{…}`: a set, a map or a value of a user-defined type.
    fn braced_term(&mut self) -> Parse<Term> {
        self.advance()?;
        if self.accept(TokenKind::CloseBrace)? {
            return Ok(Term::Set(Vec::new()));
        }
        let term = if is_identifier(self.kind()) && self.peek(1) == TokenKind::Colon {
            Term::UserType(self.list(|parser| {
                let field = parser.identifier()?;
                parser.expect(TokenKind::Colon)?;
                Ok((field, parser.term()?))
            })?)
        } else {
            let first = self.term()?;
            if self.kind() == TokenKind::Colon { Term::Map(self.entries_after(first)?) } else { Term::Set(self.elements_after(first)?) }
        };
        self.expect(TokenKind::CloseBrace)?;
        Ok(term)
    }

    fn entries_after(&mut self, first: Term) -> Parse<Vec<(Term, Term)>> {
        self.expect(TokenKind::Colon)?;
        let mut entries = vec![(first, self.term()?)];
        while self.accept(TokenKind::Comma)? {
            let key = self.term()?;
            self.expect(TokenKind::Colon)?;
            entries.push((key, self.term()?));
        }
        Ok(entries)
    }

    fn elements_after(&mut self, first: Term) -> Parse<Vec<Term>> {
        let mut elements = vec![first];
        while self.accept(TokenKind::Comma)? {
            elements.push(self.term()?);
        }
        Ok(elements)
    }

    /// `?` or `:name`
    pub(super) fn marker(&mut self) -> Parse<BindMarker> {
        if self.accept(TokenKind::Question)? {
            return self.new_marker(None);
        }
        self.expect(TokenKind::Colon)?;
        let name = self.identifier()?;
        self.new_marker(Some(name))
    }

    /// An integer or a marker: what limits and timestamps are.
    pub(super) fn integer_or_marker(&mut self) -> Parse<Term> {
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Ok(Term::Marker(self.marker()?)),
            TokenKind::Minus if self.peek(1) == TokenKind::Integer => {
                self.advance()?;
                Ok(Term::Literal(self.negative_number()?))
            }
            TokenKind::Integer => {
                let token = self.advance()?;
                Ok(Term::Literal(Literal::Integer(self.text_of(token).into())))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A duration or a marker: what timeouts are.
    pub(super) fn duration_or_marker(&mut self) -> Parse<Term> {
        match self.kind() {
            TokenKind::Question | TokenKind::Colon => Ok(Term::Marker(self.marker()?)),
            TokenKind::Duration => {
                let token = self.advance()?;
                Ok(Term::Literal(Literal::Duration(self.text_of(token).into())))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A constant without a sign, if one is here.
    pub(super) fn literal(&mut self) -> Parse<Option<Literal>> {
        let text = self.token_text();
        let literal = match self.kind() {
            TokenKind::QuotedString | TokenKind::DollarString => return Ok(Some(Literal::String(self.string()?))),
            TokenKind::Integer => Literal::Integer(text.into()),
            TokenKind::Float => Literal::Float(self.float()?.into()),
            TokenKind::Duration => Literal::Duration(text.into()),
            TokenKind::Uuid => Literal::Uuid(text.into()),
            TokenKind::Blob => Literal::Blob(text.get(2..).unwrap_or_default().into()),
            TokenKind::Keyword(Keyword::True) => Literal::Boolean(true),
            TokenKind::Keyword(Keyword::False) => Literal::Boolean(false),
            TokenKind::Keyword(Keyword::Null) => Literal::Null,
            TokenKind::Keyword(Keyword::NaN) => Literal::Float("NaN".into()),
            TokenKind::Keyword(Keyword::Infinity) => Literal::Float("Infinity".into()),
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(literal))
    }

    /// The text of the current token, a number with a point or an exponent. As in Cassandra none is too large for a double, whatever its type will be.
    fn float(&self) -> Parse<&str> {
        let text = self.token_text();
        match text.parse::<f64>() {
            Ok(value) if value.is_infinite() => Err(self.fault_here(SyntaxErrorKind::FloatOutOfRange { text: shortened(text).into() })),
            _ => Ok(text),
        }
    }

    /// The number after a minus sign that was just consumed.
    pub(super) fn negative_number(&mut self) -> Parse<Literal> {
        let digits = self.token_text();
        let literal = match self.kind() {
            TokenKind::Integer => Literal::Integer(format!("-{digits}").into()),
            TokenKind::Float => Literal::Float(format!("-{}", self.float()?).into()),
            TokenKind::Duration => Literal::Duration(format!("-{digits}").into()),
            TokenKind::Keyword(Keyword::NaN) => Literal::Float("NaN".into()),
            TokenKind::Keyword(Keyword::Infinity) => Literal::Float("-Infinity".into()),
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(literal)
    }
}

/// Whether a token of `kind` is a constant by itself.
pub(super) fn is_constant(kind: TokenKind) -> bool {
    is_number(kind)
        || matches!(
            kind,
            TokenKind::QuotedString
                | TokenKind::DollarString
                | TokenKind::Uuid
                | TokenKind::Blob
                | TokenKind::Keyword(Keyword::True | Keyword::False | Keyword::Null)
        )
}
