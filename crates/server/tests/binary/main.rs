//! The real binary: how it meets operators, what it does with devices, what it keeps.
#![allow(clippy::unwrap_used)]

mod aerospike_logins;
mod audit;
mod backup;
mod backup_faults;
mod client;
mod devices;
mod durability;
mod encryption;
mod griddb;
mod griddb_logins;
mod harness;
mod import_griddb;
mod inspect;
mod limits;
mod live_settings;
mod monitoring;
mod operator;
mod relayout;
mod relayout_devices;
mod rows;
mod security;
mod small_files;
