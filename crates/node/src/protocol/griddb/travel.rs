//! A client's statement as another core or member can run it.
//!
//! | bytes | what |
//! |---|---|
//! | 2 | [`MARK`], big-endian |
//! | 1 | whether the connection's frames have addresses of IPv6 |
//! | 4 | how long the client's transactions last, in seconds, big-endian |
//! | 2 | length of the database's name, big-endian |
//! | … | the name |
//! | … | the frame's body |

/// The first bytes of a request: where one of CQL has the length of its keyspace's name, which is shorter.
pub(super) const MARK: u16 = u16::MAX - 2;

/// A statement that has travelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Travelled<'a> {
    pub(super) is_ipv6: bool,
    pub(super) transaction_timeout_s: u32,
    pub(super) database: &'a str,
    pub(super) body: &'a [u8],
}

/// Writes a statement.
pub(super) fn pack(statement: &Travelled<'_>) -> Box<[u8]> {
    let Travelled { is_ipv6, transaction_timeout_s, database, body } = *statement;
    let length = (database.len() as u16).to_be_bytes();
    [&MARK.to_be_bytes(), &[u8::from(is_ipv6)][..], &transaction_timeout_s.to_be_bytes(), &length, database.as_bytes(), body]
        .concat()
        .into_boxed_slice()
}

/// Reads what [`pack`] wrote; `None` for anything else.
pub(super) fn unpack(request: &[u8]) -> Option<Travelled<'_>> {
    let rest = request.strip_prefix(&MARK.to_be_bytes())?;
    let (is_ipv6, rest) = rest.split_first()?;
    let (timeout_s, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (database, body) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    let (is_ipv6, transaction_timeout_s) = (*is_ipv6 != 0, u32::from_be_bytes(*timeout_s));
    Some(Travelled { is_ipv6, transaction_timeout_s, database: std::str::from_utf8(database).ok()?, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_comes_back_and_nothing_else_is_one() {
        let statement = Travelled { is_ipv6: true, transaction_timeout_s: 300, database: "public", body: b"body" };
        let packed = pack(&statement);
        assert_eq!(unpack(&packed), Some(statement));
        for length in 0..packed.len() - statement.body.len() {
            assert_eq!(unpack(&packed[..length]), None, "{length}");
        }
    }
}
