//! Reads the protocol's notations (section 3) from a body.
//!
//! Every length is checked against the bytes that are there before it is used; nothing is allocated.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Consistency, Notation, ProtocolVersion, Value, WireError};

/// A position in a body.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first of `bytes`.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read.
    #[must_use]
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The bytes that were read since `earlier`, a copy of this reader.
    #[inline]
    pub(super) fn since(&self, earlier: &Self) -> &'a [u8] {
        let length = earlier.rest.len().saturating_sub(self.rest.len());
        earlier.rest.get(..length).unwrap_or_default()
    }

    #[inline]
    fn take(&mut self, length: usize, notation: Notation) -> Result<&'a [u8], WireError> {
        match self.rest.split_at_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(WireError::Truncated { notation, needed: length, remaining: self.rest.len() }),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self, notation: Notation) -> Result<[u8; N], WireError> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(WireError::Truncated { notation, needed: N, remaining: self.rest.len() }),
        }
    }

    /// A `[byte]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`], as every method of this type unless it says more.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, WireError> {
        self.array(Notation::Byte).map(u8::from_be_bytes)
    }

    /// A `[short]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    #[inline]
    pub fn short(&mut self) -> Result<u16, WireError> {
        self.array(Notation::Short).map(u16::from_be_bytes)
    }

    /// An `[int]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    #[inline]
    pub fn int(&mut self) -> Result<i32, WireError> {
        self.array(Notation::Int).map(i32::from_be_bytes)
    }

    /// A `[long]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    #[inline]
    pub fn long(&mut self) -> Result<i64, WireError> {
        self.array(Notation::Long).map(i64::from_be_bytes)
    }

    /// A `[uuid]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    #[inline]
    pub fn uuid(&mut self) -> Result<[u8; 16], WireError> {
        self.array(Notation::Uuid)
    }

    /// A `[string]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidUtf8`].
    #[inline]
    pub fn string(&mut self) -> Result<&'a str, WireError> {
        let length = self.array(Notation::String).map(u16::from_be_bytes)?;
        text(self.take(usize::from(length), Notation::String)?, Notation::String)
    }

    /// A `[long string]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidLength`], [`WireError::InvalidUtf8`].
    #[inline]
    pub fn long_string(&mut self) -> Result<&'a str, WireError> {
        let length = self.array(Notation::LongString).map(i32::from_be_bytes)?;
        let Ok(unsigned) = usize::try_from(length) else {
            return Err(WireError::InvalidLength { notation: Notation::LongString, length });
        };
        text(self.take(unsigned, Notation::LongString)?, Notation::LongString)
    }

    /// A `[bytes]`: every negative length is null.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    #[inline]
    pub fn bytes(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        let length = self.array(Notation::Bytes).map(i32::from_be_bytes)?;
        match usize::try_from(length) {
            Ok(length) => self.take(length, Notation::Bytes).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// A `[short bytes]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    #[inline]
    pub fn short_bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.array(Notation::ShortBytes).map(u16::from_be_bytes)?;
        self.take(usize::from(length), Notation::ShortBytes)
    }

    /// A `[value]`: -1 is null, -2 not set. In v3, which knows no unset values, every negative length is null.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidLength`].
    #[inline]
    pub fn value(&mut self, version: ProtocolVersion) -> Result<Value<'a>, WireError> {
        let length = self.array(Notation::Value).map(i32::from_be_bytes)?;
        match usize::try_from(length) {
            Ok(length) => self.take(length, Notation::Value).map(Value::Bytes),
            Err(_) if length == -1 || version == ProtocolVersion::V3 => Ok(Value::Null),
            Err(_) if length == -2 => Ok(Value::Unset),
            Err(_) => Err(WireError::InvalidLength { notation: Notation::Value, length }),
        }
    }

    /// A `[consistency]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::UnknownConsistency`].
    #[inline]
    pub fn consistency(&mut self) -> Result<Consistency, WireError> {
        self.short().and_then(Consistency::try_from)
    }

    /// An `[inetaddr]`.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidAddress`].
    pub fn inet_address(&mut self) -> Result<IpAddr, WireError> {
        match self.byte()? {
            4 => self.array(Notation::Inet).map(|octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets))),
            16 => self.array(Notation::Inet).map(|octets: [u8; 16]| IpAddr::V6(Ipv6Addr::from(octets))),
            length => Err(WireError::InvalidAddress { length }),
        }
    }

    /// An `[inet]`: an address and a port.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidAddress`], [`WireError::InvalidPort`].
    pub fn inet(&mut self) -> Result<SocketAddr, WireError> {
        let address = self.inet_address()?;
        let port = self.int()?;
        match u16::try_from(port) {
            Ok(port) => Ok(SocketAddr::new(address, port)),
            Err(_) => Err(WireError::InvalidPort { port }),
        }
    }
}

#[inline]
fn text(bytes: &[u8], notation: Notation) -> Result<&str, WireError> {
    std::str::from_utf8(bytes).map_err(|error| WireError::InvalidUtf8 { notation, valid: error.valid_up_to() })
}
