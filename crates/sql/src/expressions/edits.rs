//! Changes of a text, noted while it is read and made at its end.

use std::collections::BTreeMap;
use std::fmt::Write;

/// What is put in, and how much is left out, at one place.
#[derive(Default)]
struct Edit {
    /// Ends what was before.
    closes: String,
    /// Begins what comes, the outermost first.
    opens: String,
    /// Where the text goes on.
    until: usize,
    instead: String,
}

/// The changes of a text, by their places.
#[derive(Default)]
pub(super) struct Edits {
    at: BTreeMap<usize, Edit>,
    count: usize,
}

impl Edits {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Puts something before a part and after it. What is noted later is outside of what was noted before.
    pub(super) fn wrap(&mut self, (start, end): (usize, usize), before: &str, after: &str) {
        self.at.entry(start).or_default().opens.insert_str(0, before);
        self.append(end, after);
    }

    /// Puts something after a part.
    pub(super) fn append(&mut self, end: usize, text: &str) {
        self.count += 1;
        self.at.entry(end).or_default().closes.push_str(text);
    }

    /// Puts something in place of a part.
    pub(super) fn replace(&mut self, (start, end): (usize, usize), text: &str) {
        self.count += 1;
        let edit = self.at.entry(start).or_default();
        edit.until = end;
        edit.instead.push_str(text);
    }

    /// The text with its changes. No word may have been next to what takes the place of another, so a space is between them.
    pub(super) fn apply(&self, sql: &str) -> String {
        let (mut written, mut taken) = (String::with_capacity(sql.len() + 32 * self.at.len()), 0);
        for (at, edit) in &self.at {
            let Some(kept) = sql.get(taken..*at) else { continue };
            let _ = write!(written, "{kept}{}{}", edit.closes, edit.opens);
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
