//! The real binary: how it meets operators, what it does with devices, what it keeps.
#![allow(clippy::unwrap_used)]

mod audit;
mod backup;
mod backup_faults;
mod client;
mod devices;
mod durability;
mod griddb;
mod harness;
mod inspect;
mod limits;
mod monitoring;
mod operator;
mod rows;
mod security;
mod small_files;
