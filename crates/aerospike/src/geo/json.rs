//! Reads GeoJSON: objects of the types Point, Polygon, MultiPolygon and AeroCircle, and a Feature with one of these. What else an object has is passed over.

use super::place::Place;
use super::polygon::Polygon;
use super::shape::{Region, Shape};

/// Arrays and objects may be in each other to this depth.
const DEPTH_MAX: usize = 64;

impl Shape {
    /// Reads a text; none if it is no GeoJSON, or of a type that is not served.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        std::str::from_utf8(text).ok()?;
        let mut scanner = Scanner { rest: text };
        let object = scanner.object(DEPTH_MAX)?;
        if scanner.peek().is_some() {
            return None;
        }
        match object.kind? {
            b"\"Feature\"" => Scanner { rest: object.geometry? }.object(DEPTH_MAX)?.shape(),
            _ => object.shape(),
        }
    }
}

/// The members that matter, as they are written.
#[derive(Default)]
struct Object<'a> {
    kind: Option<&'a [u8]>,
    coordinates: Option<&'a [u8]>,
    geometry: Option<&'a [u8]>,
}

impl Object<'_> {
    fn shape(&self) -> Option<Shape> {
        let mut coordinates = Scanner { rest: self.coordinates? };
        Some(match self.kind? {
            b"\"Point\"" => Shape::Point(coordinates.position()?),
            b"\"Polygon\"" => Shape::Region(Region::Polygons(vec![coordinates.polygon()?])),
            b"\"MultiPolygon\"" => {
                let polygons = coordinates.list(Scanner::polygon)?;
                Shape::Region(Region::Polygons(Some(polygons).filter(|polygons| !polygons.is_empty())?))
            }
            b"\"AeroCircle\"" => {
                coordinates.take(b'[')?;
                let middle = coordinates.position()?;
                coordinates.take(b',')?;
                let radius_m = coordinates.number()?;
                coordinates.take(b']')?;
                Shape::Region(Region::circle(middle, radius_m)?)
            }
            _ => return None,
        })
    }
}

/// What is left of a text.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// The next byte that is not space.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.rest = &self.rest[1..])
    }

    /// Whether another item comes, or the end.
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        let next = self.peek()?;
        self.rest = &self.rest[1..];
        (next == b',' || next == end).then_some(next == b',')
    }

    fn object(&mut self, depth: usize) -> Option<Object<'a>> {
        let mut object = Object::default();
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(object);
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            self.peek()?;
            let before = self.rest;
            self.skip(depth)?;
            let value = Some(&before[..before.len() - self.rest.len()]);
            match name {
                b"type" => object.kind = value,
                b"coordinates" => object.coordinates = value,
                b"geometry" => object.geometry = value,
                _ => {}
            }
            if !self.goes_on(b'}')? {
                return Some(object);
            }
        }
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        self.take(b'[')?;
        if self.take(b']').is_some() {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if !self.goes_on(b']')? {
                return Some(items);
            }
        }
    }

    fn polygon(&mut self) -> Option<Polygon> {
        Polygon::new(self.list(|scanner| scanner.list(Self::position))?)
    }

    /// A longitude and a latitude; what follows, as a height, is passed over.
    fn position(&mut self) -> Option<Place> {
        self.take(b'[')?;
        let longitude = self.number()?;
        self.take(b',')?;
        let latitude = self.number()?;
        while self.goes_on(b']')? {
            self.number()?;
        }
        Place::of_degrees(longitude, latitude)
    }

    /// Passes over a value.
    fn skip(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.peek()? {
            b'{' => self.object(depth).map(drop),
            b'[' => self.list(|scanner| scanner.skip(depth)).map(drop),
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number().map(drop),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    /// What is between two quotes, escapes as they are.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let text = self.rest;
        loop {
            let end = self.rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F))?;
            let (found, rest) = self.rest[end..].split_first()?;
            self.rest = rest;
            match found {
                b'"' => return Some(&text[..text.len() - rest.len() - 1]),
                b'\\' => match self.rest.split_first()? {
                    (b'u', rest) if rest.len() >= 4 && rest[..4].iter().all(u8::is_ascii_hexdigit) => self.rest = &rest[4..],
                    (b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest) => self.rest = rest,
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<f64> {
        self.peek()?;
        let length =
            self.rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        if !is_number(number) {
            return None;
        }
        std::str::from_utf8(number).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// Whether digits, signs and points are a number of JSON: Rust takes more.
fn is_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (whole, mut rest) = text.split_at(digits(text));
    if whole.is_empty() || whole.len() > 1 && whole[0] == b'0' {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or(rest.strip_prefix(b"E")) {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}
