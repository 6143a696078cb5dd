//! What a run of a study found: `report.json` is the truth, everything else is drawn from it.

pub mod model;
