//! The words of a statement.

use crate::{ErrorCode, GridError};

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A keyword or a name.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    Long(i64),
    Double(f64),
    /// Operators and brackets.
    Symbol(&'static str),
}

/// Longer ones before those that they begin with.
const SYMBOLS: [&str; 17] = ["<>", "!=", "<=", ">=", "==", "||", "=", "<", ">", "(", ")", "*", "+", "-", "/", "%", ","];

/// Statements of more words are refused.
const TOKENS_MAX: usize = 20_000;

pub(super) fn syntax_error(message: impl Into<std::borrow::Cow<'static, str>>) -> GridError {
    GridError::new(ErrorCode::TQ_SYNTAX_ERROR_EXECUTION, message)
}

pub(super) fn tokens(mut rest: &str) -> Result<Vec<Token>, GridError> {
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        if tokens.len() == TOKENS_MAX {
            return Err(syntax_error(format!("a statement has at most {TOKENS_MAX} words")));
        }
        let (token, after) = match first {
            '\'' => quoted(rest, '\'').map(|(text, after)| (Token::Text(text), after))?,
            '"' => quoted(rest, '"').map(|(text, after)| (Token::Quoted(text), after))?,
            ';' if rest[1..].trim().is_empty() => return Ok(tokens),
            '0'..='9' | '.' => number(rest)?,
            _ if first.is_alphabetic() || first == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '@').unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), &rest[end..])
            }
            _ => {
                let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
                let symbol = symbol.ok_or_else(|| syntax_error(format!("`{first}` has no meaning here")))?;
                (Token::Symbol(symbol), &rest[symbol.len()..])
            }
        };
        tokens.push(token);
        rest = after;
    }
}

/// A text in quotes; two of them within are one.
fn quoted(text: &str, quote: char) -> Result<(String, &str), GridError> {
    let mut value = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find(quote).ok_or_else(|| syntax_error("a text does not end"))?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(after) => {
                value.push(quote);
                rest = after;
            }
            None => return Ok((value, rest)),
        }
    }
}

fn number(text: &str) -> Result<(Token, &str), GridError> {
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        let is_exponent = matches!(byte, b'e' | b'E');
        let is_sign = matches!(byte, b'+' | b'-') && end > 0 && matches!(bytes[end - 1], b'e' | b'E');
        if !byte.is_ascii_digit() && *byte != b'.' && !is_exponent && !is_sign {
            break;
        }
        end += 1;
    }
    let (digits, after) = text.split_at(end);
    let token = match digits.parse::<i64>() {
        Ok(value) => Token::Long(value),
        Err(_) => match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Token::Double(value),
            _ => return Err(syntax_error(format!("`{digits}` is no number"))),
        },
    };
    Ok((token, after))
}
