//! JSON as Cassandra's messages show it: what its parser made of it, in the words of Java.

use super::scan::{Kind, Scanner, SyntaxError};
use crate::value::parse::Excerpt;
use crate::value::text;
use model::DataType;

/// The beginning of the value that comes next, which is taken.
pub(super) fn shown(scanner: &mut Scanner<'_>) -> Result<Excerpt, SyntaxError> {
    let mut out = String::new();
    // Taken as a whole first: that bounds how deep it nests.
    write(&mut Scanner::new(scanner.any()?), &mut out)?;
    Ok(Excerpt::new(&out))
}

/// Appends a value: strings without quotes, lists as `[1, a]`, maps as `{a=1}`.
fn write(scanner: &mut Scanner<'_>, out: &mut String) -> Result<(), SyntaxError> {
    match scanner.kind()? {
        Kind::String => out.push_str(&scanner.string()?),
        Kind::Array => {
            out.push('[');
            let mut separator = "";
            scanner.array(|scanner| {
                out.push_str(std::mem::replace(&mut separator, ", "));
                write(scanner, out)
            })?;
            out.push(']');
        }
        Kind::Object => {
            out.push('{');
            let mut separator = "";
            scanner.object(|scanner, name| {
                out.push_str(std::mem::replace(&mut separator, ", "));
                out.push_str(&name);
                out.push('=');
                write(scanner, out)
            })?;
            out.push('}');
        }
        Kind::Fraction => match scanner.number()?.parse::<f64>() {
            Ok(number) => text::write_plain(&DataType::Double, &number.to_be_bytes(), out),
            Err(_) => out.push('?'),
        },
        Kind::Null | Kind::Boolean | Kind::Integer => out.push_str(scanner.any()?),
    }
    Ok(())
}
