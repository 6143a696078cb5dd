//! The load generator: which operations clients ask for, on which keys, how fast, and how long the answers took.
//!
//! What a load is made of is data ([`workload`]): a study's file says it, a run carries it out. Protocols stand behind one small trait;
//! nothing but their own module knows them.

pub mod workload;
