//! An answer of Arrow, passed on as it comes.

use std::io::{Read, Write};

/// How much of its end is looked at.
const TAIL_BYTES: usize = 8 << 10;
/// What a message begins with; one of no length ends the stream.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// What has passed.
#[derive(Default)]
pub(super) struct ArrowPassed {
    /// Its last bytes.
    tail: Vec<u8>,
}

impl ArrowPassed {
    /// Passes all of a stream on.
    pub(super) fn pass(&mut self, from: &mut dyn Read, to: &mut dyn Write) -> std::io::Result<()> {
        let mut piece = vec![0; 32 << 10];
        loop {
            let length = from.read(&mut piece)?;
            if length == 0 {
                return to.flush();
            }
            to.write_all(&piece[..length])?;
            self.tail.extend_from_slice(&piece[..length]);
            let beyond = self.tail.len().saturating_sub(TAIL_BYTES);
            self.tail.drain(..beyond);
        }
    }

    /// Whether it was whole; else what the node says in place of its end, if it has said why.
    pub(super) fn ended(&self) -> Result<(), Option<String>> {
        let at = self.tail.windows(4).rposition(|bytes| bytes == CONTINUATION).ok_or(None)?;
        match &self.tail[at + 4..] {
            [0, 0, 0, 0] => Ok(()),
            [_, _, _, _, text @ ..] if !text.is_empty() => Err(std::str::from_utf8(text).ok().map(str::to_owned)),
            _ => Err(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(bytes: &[u8]) -> Result<(), Option<String>> {
        let (mut passed, mut out) = (ArrowPassed::default(), Vec::new());
        passed.pass(&mut &*bytes, &mut out).expect("memory takes all");
        assert_eq!(out, bytes);
        passed.ended()
    }

    #[test]
    fn an_end_is_told_from_none() {
        let long = [&[7; 70_000][..], &CONTINUATION, &[0; 4]].concat();
        assert_eq!(ended(&long), Ok(()));
        assert_eq!(ended(&[&CONTINUATION[..], &[16, 0, 0, 0], b"no time"].concat()), Err(Some("no time".to_owned())));
        for cut in [&long[..70_000], &long[..long.len() - 1], &[]] {
            assert_eq!(ended(cut), Err(None));
        }
    }
}
