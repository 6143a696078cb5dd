//! What a request for SQL asks.

use crate::http::reply::{BAD_REQUEST, Reply};
use crate::http::request::Request;
use serde_json::Value as Json;
use sql::Value;
use std::time::Duration;

/// The kind of a stream of Arrow.
pub(super) const ARROW: &str = "application/vnd.apache.arrow.stream";
/// How long a statement may take that does not say.
const TIME_MS: u64 = 60_000;
const TIME_MS_MAX: u64 = 3_600_000;

/// How rows are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json(Layout),
    /// A stream of Arrow.
    Arrow,
}

/// How rows are told as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One document.
    Document,
    /// A line for each row.
    Lines,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) statement: String,
    pub(super) parameters: Vec<Value>,
    /// Of names without one.
    pub(super) keyspace: Option<String>,
    pub(super) time: Duration,
    pub(super) rows_max: u64,
    pub(super) format: Format,
}

impl Asked {
    /// What a request asks.
    pub(super) fn of(request: &Request) -> Result<Self, Reply> {
        const KNOWN: [&str; 4] = ["keyspace", "timeout_ms", "max_rows", "format"];
        let bad = |text: String| Reply::text(BAD_REQUEST, text);
        let given = request.target().1.split('&').filter(|pair| !pair.is_empty());
        if let Some(unknown) = given.map(|pair| pair.split('=').next().unwrap_or(pair)).find(|name| !KNOWN.contains(name)) {
            return Err(bad(format!("there is no parameter `{unknown}`: there are {}", KNOWN.join(", "))));
        }
        let number = |name: &str, default: u64, most: u64| match request.parameter(name) {
            None => Ok(default),
            Some(text) => match text.parse::<u64>() {
                Ok(number) if (1..=most).contains(&number) => Ok(number),
                _ => Err(bad(format!("`{name}` is to be a number from 1 to {most}"))),
            },
        };
        let accepts = |kind| request.header("accept").is_some_and(|accept| accept.contains(kind));
        let format = match request.parameter("format").as_deref() {
            None if accepts(ARROW) => Format::Arrow,
            None if accepts("application/x-ndjson") => Format::Json(Layout::Lines),
            None | Some("json") => Format::Json(Layout::Document),
            Some("ndjson") => Format::Json(Layout::Lines),
            Some("arrow") => Format::Arrow,
            Some(_) => return Err(bad("`format` is to be `json`, `ndjson` or `arrow`".to_owned())),
        };
        let (statement, parameters) = statement(&request.body).map_err(bad)?;
        Ok(Self {
            statement,
            parameters,
            keyspace: request.parameter("keyspace"),
            time: Duration::from_millis(number("timeout_ms", TIME_MS, TIME_MS_MAX)?),
            rows_max: number("max_rows", u64::MAX, u64::MAX)?,
            format,
        })
    }
}

/// The statement of a body, which is that, or an object with it and its parameters.
fn statement(body: &str) -> Result<(String, Vec<Value>), String> {
    if !body.trim_start().starts_with('{') {
        return Ok((body.to_owned(), Vec::new()));
    }
    let wanted = "an object is to be {\"query\": \"SELECT …\", \"parameters\": […]}";
    let object: serde_json::Map<String, Json> = serde_json::from_str(body).map_err(|error| format!("{wanted}: {error}"))?;
    if let Some(unknown) = object.keys().find(|name| *name != "query" && *name != "parameters") {
        return Err(format!("{wanted}: there is no `{unknown}`"));
    }
    let statement = object.get("query").and_then(Json::as_str).ok_or(wanted)?;
    let parameters = match object.get("parameters") {
        None => Vec::new(),
        Some(Json::Array(values)) => values.iter().map(parameter).collect::<Result<_, _>>()?,
        Some(_) => return Err(wanted.to_owned()),
    };
    Ok((statement.to_owned(), parameters))
}

fn parameter(value: &Json) -> Result<Value, String> {
    Ok(match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Integer(i64::from(*value)),
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Value::Integer(integer),
            (None, Some(real)) => Value::Real(real),
            (None, None) => return Err(format!("the parameter {number} is a number that SQL does not have")),
        },
        Json::Array(_) | Json::Object(_) => return Err("a parameter is null, a truth, a number or a text".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(target: &str, headers: &str, body: &str) -> Result<Asked, Reply> {
        let mut request = Request::of(&format!("POST {target} HTTP/1.1\r\n{headers}\r\n"));
        request.body = body.to_owned();
        Asked::of(&request)
    }

    #[test]
    fn a_statement_comes_by_itself_or_with_parameters() {
        let plain = asked("/sql", "", "SELECT 1").expect("it is right");
        let expected = Asked {
            statement: "SELECT 1".to_owned(),
            parameters: Vec::new(),
            keyspace: None,
            time: Duration::from_secs(60),
            rows_max: u64::MAX,
            format: Format::Json(Layout::Document),
        };
        assert_eq!(plain, expected);
        let body = "{\"query\": \"SELECT ?\", \"parameters\": [null, true, -7, 1.5, \"x\", 18446744073709551615]}";
        let all = asked("/sql?keyspace=a%20b&timeout_ms=5&max_rows=7", "Accept: application/x-ndjson\r\n", body).expect("it is right");
        let real = Value::Real(18_446_744_073_709_551_615.0);
        let parameters = vec![Value::Null, Value::Integer(1), Value::Integer(-7), Value::Real(1.5), Value::Text("x".to_owned()), real];
        assert_eq!((all.parameters, all.format, all.rows_max, all.time.as_millis()), (parameters, Format::Json(Layout::Lines), 7, 5));
        assert_eq!(all.keyspace.as_deref(), Some("a b"));
        let format = |target: &str, headers: &str| asked(target, headers, "SELECT 1").map(|asked| asked.format).ok();
        assert_eq!(format("/sql?format=arrow", ""), Some(Format::Arrow));
        assert_eq!(format("/sql", &format!("Accept: {ARROW}\r\n")), Some(Format::Arrow));
        assert_eq!(format("/sql?format=json", &format!("Accept: {ARROW}\r\n")), Some(Format::Json(Layout::Document)));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let wrong = ["/sql?timeout=5", "/sql?timeout_ms=0", "/sql?timeout_ms=99999999", "/sql?max_rows=x", "/sql?format=parquet"];
        for target in wrong {
            assert_eq!(asked(target, "", "SELECT 1").err().map(|reply| reply.status), Some(BAD_REQUEST), "{target}");
        }
        for body in [
            "{",
            "{}",
            "{\"query\": 1}",
            "{\"query\": \"x\", \"parameters\": 1}",
            "{\"query\": \"x\", \"parameters\": [[]]}",
            "{\"query\": \"x\", \"a\": 1}",
        ] {
            assert_eq!(asked("/sql", "", body).err().map(|reply| reply.status), Some(BAD_REQUEST), "{body}");
        }
    }
}
