//! Patterns of Lua's string library: what `string.find` and its like look for. Lua's own matcher is a loop that nothing interrupts; this one counts its steps.
//!
//! A pattern is read into items first. An item with a repetition tries its lengths one after the other, each followed by the rest of the items, so levels of
//! recursion are bounded by [`ITEMS_MAX`].

/// Items of a pattern.
const ITEMS_MAX: usize = 150;
/// As in Lua.
const CAPTURES_MAX: usize = 32;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bytes([u64; 4]);

impl Bytes {
    fn of(fits: impl Fn(u8) -> bool) -> Self {
        let mut set = Self::default();
        (0..=u8::MAX).filter(|byte| fits(*byte)).for_each(|byte| set.0[usize::from(byte >> 6)] |= 1 << (byte & 63));
        set
    }

    fn has(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & 1 << (byte & 63) != 0
    }

    fn or(self, other: Self) -> Self {
        Self::of(|byte| self.has(byte) || other.has(byte))
    }

    /// `%a` and the like; another byte after `%` stands for itself.
    fn class(letter: u8) -> Self {
        let fits: fn(u8) -> bool = match letter.to_ascii_lowercase() {
            b'a' => |byte| byte.is_ascii_alphabetic(),
            b'c' => |byte| byte.is_ascii_control(),
            b'd' => |byte| byte.is_ascii_digit(),
            b'g' => |byte| byte.is_ascii_graphic(),
            b'l' => |byte| byte.is_ascii_lowercase(),
            b'p' => |byte| byte.is_ascii_punctuation(),
            b's' => |byte| byte.is_ascii_whitespace() || byte == 0x0B,
            b'u' => |byte| byte.is_ascii_uppercase(),
            b'w' => |byte| byte.is_ascii_alphanumeric(),
            b'x' => |byte| byte.is_ascii_hexdigit(),
            _ => return Self::of(|byte| byte == letter),
        };
        let is_negated = letter.is_ascii_uppercase();
        Self::of(|byte| fits(byte) != is_negated)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    Once,
    Optional,
    /// `*` and `+`: as many as there are.
    Most(usize),
    /// `-`: as few as will do.
    Fewest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Bytes(Bytes, Repeat),
    Open,
    Position,
    Close,
    /// `%b()`
    Balance(u8, u8),
    /// `%f[set]`
    Frontier(Bytes),
    /// `%1`
    Again(usize),
    End,
}

/// A pattern that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    items: Vec<Item>,
    is_anchored: bool,
}

/// A part of the text that a pattern has captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    Open(usize),
    Part(usize, usize),
    Position(usize),
}

/// Where a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) captures: Vec<Capture>,
}

impl Pattern {
    /// Reads a pattern; `anchors` says whether `^` has a meaning at its start.
    pub(crate) fn read(text: &[u8], anchors: bool) -> Result<Self, &'static str> {
        let is_anchored = anchors && text.first() == Some(&b'^');
        let mut rest = if is_anchored { &text[1..] } else { text };
        let mut items = Vec::new();
        let mut opened = 0;
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            let item = match (*first, after.first()) {
                (b'(', Some(b')')) => {
                    rest = &after[1..];
                    opened += 1;
                    Item::Position
                }
                (b'(', _) => {
                    opened += 1;
                    Item::Open
                }
                (b')', _) => Item::Close,
                (b'$', None) => Item::End,
                (b'%', Some(b'b')) => {
                    let &[_, open, close, ..] = after else { return Err("malformed pattern (missing arguments to '%b')") };
                    rest = &after[3..];
                    Item::Balance(open, close)
                }
                (b'%', Some(b'f')) => {
                    rest = after[1..].strip_prefix(b"[").ok_or("missing '[' after '%f' in pattern")?;
                    Item::Frontier(set(&mut rest)?)
                }
                (b'%', Some(digit @ b'0'..=b'9')) => {
                    rest = &after[1..];
                    Item::Again(usize::from(digit - b'0').checked_sub(1).ok_or("invalid capture index %0 in pattern")?)
                }
                (first, _) => {
                    let bytes = single(first, &mut rest)?;
                    Item::Bytes(bytes, repeat(&mut rest))
                }
            };
            items.push(item);
        }
        if items.len() > ITEMS_MAX || opened > CAPTURES_MAX {
            return Err("the pattern is too long");
        }
        Ok(Self { items, is_anchored })
    }

    /// The first place from `from` on where it fits. `step` is called for each step, and may end the search.
    pub(crate) fn find<E>(&self, text: &[u8], from: usize, step: &mut dyn FnMut() -> Result<(), E>) -> Result<Option<Match>, Stopped<E>> {
        for start in from..=text.len() {
            let mut matcher = Matcher { items: &self.items, text, captures: Vec::new(), step: &mut *step };
            if let Some(end) = matcher.fit(0, start)? {
                return Ok(Some(Match { start, end, captures: matcher.captures }));
            }
            if self.is_anchored {
                break;
            }
        }
        Ok(None)
    }

    pub(crate) fn is_anchored(&self) -> bool {
        self.is_anchored
    }
}

fn repeat(rest: &mut &[u8]) -> Repeat {
    let repeat = match rest.first() {
        Some(b'?') => Repeat::Optional,
        Some(b'*') => Repeat::Most(0),
        Some(b'+') => Repeat::Most(1),
        Some(b'-') => Repeat::Fewest,
        _ => return Repeat::Once,
    };
    *rest = &rest[1..];
    repeat
}

/// One class of bytes, of which the first byte has been taken.
fn single(first: u8, rest: &mut &[u8]) -> Result<Bytes, &'static str> {
    match first {
        b'.' => Ok(Bytes::of(|_| true)),
        b'[' => set(rest),
        b'%' => {
            let (letter, after) = rest.split_first().ok_or("malformed pattern (ends with '%')")?;
            *rest = after;
            Ok(Bytes::class(*letter))
        }
        byte => Ok(Bytes::of(|other| other == byte)),
    }
}

/// `[…]`, after its bracket.
fn set(rest: &mut &[u8]) -> Result<Bytes, &'static str> {
    const UNCLOSED: &str = "malformed pattern (missing ']')";
    let is_negated = rest.first() == Some(&b'^');
    if is_negated {
        *rest = &rest[1..];
    }
    let mut bytes = Bytes::default();
    let mut is_first = true;
    loop {
        let (&byte, after) = rest.split_first().ok_or(UNCLOSED)?;
        *rest = after;
        let part = match (byte, after) {
            (b']', _) if !is_first => return Ok(if is_negated { Bytes::of(|byte| !bytes.has(byte)) } else { bytes }),
            (b'%', [letter, after @ ..]) => {
                *rest = after;
                Bytes::class(*letter)
            }
            (low, [b'-', high, after @ ..]) if *high != b']' => {
                *rest = after;
                Bytes::of(|byte| (low..=*high).contains(&byte))
            }
            (byte, _) => Bytes::of(|other| other == byte),
        };
        bytes = bytes.or(part);
        is_first = false;
    }
}

/// Why a search has ended without an answer.
#[derive(Debug)]
pub(crate) enum Stopped<E> {
    /// The caller wanted it.
    Caller(E),
    /// The pattern's captures do not fit together.
    Pattern(&'static str),
}

struct Matcher<'a, E> {
    items: &'a [Item],
    text: &'a [u8],
    captures: Vec<Capture>,
    step: &'a mut dyn FnMut() -> Result<(), E>,
}

impl<E> Matcher<'_, E> {
    /// Where the items from `item` on end if they fit at `at`.
    fn fit(&mut self, item: usize, at: usize) -> Result<Option<usize>, Stopped<E>> {
        (self.step)().map_err(Stopped::Caller)?;
        let Some(first) = self.items.get(item) else { return Ok(Some(at)) };
        let next = match first {
            Item::Bytes(bytes, repeat) => return self.repeated(*bytes, *repeat, item, at),
            Item::Open => return self.captured(Capture::Open(at), item, at),
            Item::Position => return self.captured(Capture::Position(at), item, at),
            Item::Close => return self.close(item, at),
            Item::Balance(open, close) => self.balanced(*open, *close, at)?,
            Item::Frontier(bytes) => {
                let before = at.checked_sub(1).map_or(0, |before| self.text[before]);
                let here = self.text.get(at).copied().unwrap_or(0);
                (!bytes.has(before) && bytes.has(here)).then_some(at)
            }
            Item::Again(number) => match self.captures.get(*number) {
                Some(Capture::Part(start, end)) => {
                    let part = &self.text[*start..*end];
                    self.text[at..].starts_with(part).then_some(at + part.len())
                }
                _ => return Err(Stopped::Pattern("invalid capture index in pattern")),
            },
            Item::End => (at == self.text.len()).then_some(at),
        };
        match next {
            Some(next) => self.fit(item + 1, next),
            None => Ok(None),
        }
    }

    fn is_in(&self, bytes: Bytes, at: usize) -> bool {
        self.text.get(at).is_some_and(|byte| bytes.has(*byte))
    }

    fn repeated(&mut self, bytes: Bytes, repeat: Repeat, item: usize, at: usize) -> Result<Option<usize>, Stopped<E>> {
        match repeat {
            Repeat::Once if self.is_in(bytes, at) => self.fit(item + 1, at + 1),
            Repeat::Once => Ok(None),
            Repeat::Optional => {
                if self.is_in(bytes, at)
                    && let Some(end) = self.fit(item + 1, at + 1)?
                {
                    return Ok(Some(end));
                }
                self.fit(item + 1, at)
            }
            Repeat::Most(least) => {
                let mut count = 0;
                while self.is_in(bytes, at + count) {
                    (self.step)().map_err(Stopped::Caller)?;
                    count += 1;
                }
                for count in (least..=count).rev() {
                    if let Some(end) = self.fit(item + 1, at + count)? {
                        return Ok(Some(end));
                    }
                }
                Ok(None)
            }
            Repeat::Fewest => {
                let mut at = at;
                loop {
                    if let Some(end) = self.fit(item + 1, at)? {
                        return Ok(Some(end));
                    }
                    if !self.is_in(bytes, at) {
                        return Ok(None);
                    }
                    at += 1;
                }
            }
        }
    }

    fn captured(&mut self, capture: Capture, item: usize, at: usize) -> Result<Option<usize>, Stopped<E>> {
        let before = self.captures.len();
        self.captures.push(capture);
        let end = self.fit(item + 1, at)?;
        if end.is_none() {
            self.captures.truncate(before);
        }
        Ok(end)
    }

    fn close(&mut self, item: usize, at: usize) -> Result<Option<usize>, Stopped<E>> {
        let open = self.captures.iter().rposition(|capture| matches!(capture, Capture::Open(_)));
        let Some((number, Capture::Open(start))) = open.map(|number| (number, self.captures[number])) else {
            return Err(Stopped::Pattern("invalid pattern capture"));
        };
        self.captures[number] = Capture::Part(start, at);
        let end = self.fit(item + 1, at)?;
        if end.is_none() {
            self.captures[number] = Capture::Open(start);
        }
        Ok(end)
    }

    fn balanced(&mut self, open: u8, close: u8, at: usize) -> Result<Option<usize>, Stopped<E>> {
        if self.text.get(at) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for (offset, byte) in self.text[at + 1..].iter().enumerate() {
            (self.step)().map_err(Stopped::Caller)?;
            if *byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + offset + 2));
                }
            } else if *byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }
}
