//! Functions of texts.

use super::declaring::FLAGS;
use rusqlite::{Connection, Result};

/// Adds them.
pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("char_length", 1, FLAGS, |context| {
        Ok(context.get::<Option<String>>(0)?.map(|text| text.chars().count() as i64))
    })?;
    connection.create_scalar_function("translate", 3, FLAGS, |context| {
        let [Some(text), Some(from), Some(to)] = [context.get::<Option<String>>(0)?, context.get(1)?, context.get(2)?] else {
            return Ok(None);
        };
        let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
        // One that has nothing in its place is left out.
        let translated = |c: char| from.iter().position(|known| *known == c).map_or(Some(c), |at| to.get(at).copied());
        Ok(Some(text.chars().filter_map(translated).collect::<String>()))
    })
}
