//! Rows, mixes and plans that the tests of all protocols load.
#![allow(dead_code, unreachable_pub, reason = "each file of tests uses some")]

use load::tables::Tables;
use load::workload::{Clients, End, KeyChoice, Keys, Mix, OperationKind, Pace, Rows, Values};
use load::{Limits, Plan};

pub const FIELDS: u32 = 3;

pub const ALL: [(OperationKind, f64); 5] = [
    (OperationKind::Read, 4.0),
    (OperationKind::Update, 4.0),
    (OperationKind::Insert, 1.0),
    (OperationKind::ReadModifyWrite, 2.0),
    (OperationKind::Scan, 1.0),
];

pub fn rows(count: u64) -> Rows {
    Rows {
        count,
        fields: FIELDS,
        field_bytes: 40,
        field_bytes_min: None,
        values: Values::Random,
        keys: Keys::YcsbHashed,
        tables: Tables::ONE,
    }
}

pub fn mix(operations: &[(OperationKind, f64)], verify: bool) -> Mix {
    Mix { operations: operations.iter().copied().collect(), keys: KeyChoice::Uniform, scan_rows_max: 10, update_all_fields: false, verify }
}

/// So many operations, as fast as they are answered.
pub fn plan(clients: Clients, mix: Mix, operations: u64) -> Plan {
    let end = End { operations: Some(operations), seconds: None };
    Plan { mix, clients, pace: Pace::Closed, end, seed: 5, limits: Limits::default() }
}
