//! Names of requests and of their parts, on the core that holds the connection.

/// A request of this core. Never used twice, so that a late answer finds nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl RequestId {
    /// As two numbers.
    #[must_use]
    pub fn to_parts(self) -> (u32, u32) {
        (self.index, self.generation)
    }

    /// The inverse of [`RequestId::to_parts`].
    #[must_use]
    pub fn from_parts(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartId {
    /// The request, on the core that holds the connection.
    pub request: RequestId,
    /// Its number within the request, or [`PartId::WHOLE`].
    pub part: u16,
}

impl PartId {
    /// The request is one operation. Coordinated ones have fewer parts than this: a batch has at most 65,535 statements.
    pub const WHOLE: u16 = u16::MAX;
}
