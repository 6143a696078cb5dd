//! Durations: `1y2mo3w4d5h6m7s8ms9us10ns` and the three forms of ISO 8601, each with an optional minus before it.

use super::{Form, ParseError, Unit};
use crate::value::vint;

const MONTHS_MAX: i64 = i32::MAX as i64;

/// Appends the wire form of a duration.
pub(super) fn duration(text: &str, out: &mut Vec<u8>) -> Result<(), ParseError> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut sum = Sum::default();
    let complete = if let Some(iso) = body.strip_prefix('P') {
        if iso.ends_with('W') {
            iso_weeks(iso, &mut sum)?
        } else if iso.as_bytes().get(4) == Some(&b'-') {
            iso_alternative(iso, &mut sum)?
        } else {
            iso_designators(iso, &mut sum)?
        }
    } else {
        standard(body, &mut sum)?
    };
    if complete.is_none() || sum.last.is_none() {
        return Err(ParseError::unreadable(Form::Duration, body));
    }
    let sign = if negative { -1 } else { 1 };
    for part in [sum.months, sum.days, sum.nanoseconds] {
        vint::put_signed(part * sign, out);
    }
    Ok(())
}

/// What was read so far.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    nanoseconds: i64,
    last: Option<Unit>,
}

impl Sum {
    /// Adds `digits` × `unit`; units come from large to small, each once.
    fn add(&mut self, digits: &str, unit: Unit) -> Result<(), ParseError> {
        match self.last {
            Some(last) if last == unit => return Err(ParseError::UnitTwice { unit }),
            Some(last) if last > unit => return Err(ParseError::UnitOrder { unit: last, after: unit }),
            _ => self.last = Some(unit),
        }
        let (total, total_unit, factor, most) = match unit {
            Unit::Years => (&mut self.months, Unit::Months, 12, MONTHS_MAX),
            Unit::Months => (&mut self.months, Unit::Months, 1, MONTHS_MAX),
            Unit::Weeks => (&mut self.days, Unit::Days, 7, MONTHS_MAX),
            Unit::Days => (&mut self.days, Unit::Days, 1, MONTHS_MAX),
            Unit::Hours => (&mut self.nanoseconds, Unit::Nanoseconds, 3_600_000_000_000, i64::MAX),
            Unit::Minutes => (&mut self.nanoseconds, Unit::Nanoseconds, 60_000_000_000, i64::MAX),
            Unit::Seconds => (&mut self.nanoseconds, Unit::Nanoseconds, 1_000_000_000, i64::MAX),
            Unit::Milliseconds => (&mut self.nanoseconds, Unit::Nanoseconds, 1_000_000, i64::MAX),
            Unit::Microseconds => (&mut self.nanoseconds, Unit::Nanoseconds, 1_000, i64::MAX),
            Unit::Nanoseconds => (&mut self.nanoseconds, Unit::Nanoseconds, 1, i64::MAX),
        };
        let sum = digits.parse::<i64>().ok().and_then(|number| number.checked_mul(factor)?.checked_add(*total));
        match sum.filter(|sum| *sum <= most) {
            Some(sum) => *total = sum,
            None => return Err(ParseError::DurationTooLong { unit: total_unit, most }),
        }
        Ok(())
    }
}

/// `None` within is text of another form.
type Complete = Result<Option<()>, ParseError>;

fn standard(body: &str, sum: &mut Sum) -> Complete {
    let mut rest = body;
    while !rest.is_empty() {
        let Some(digits) = take_digits(&mut rest) else { return Ok(None) };
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (symbol, after) = rest.split_at(end);
        rest = after;
        let unit = match symbol {
            "y" | "Y" => Unit::Years,
            "w" | "W" => Unit::Weeks,
            "d" | "D" => Unit::Days,
            "h" | "H" => Unit::Hours,
            "m" | "M" => Unit::Minutes,
            "s" | "S" => Unit::Seconds,
            // The micro sign and the Greek letter.
            "\u{B5}s" | "\u{B5}S" | "\u{3BC}s" | "\u{3BC}S" => Unit::Microseconds,
            _ if symbol.eq_ignore_ascii_case("mo") => Unit::Months,
            _ if symbol.eq_ignore_ascii_case("ms") => Unit::Milliseconds,
            _ if symbol.eq_ignore_ascii_case("us") => Unit::Microseconds,
            _ if symbol.eq_ignore_ascii_case("ns") => Unit::Nanoseconds,
            _ => return Ok(None),
        };
        sum.add(digits, unit)?;
    }
    Ok(Some(()))
}

fn iso_weeks(iso: &str, sum: &mut Sum) -> Complete {
    let mut rest = iso;
    match take_digits(&mut rest) {
        Some(digits) if rest == "W" => sum.add(digits, Unit::Weeks).map(Some),
        _ => Ok(None),
    }
}

/// `YnMnDTnHnMnS`, each part optional.
fn iso_designators(iso: &str, sum: &mut Sum) -> Complete {
    let (date, time) = match iso.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (iso, None),
    };
    let parts = [(date, [('Y', Unit::Years), ('M', Unit::Months), ('D', Unit::Days)])]
        .into_iter()
        .chain(time.map(|time| (time, [('H', Unit::Hours), ('M', Unit::Minutes), ('S', Unit::Seconds)])));
    for (mut rest, units) in parts {
        for (symbol, unit) in units {
            let mut after = rest;
            if let Some(digits) = take_digits(&mut after)
                && let Some(after) = after.strip_prefix(symbol)
            {
                sum.add(digits, unit)?;
                rest = after;
            }
        }
        if !rest.is_empty() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// `yyyy-mm-ddThh:mm:ss`
fn iso_alternative(iso: &str, sum: &mut Sum) -> Complete {
    let shape = "dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, shape): (u8, u8)| if shape == b'd' { byte.is_ascii_digit() } else { byte == shape };
    if iso.len() != shape.len() || !iso.bytes().zip(shape.bytes()).all(fits) {
        return Ok(None);
    }
    let parts = [
        (&iso[..4], Unit::Years),
        (&iso[5..7], Unit::Months),
        (&iso[8..10], Unit::Days),
        (&iso[11..13], Unit::Hours),
        (&iso[14..16], Unit::Minutes),
        (&iso[17..], Unit::Seconds),
    ];
    for (digits, unit) in parts {
        sum.add(digits, unit)?;
    }
    Ok(Some(()))
}

fn take_digits<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    (!digits.is_empty()).then_some(digits)
}
