//! Expressions, by the strength of their operators.

use super::kinds::{Category, Kind};
use super::reader::{Reader, Term};
use crate::syntax::SyntaxError;
use crate::tables::Dialect;

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Logic,
    Compare,
    Is,
    In,
    Like,
    Between,
    IsNull,
    Escape,
    Bits,
    Sum,
    Multiply,
    Divide,
    Concat,
    Arrow,
    Collate,
}

/// How strong operators are: OR, AND, NOT, equality, comparison, ESCAPE, bits, sums, products, texts, COLLATE, signs.
const NOT: u8 = 3;
const EQUAL: u8 = 4;
const SIGN: u8 = 12;

/// Signs, the longer ones first.
const SIGNS: [(&str, Operator, u8); 22] = [
    ("->>", Operator::Arrow, 10),
    ("->", Operator::Arrow, 10),
    ("||", Operator::Concat, 10),
    ("<<", Operator::Bits, 7),
    (">>", Operator::Bits, 7),
    ("<=", Operator::Compare, 5),
    (">=", Operator::Compare, 5),
    ("<>", Operator::Compare, EQUAL),
    ("!=", Operator::Compare, EQUAL),
    ("==", Operator::Compare, EQUAL),
    ("=", Operator::Compare, EQUAL),
    ("<", Operator::Compare, 5),
    (">", Operator::Compare, 5),
    ("&", Operator::Bits, 7),
    ("|", Operator::Bits, 7),
    ("+", Operator::Sum, 8),
    ("-", Operator::Sum, 8),
    ("*", Operator::Multiply, 9),
    ("/", Operator::Divide, 9),
    ("%", Operator::Divide, 9),
    ("~", Operator::Bits, 0),
    ("!", Operator::Bits, 0),
];
const WORDS: [(&str, Operator, u8); 14] = [
    ("OR", Operator::Logic, 1),
    ("AND", Operator::Logic, 2),
    ("IS", Operator::Is, EQUAL),
    ("IN", Operator::In, EQUAL),
    ("LIKE", Operator::Like, EQUAL),
    ("GLOB", Operator::Like, EQUAL),
    ("MATCH", Operator::Like, EQUAL),
    ("REGEXP", Operator::Like, EQUAL),
    ("BETWEEN", Operator::Between, EQUAL),
    ("ISNULL", Operator::IsNull, EQUAL),
    ("NOTNULL", Operator::IsNull, EQUAL),
    ("NOT", Operator::IsNull, EQUAL),
    ("ESCAPE", Operator::Escape, 6),
    ("COLLATE", Operator::Collate, 11),
];

impl Reader<'_> {
    /// An expression whose operators are at least so strong; none if there is none.
    pub(super) fn expression(&mut self, least: u8) -> Result<Option<Term>, SyntaxError> {
        self.check_edits()?;
        self.deeper(|reader| {
            let Some(left) = reader.prefixed()? else { return Ok(None) };
            reader.operations(left, least).map(Some)
        })
    }

    /// What follows an expression, by operators that are at least so strong.
    fn operations(&mut self, mut left: Term, least: u8) -> Result<Term, SyntaxError> {
        while let Some((operator, strength, words)) = self.operator().filter(|(_, strength, _)| *strength >= least.max(1)) {
            self.at += words;
            left = self.operation(left, operator, strength)?;
        }
        Ok(left)
    }

    /// What is behind an operator. One that begins with a bracket is as deep as what is in the bracket, and no deeper.
    fn operand(&mut self, least: u8) -> Result<Option<Term>, SyntaxError> {
        if !self.is_symbol('(') {
            return self.expression(least);
        }
        let Some(left) = self.primary()? else { return Ok(None) };
        self.deeper(|reader| reader.operations(left, least)).map(Some)
    }

    /// An expression with what is before it.
    fn prefixed(&mut self) -> Result<Option<Term>, SyntaxError> {
        let Some(word) = self.word() else { return Ok(None) };
        let start = word.start;
        if word.is("NOT") && !self.peek(1).is_some_and(|next| next.is("INDEXED")) {
            self.at += 1;
            let negated = self.expression(NOT)?;
            return Ok(negated.map(|term| Term { start, end: term.end, ..Term::default() }.of(self.truth())));
        }
        if ['-', '+', '~'].iter().any(|sign| word.is_symbol(*sign)) {
            self.at += 1;
            let Some(term) = self.expression(SIGN)? else { return Ok(None) };
            let is_written = matches!(term.kind, Some(Kind::LONG | Kind::DOUBLE));
            // `+` takes nothing from what is behind it.
            let kind = if is_written || word.is_symbol('+') { term.kind } else { Some(Kind::Number) };
            let (is_certain, is_nonzero) = (term.is_certain || kind == Some(Kind::Number), term.is_nonzero && !word.is_symbol('~'));
            return Ok(Some(Term { start, end: term.end, kind, is_certain, is_nonzero, ..Term::default() }));
        }
        self.primary()
    }

    /// The operator that comes, how strong it is, and how many words it has.
    fn operator(&self) -> Option<(Operator, u8, usize)> {
        let word = self.word()?;
        if let Some((name, operator, strength)) = WORDS.iter().find(|(name, ..)| word.is(name)) {
            if *name != "NOT" {
                return Some((*operator, *strength, 1));
            }
            // NOT LIKE, NOT IN, NOT BETWEEN, NOT NULL.
            let next = self.peek(1)?;
            if next.is("NULL") {
                return Some((Operator::IsNull, EQUAL, 2));
            }
            let negated = |operator: &Operator| matches!(operator, Operator::Like | Operator::In | Operator::Between);
            let (_, operator, strength) = WORDS.iter().find(|(name, operator, _)| negated(operator) && next.is(name))?;
            return Some((*operator, *strength, 2));
        }
        let signs = |sign: &str| {
            sign.chars().enumerate().all(|(ahead, c)| {
                let here = self.peek(ahead).filter(|word| word.is_symbol(c));
                here.is_some_and(|here| ahead == 0 || self.peek(ahead - 1).is_some_and(|before| before.end() == here.start))
            })
        };
        let (sign, operator, strength) = SIGNS.iter().find(|(sign, ..)| signs(sign))?;
        (*strength > 0).then_some((*operator, *strength, sign.len()))
    }

    /// What an operator makes of what is before it.
    fn operation(&mut self, left: Term, operator: Operator, strength: u8) -> Result<Term, SyntaxError> {
        let whole = |reader: &Self, kind| Term { start: left.start, end: reader.end(), ..Term::default() }.of(kind);
        let is_rest = self.at.checked_sub(1).is_some_and(|at| self.words[at].is_symbol('%'));
        match operator {
            Operator::IsNull => return Ok(whole(self, self.truth())),
            Operator::Collate => {
                self.at += 1;
                return Ok(Term { end: self.end(), is_never_null: false, ..left });
            }
            Operator::Between => {
                for part in 0..2 {
                    let bound = self.expression(EQUAL + 1)?.unwrap_or_default();
                    self.compare(&left, &bound)?;
                    if part == 0 && !self.takes("AND") {
                        break;
                    }
                }
                return Ok(whole(self, self.truth()));
            }
            Operator::In => {
                self.list(&left)?;
                return Ok(whole(self, self.truth()));
            }
            Operator::Is => {
                self.takes("NOT");
                if self.takes("DISTINCT") {
                    self.takes("FROM");
                }
            }
            _ => {}
        }
        let Some(right) = self.operand(strength + 1)? else { return Ok(whole(self, None)) };
        let kind = match operator {
            Operator::Logic => self.truth(),
            Operator::Compare | Operator::Is => {
                self.compare(&left, &right)?;
                self.truth()
            }
            Operator::Like => {
                self.as_text(&left);
                self.as_text(&right);
                self.truth()
            }
            Operator::Concat => {
                self.as_text(&left);
                self.as_text(&right);
                Some(Kind::TEXT)
            }
            Operator::Divide => {
                self.check_divisor(&right, is_rest);
                Some(Kind::Number)
            }
            Operator::Bits | Operator::Multiply => Some(Kind::Number),
            // Of times: their milliseconds.
            Operator::Sum if [left, right].iter().any(|term| term.kind.is_none_or(Kind::is_time)) => None,
            Operator::Sum => Some(Kind::Number),
            _ => None,
        };
        Ok(whole(self, kind))
    }

    /// Has a division by zero fail. The rest of one is that of whole numbers.
    fn check_divisor(&mut self, divisor: &Term, is_rest: bool) {
        let is_fraction = is_rest && !divisor.kind.is_some_and(Kind::is_whole);
        if self.dialect == Dialect::GridDb && (is_fraction || !divisor.is_nonzero) {
            self.edits.wrap(divisor.span(), if is_fraction { "nonzero_whole(" } else { "nonzero(" }, ")");
        }
    }

    /// What follows IN: a list, a statement or a table.
    fn list(&mut self, left: &Term) -> Result<(), SyntaxError> {
        if !self.takes_symbol('(') {
            self.primary()?;
            return Ok(());
        }
        if self.begins_statement() {
            let items = self.clauses(false)?.unwrap_or_default();
            if let [item] = items[..] {
                self.compare(left, &Term { parameter: None, ..item })?;
            }
        } else {
            while let Some(value) = self.expression(0)? {
                self.compare(left, &value)?;
                if !self.takes_symbol(',') {
                    break;
                }
            }
        }
        self.takes_symbol(')');
        Ok(())
    }

    pub(super) fn begins_statement(&self) -> bool {
        ["SELECT", "WITH", "VALUES"].iter().any(|keyword| self.is_next(keyword))
    }

    /// Refuses what GridDB does not compare: texts with what are none.
    pub(super) fn compare(&mut self, one: &Term, other: &Term) -> Result<(), SyntaxError> {
        if self.dialect == Dialect::Plain || !self.checks {
            return Ok(());
        }
        let category = |term: &Term| term.kind.filter(|_| term.is_certain).and_then(Kind::category);
        for (parameter, with) in [(one.parameter, other), (other.parameter, one)] {
            if let Some((parameter, with)) = parameter.zip(category(with)) {
                self.compared.push((parameter, with));
            }
        }
        let (Some(first), Some(second)) = (category(one), category(other)) else { return Ok(()) };
        if first.compares(second) {
            return Ok(());
        }
        let remedy = match (first, second) {
            (Category::Time, _) | (_, Category::Time) => "TIMESTAMP('…') makes a time of a text, CAST(… AS STRING) a text of a time",
            _ => "CAST makes one of the other",
        };
        Err(SyntaxError(format!("{} is not compared with {}: {remedy}", first.name(), second.name())))
    }
}
