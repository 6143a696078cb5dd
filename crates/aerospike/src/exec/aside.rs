//! What a part of a batch tells its coordinator besides its messages: what has to be declared before it can run, and what functions have logged.
//!
//! | bytes | |
//! |---|---|
//! | 2 | number of bins |
//! | 1 + 1 + … | of each: type, length of its name, name |
//! | 1 | number of lines |
//! | 1 + 2 + … | of each: level, length, text |

use crate::record::new_bin;
use crate::value::ParticleType;
use model::record_set::NewBin;

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Aside {
    /// Bins that the set lacks.
    pub(super) bins: Vec<NewBin>,
    /// Levels and lines.
    pub(super) log: Vec<(i64, String)>,
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

impl Aside {
    pub(super) fn is_empty(&self) -> bool {
        self.bins.is_empty() && self.log.is_empty()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.bins.len() as u16).to_be_bytes());
        for bin in &self.bins {
            out.extend_from_slice(&[bin.kind, bin.name.len() as u8]);
            out.extend_from_slice(bin.name.as_bytes());
        }
        out.push(self.log.len() as u8);
        for (level, line) in &self.log {
            out.push(*level as u8);
            out.extend_from_slice(&(line.len() as u16).to_be_bytes());
            out.extend_from_slice(line.as_bytes());
        }
    }

    /// Reads what [`Aside::encode`] wrote, perhaps on another member.
    pub(super) fn decode(mut rest: &[u8]) -> Option<Self> {
        let mut aside = Self::default();
        let count = u16::from_be_bytes(take(&mut rest, 2)?.try_into().ok()?);
        for _ in 0..count {
            let head = take(&mut rest, 2)?;
            let name = take(&mut rest, usize::from(head[1]))?;
            aside.bins.push(new_bin(name, ParticleType::from_wire(head[0])?).ok()?);
        }
        let count = take(&mut rest, 1)?[0];
        for _ in 0..count {
            let head = take(&mut rest, 3)?;
            let line = take(&mut rest, usize::from(u16::from_be_bytes([head[1], head[2]])))?;
            aside.log.push((i64::from(head[0]), String::from_utf8_lossy(line).into_owned()));
        }
        rest.is_empty().then_some(aside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let bin = new_bin(b"bin", ParticleType::List).expect("a bin");
        let aside = Aside { bins: vec![bin], log: vec![(2, "line".to_owned())] };
        let mut bytes = Vec::new();
        aside.encode(&mut bytes);
        assert_eq!(Aside::decode(&bytes), Some(aside));
        for end in 0..bytes.len() {
            assert_eq!(Aside::decode(&bytes[..end]), None, "{end}");
        }
        bytes.push(0);
        assert_eq!(Aside::decode(&bytes), None);
    }
}
