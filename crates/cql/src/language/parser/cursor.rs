//! The parser's state and the steps that all rules are made of.

use crate::language::{
    BIND_MARKERS_MAX, EXPRESSION_OPERATORS_MAX, NESTING_MAX, Parsed, Statement, SyntaxErrorKind,
    ast::{BindMarker, Identifier},
    error::{Fault, Reason},
    keyword::Keyword,
    lexer::Lexer,
    token::{Token, TokenKind},
};

/// What every rule returns.
pub(super) type Parse<Output> = Result<Output, Fault>;

/// A parse under way.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    lexer: Lexer<'a>,
    /// The current token: read, not yet consumed.
    token: Token,
    /// Open calls of [`Parser::nested`].
    depth: usize,
    /// Operators in the outermost expression so far.
    operators: usize,
    markers: Vec<Option<Identifier>>,
}

/// A place to go back to; bind markers read since then must not be.
pub(super) struct Checkpoint<'a> {
    lexer: Lexer<'a>,
    token: Token,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parse<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next_token()?;
        Ok(Self { text, lexer, token, depth: 0, operators: 0, markers: Vec::new() })
    }

    /// The result, if the text ends here.
    pub(super) fn finish(mut self, statement: Statement) -> Parse<Parsed> {
        self.expect(TokenKind::End)?;
        Ok(Parsed { statement, markers: self.markers })
    }

    // --- looking ---

    /// The current token.
    pub(super) fn token(&self) -> Token {
        self.token
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.token.kind
    }

    /// The current token's text.
    pub(super) fn token_text(&self) -> &'a str {
        self.text_of(self.token)
    }

    pub(super) fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.range()).unwrap_or_default()
    }

    pub(super) fn at(&self, keyword: Keyword) -> bool {
        self.token.kind == TokenKind::Keyword(keyword)
    }

    /// The kind of the token `distance` after the current one. A lexical fault reads as the end: it is reported when reached.
    pub(super) fn peek(&self, distance: usize) -> TokenKind {
        self.peek_token(distance).map_or(TokenKind::End, |token| token.kind)
    }

    pub(super) fn peek_token(&self, distance: usize) -> Option<Token> {
        let mut lexer = self.lexer;
        let mut token = self.token;
        for _ in 0..distance {
            token = lexer.next_token().ok()?;
        }
        Some(token)
    }

    /// Whether the token `distance` after the current one is `keyword`.
    pub(super) fn peek_is(&self, distance: usize, keyword: Keyword) -> bool {
        self.peek(distance) == TokenKind::Keyword(keyword)
    }

    // --- moving ---

    /// Consumes the current token.
    pub(super) fn advance(&mut self) -> Parse<Token> {
        let token = self.token;
        self.token = self.lexer.next_token()?;
        Ok(token)
    }

    /// Consumes the current token if it is of `kind`.
    pub(super) fn accept(&mut self, kind: TokenKind) -> Parse<bool> {
        let matches = self.token.kind == kind;
        if matches {
            self.advance()?;
        }
        Ok(matches)
    }

    /// Consumes the current token if it is `keyword`.
    pub(super) fn accept_word(&mut self, keyword: Keyword) -> Parse<bool> {
        self.accept(TokenKind::Keyword(keyword))
    }

    /// Consumes `keywords` if the first is the current token; then all must follow.
    pub(super) fn accept_words(&mut self, keywords: &[Keyword]) -> Parse<bool> {
        let Some((first, rest)) = keywords.split_first() else { return Ok(true) };
        if !self.accept_word(*first)? {
            return Ok(false);
        }
        self.expect_words(rest)?;
        Ok(true)
    }

    /// Consumes the current token, which must be of `kind`.
    pub(super) fn expect(&mut self, kind: TokenKind) -> Parse<Token> {
        if self.token.kind == kind { self.advance() } else { Err(self.mismatch(kind)) }
    }

    pub(super) fn expect_word(&mut self, keyword: Keyword) -> Parse<()> {
        self.expect(TokenKind::Keyword(keyword)).map(|_| ())
    }

    pub(super) fn expect_words(&mut self, keywords: &[Keyword]) -> Parse<()> {
        keywords.iter().try_for_each(|keyword| self.expect_word(*keyword))
    }

    /// `IF EXISTS`, if it is there.
    pub(super) fn if_exists(&mut self) -> Parse<bool> {
        self.accept_words(&[Keyword::If, Keyword::Exists])
    }

    /// `IF NOT EXISTS`, if it is there.
    pub(super) fn if_not_exists(&mut self) -> Parse<bool> {
        self.accept_words(&[Keyword::If, Keyword::Not, Keyword::Exists])
    }

    /// `item, item, …`, at least one.
    pub(super) fn list<Item>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<Item>) -> Parse<Vec<Item>> {
        let mut items = vec![item(self)?];
        while self.accept(TokenKind::Comma)? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item, item, …)`, at least one.
    pub(super) fn parenthesised_list<Item>(&mut self, item: impl FnMut(&mut Self) -> Parse<Item>) -> Parse<Vec<Item>> {
        self.expect(TokenKind::OpenParenthesis)?;
        let items = self.list(item)?;
        self.expect(TokenKind::CloseParenthesis)?;
        Ok(items)
    }

    /// `(item, item, …)`, perhaps none.
    pub(super) fn optional_list<Item>(&mut self, item: impl FnMut(&mut Self) -> Parse<Item>) -> Parse<Vec<Item>> {
        self.expect(TokenKind::OpenParenthesis)?;
        let items = if self.kind() == TokenKind::CloseParenthesis { Vec::new() } else { self.list(item)? };
        self.expect(TokenKind::CloseParenthesis)?;
        Ok(items)
    }

    /// `item AND item …`, at least one.
    pub(super) fn conjunction<Item>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<Item>) -> Parse<Vec<Item>> {
        let mut items = vec![item(self)?];
        while self.accept_word(Keyword::And)? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    // --- bounds ---

    /// Runs `rule` one level deeper; the outermost level starts a new expression.
    pub(super) fn nested<Output>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<Output>) -> Parse<Output> {
        if self.depth == NESTING_MAX {
            return Err(self.fault_here(SyntaxErrorKind::TooDeep));
        }
        if self.depth == 0 {
            self.operators = 0;
        }
        self.depth += 1;
        let output = rule(self)?;
        self.depth -= 1;
        Ok(output)
    }

    /// Counts one operator of the expression.
    pub(super) fn count_operator(&mut self) -> Parse<()> {
        if self.operators == EXPRESSION_OPERATORS_MAX {
            return Err(self.fault_here(SyntaxErrorKind::TooManyOperators));
        }
        self.operators += 1;
        Ok(())
    }

    /// Numbers the bind marker that was just read.
    pub(super) fn new_marker(&mut self, name: Option<Identifier>) -> Parse<BindMarker> {
        match u16::try_from(self.markers.len()) {
            Ok(index) if usize::from(index) < BIND_MARKERS_MAX => {
                self.markers.push(name);
                Ok(BindMarker { index })
            }
            _ => Err(self.fault_here(SyntaxErrorKind::TooManyMarkers)),
        }
    }

    pub(super) fn checkpoint(&self) -> Checkpoint<'a> {
        Checkpoint { lexer: self.lexer, token: self.token, depth: self.depth }
    }

    pub(super) fn restore(&mut self, checkpoint: Checkpoint<'a>) {
        Checkpoint { lexer: self.lexer, token: self.token, depth: self.depth } = checkpoint;
    }

    // --- faults ---

    /// The error `kind` at the current token.
    pub(super) fn fault_here(&self, kind: SyntaxErrorKind) -> Fault {
        fault_at(self.token, kind)
    }

    /// Nothing that may stand here starts with the current token.
    pub(super) fn unexpected(&self) -> Fault {
        Fault { start: self.token.start, end: self.token.end, reason: Reason::NoViableAlternative }
    }

    /// Only `expected` may stand here.
    pub(super) fn mismatch(&self, expected: TokenKind) -> Fault {
        Fault { start: self.token.start, end: self.token.end, reason: Reason::Mismatch(expected) }
    }
}

/// The error `kind` at `token`.
pub(super) fn fault_at(token: Token, kind: SyntaxErrorKind) -> Fault {
    Fault { start: token.start, end: token.end, reason: Reason::Kind(kind) }
}
