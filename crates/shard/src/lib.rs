//! One core's data: runs operations against the engine, parks them on a miss.
