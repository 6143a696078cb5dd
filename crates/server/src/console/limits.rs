//! Bounds of the query box.

use std::time::Duration;

/// Rows of an answer.
pub(super) const ROWS_MAX: u32 = 200;
/// Characters of a value that are shown.
const VALUE_CHARS_MAX: usize = 4096;
/// How long a statement may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// As much of a value as is shown.
pub(super) fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(VALUE_CHARS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}
