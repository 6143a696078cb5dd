//! A whole node, generic over io: listeners, sessions, routing, schema changes, timers.
