//! Frames and first messages against bytes that are not theirs.
