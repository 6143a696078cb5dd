//! Changes of a text, noted while it is read and made at its end.

use crate::opening::SQL_BYTES_MAX;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bytes that changes put in at most.
pub(super) const EDITED_BYTES_MAX: usize = 8 * SQL_BYTES_MAX;

/// What is put in, and how much is left out, at one place.
#[derive(Default)]
struct Edit {
    /// Ends what was before.
    closes: String,
    /// Begins what comes, the innermost first.
    opens: Vec<&'static str>,
    /// Where the text goes on.
    until: usize,
    instead: String,
}

/// The changes of a text, by their places.
#[derive(Default)]
pub(super) struct Edits {
    at: BTreeMap<usize, Edit>,
    count: usize,
    /// Bytes that are put in; those that are too many are counted alone.
    bytes: usize,
}

impl Edits {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether more was put in than may be: what came then is left out.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > EDITED_BYTES_MAX
    }

    /// Whether so many bytes may be put in; notes that they are too many.
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.bytes.saturating_add(bytes) <= EDITED_BYTES_MAX;
        if !has_room {
            self.bytes = EDITED_BYTES_MAX + 1;
        }
        has_room
    }

    /// Counts bytes that are to be put in; false if they are too many.
    fn takes(&mut self, bytes: usize) -> bool {
        let has_room = self.has_room(bytes);
        self.bytes += if has_room { bytes } else { 0 };
        self.count += 1;
        has_room
    }

    /// Puts something before a part and after it. What is noted later is outside of what was noted before.
    pub(super) fn wrap(&mut self, (start, end): (usize, usize), before: &'static str, after: &str) {
        if self.takes(before.len() + after.len()) {
            self.at.entry(start).or_default().opens.push(before);
            self.at.entry(end).or_default().closes.push_str(after);
        }
    }

    /// Puts something after a part.
    pub(super) fn append(&mut self, end: usize, text: &str) {
        if self.takes(text.len()) {
            self.at.entry(end).or_default().closes.push_str(text);
        }
    }

    /// Puts something in place of a part.
    pub(super) fn replace(&mut self, (start, end): (usize, usize), text: &str) {
        if self.takes(text.len()) {
            let edit = self.at.entry(start).or_default();
            edit.until = end;
            edit.instead.push_str(text);
        }
    }

    /// The text with its changes. No word may have been next to what takes the place of another, so a space is between them.
    pub(super) fn apply(&self, sql: &str) -> String {
        let (mut written, mut taken) = (String::with_capacity(sql.len() + 32 * self.at.len()), 0);
        for (at, edit) in &self.at {
            let Some(kept) = sql.get(taken..*at) else { continue };
            let _ = write!(written, "{kept}{}", edit.closes);
            edit.opens.iter().rev().for_each(|open| written.push_str(open));
            taken = *at;
            if edit.until > *at {
                let _ = write!(written, " {} ", edit.instead);
                taken = edit.until;
            }
        }
        written.push_str(&sql[taken..]);
        written
    }
}
