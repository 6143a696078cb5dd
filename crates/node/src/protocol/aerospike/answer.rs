//! How a request is answered.

use aerospike::exec::Shape;

/// How a request is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// A message.
    Message(Shape),
    /// The value of a command, which the session puts after its name.
    Info,
    /// The result of a command about users.
    Security,
}
