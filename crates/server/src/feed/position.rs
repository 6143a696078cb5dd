//! How far a reader has come in a log, as text that a client keeps.
//!
//! A reader goes over the streams in rounds. In the middle of one it says: streams before this one are read up to one time, this one up to here, and those
//! after it up to where the round before has ended. So a position is a few bytes, however many streams there are. A mark names some streams, too, that are read
//! further than that: so who polls a table that is not busy gets nothing twice.
//!
//! | bytes | of a position, before base64url |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 | 1 in the first round of one who reads from the oldest row on |
//! | 8 | which log: a digest of its id |
//! | 4 | for how many seconds changes lived then |
//! | 8 | microseconds: all streams are read up to this time |
//! | 8 | microseconds: the streams before the next one are read up to this one |
//! | 2 | the stream that is read, by its slot |
//! | 16 | up to where it is |
//! | 18 for each, at most 64 | of a mark: a stream that is read further than all that says, and up to where |
//! | 4 | checksum |

use super::time_id::TimeId;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const VERSION: u8 = 1;
/// Without streams that are ahead.
const BYTES: usize = 52;
/// So many streams are named.
pub(super) const AHEAD_MAX: usize = 64;

/// A position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// In the first round of one who reads from the oldest row on: streams that are not read yet are read from their beginning.
    pub(super) is_from_oldest: bool,
    /// A digest of the log's id.
    pub(super) log: u64,
    /// For how many seconds changes live; 0 is for ever.
    pub(super) ttl_s: u32,
    /// All streams are read up to here.
    pub(super) from_us: i64,
    /// The streams before `stream` are read up to here.
    pub(super) to_us: i64,
    /// The stream that is being read.
    pub(super) stream: u16,
    /// Up to where.
    pub(super) reached: TimeId,
}

/// A position, and streams that are ahead of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(super) position: Position,
    /// Up to where each is read.
    pub(super) ahead: Vec<(u16, TimeId)>,
}

impl From<Position> for Mark {
    fn from(position: Position) -> Self {
        Self { position, ahead: Vec::new() }
    }
}

/// A text that is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`since` is to be `oldest`, `now`, a time as 2026-11-28T14:05:00Z, or a position as lines of a feed have it, whole and unchanged")]
pub(crate) struct NoPosition;

impl std::fmt::Display for Mark {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Position { is_from_oldest, log, ttl_s, from_us, to_us, stream, reached } = self.position;
        let mut bytes = vec![VERSION, u8::from(is_from_oldest)];
        bytes.extend_from_slice(&log.to_be_bytes());
        bytes.extend_from_slice(&ttl_s.to_be_bytes());
        bytes.extend_from_slice(&from_us.to_be_bytes());
        bytes.extend_from_slice(&to_us.to_be_bytes());
        for (stream, reached) in std::iter::once(&(stream, reached)).chain(&self.ahead) {
            bytes.extend_from_slice(&stream.to_be_bytes());
            bytes.extend_from_slice(&reached.bytes());
        }
        bytes.extend_from_slice(&base::checksum(&bytes).to_be_bytes());
        out.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl std::str::FromStr for Mark {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| NoPosition)?;
        let (said, checksum) = bytes.split_last_chunk::<4>().filter(|(said, _)| said.len() + 4 >= BYTES).ok_or(NoPosition)?;
        if base::checksum(said) != u32::from_be_bytes(*checksum) {
            return Err(NoPosition);
        }
        let mut rest = said;
        let [version, is_from_oldest] = take(&mut rest)?;
        let position = Position {
            is_from_oldest: is_from_oldest == 1,
            log: u64::from_be_bytes(take(&mut rest)?),
            ttl_s: u32::from_be_bytes(take(&mut rest)?),
            from_us: i64::from_be_bytes(take(&mut rest)?),
            to_us: i64::from_be_bytes(take(&mut rest)?),
            stream: u16::from_be_bytes(take(&mut rest)?),
            reached: TimeId::from_bytes(take(&mut rest)?),
        };
        let mut ahead = Vec::new();
        while !rest.is_empty() {
            ahead.push((u16::from_be_bytes(take(&mut rest)?), TimeId::from_bytes(take(&mut rest)?)));
        }
        let mut streams = ahead.iter().map(|(stream, _)| *stream).chain([position.stream]);
        let is_possible = version == VERSION
            && ahead.len() <= AHEAD_MAX
            && streams.all(|stream| u32::from(stream) < base::SLOT_COUNT)
            && position.from_us <= position.to_us;
        if is_possible { Ok(Self { position, ahead }) } else { Err(NoPosition) }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], NoPosition> {
    let (first, after) = rest.split_first_chunk::<N>().ok_or(NoPosition)?;
    *rest = after;
    Ok(*first)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_as_it_was_written_and_nothing_else_does() {
        let position = Position {
            is_from_oldest: true,
            log: 7 << 60,
            ttl_s: 86_400,
            from_us: 5,
            to_us: 1_764_248_400_123_456,
            stream: 4_095,
            reached: TimeId::last_of(9),
        };
        let mark = Mark { position, ahead: vec![(0, TimeId::last_of(7)), (4_095, TimeId::last_of(8))] };
        let text = mark.to_string();
        assert_eq!(text.parse(), Ok(mark.clone()));
        assert_eq!(Mark::from(position).to_string().parse(), Ok(Mark::from(position)));
        for cut in 0..text.len() {
            assert_eq!(text[..cut].parse::<Mark>(), Err(NoPosition));
            let mut other = text.clone().into_bytes();
            other[cut] = if other[cut] == b'A' { b'B' } else { b'A' };
            assert_eq!(String::from_utf8(other).unwrap().parse::<Mark>(), Err(NoPosition), "{cut}");
        }
        for wrong in ["", "x", "%", "ä", "AAAA", &"A".repeat(70), &(text.clone() + "AAAA")] {
            assert_eq!(wrong.parse::<Mark>(), Err(NoPosition), "{wrong}");
        }
        for impossible in [
            Mark::from(Position { stream: 4_096, ..position }),
            Mark::from(Position { from_us: i64::MAX, ..position }),
            Mark { ahead: vec![(4_096, TimeId::FIRST)], ..mark.clone() },
            Mark { ahead: vec![(0, TimeId::FIRST); AHEAD_MAX + 1], ..mark },
        ] {
            assert_eq!(impossible.to_string().parse::<Mark>(), Err(NoPosition));
        }
    }
}
