//! Lists as text.

use std::fmt;

/// The elements with commas between them.
pub(super) fn write_list<Element: fmt::Display>(formatter: &mut fmt::Formatter<'_>, elements: &[Element]) -> fmt::Result {
    for (index, element) in elements.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(formatter, "{separator}{element}")?;
    }
    Ok(())
}

/// The elements with commas between them and brackets around them.
pub(super) fn write_enclosed<Element: fmt::Display>(
    formatter: &mut fmt::Formatter<'_>,
    open: char,
    elements: &[Element],
    close: char,
) -> fmt::Result {
    write!(formatter, "{open}")?;
    write_list(formatter, elements)?;
    write!(formatter, "{close}")
}
