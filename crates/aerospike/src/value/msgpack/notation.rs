//! Values as text, for tests: `null`, `true`, `12`, `-1.5`, `"text"`, `b"blob"`, `g"geo"`, `[1, 2]`, `{"k": 1}`, `inf`, `*`. In front of a
//! list or map, `<` means ordered, `<<` ordered by keys and values, `~` that the order of the pairs means something.

use super::{Head, Reader, flags, write};
use crate::value::ParticleType;

/// The bytes of a value.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let mut parser = Parser { rest: text.trim() };
    let mut out = Vec::new();
    parser.value(&mut out);
    assert!(parser.rest.is_empty(), "what is {:?} behind a value of {text:?}?", parser.rest);
    out
}

/// A value's text.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut reader = Reader::new(bytes);
    let text = show(&mut reader);
    assert!(reader.is_empty(), "something comes behind {text}");
    text
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn eat(&mut self, word: &str) -> bool {
        let found = self.rest.strip_prefix(word);
        self.rest = found.unwrap_or(self.rest).trim_start();
        found.is_some()
    }

    fn value(&mut self, out: &mut Vec<u8>) {
        let flags = if self.eat("<<") {
            flags::ORDERED | flags::VALUE_ORDERED
        } else if self.eat("<") {
            flags::ORDERED
        } else if self.eat("~") {
            flags::PRESERVE_ORDER
        } else {
            0
        };
        if self.eat("[") {
            let items = self.until("]");
            write::list(out, items.len(), flags);
            out.extend(items.concat());
        } else if self.eat("{") {
            let items = self.until("}");
            write::map(out, items.len() / 2, flags);
            out.extend(items.concat());
        } else if self.eat("null") {
            out.push(write::NIL);
        } else if self.eat("true") {
            write::bool(out, true);
        } else if self.eat("false") {
            write::bool(out, false);
        } else if self.eat("inf") {
            write::infinity(out);
        } else if self.eat("*") {
            write::wildcard(out);
        } else if self.eat("b\"") {
            let text = self.quoted();
            write::typed(out, ParticleType::Blob, text.as_bytes());
        } else if self.eat("g\"") {
            let text = self.quoted();
            write::typed(out, ParticleType::GeoJson, text.as_bytes());
        } else if self.eat("\"") {
            let text = self.quoted();
            write::typed(out, ParticleType::String, text.as_bytes());
        } else {
            self.number(out);
        }
    }

    fn until(&mut self, end: &str) -> Vec<Vec<u8>> {
        let mut items = Vec::new();
        while !self.eat(end) {
            let mut item = Vec::new();
            self.value(&mut item);
            items.push(item);
            let _ = self.eat(",") || self.eat(":");
        }
        items
    }

    fn quoted(&mut self) -> String {
        let (text, rest) = self.rest.split_once('"').expect("a quote ends");
        self.rest = rest.trim_start();
        text.to_owned()
    }

    fn number(&mut self, out: &mut Vec<u8>) {
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit() && !"-.e".contains(letter)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        match number.parse::<i64>() {
            Ok(number) => write::integer(out, number),
            Err(_) if !number.contains(['.', 'e']) => write::unsigned(out, number.parse().expect("a number")),
            Err(_) => write::double(out, number.parse().expect("a number")),
        }
    }
}

fn show(reader: &mut Reader<'_>) -> String {
    match reader.head().expect("a value") {
        Head::Nil => "null".to_owned(),
        Head::Bool(value) => value.to_string(),
        Head::Integer(number) => number.to_string(),
        Head::Unsigned(number) => number.to_string(),
        Head::Double(number) => format!("{number:?}"),
        Head::Raw(bytes) => {
            let text = String::from_utf8_lossy(&bytes[1..]);
            match bytes[0] {
                3 => format!("\"{text}\""),
                23 => format!("g\"{text}\""),
                _ => format!("b\"{text}\""),
            }
        }
        Head::List(mut count) => {
            let flags = sign(reader.list_flags(&mut count).expect("flags"));
            let items: Vec<String> = (0..count).map(|_| show(reader)).collect();
            format!("{flags}[{}]", items.join(", "))
        }
        Head::Map(mut count) => {
            let flags = sign(reader.map_flags(&mut count).expect("flags"));
            let items: Vec<String> = (0..count).map(|_| format!("{}: {}", show(reader), show(reader))).collect();
            format!("{flags}{{{}}}", items.join(", "))
        }
        Head::Extension(_, [0]) => "*".to_owned(),
        Head::Extension(..) => "inf".to_owned(),
    }
}

fn sign(flags: u8) -> &'static str {
    match flags {
        0 => "",
        flags::ORDERED => "<",
        flags::PRESERVE_ORDER => "~",
        3 => "<<",
        _ => "?",
    }
}
