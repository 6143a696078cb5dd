//! What a run of a study found: `report.json` is the truth, everything else is drawn from it.
//!
//! ```text
//! model ── store ── report.json
//!   ├─ rounds: the rounds of a target as one: median, lowest, highest
//!   ├─ measure: a figure by its name
//!   ├─ headline: what was run, in a line
//!   ├─ findings: what a reader must know first, in words
//!   ├─ differences: what reports beside each other do not have in common
//!   ├─ text: tables for a terminal
//!   └─ timeline ── page_rounds ── html ── report.html (page/: its HTML, CSS and scripts; third_party/uplot: its charts)
//! ```

mod comparison;
mod differences;
pub(crate) mod figures;
mod findings;
mod headline;
mod html;
pub(crate) mod measure;
pub mod model;
mod page_rounds;
pub(crate) mod rounds;
mod store;
mod text;
mod timeline;

pub use comparison::Comparison;
pub use differences::{Difference, Kind, differences};
pub use findings::{labels, verdict, warnings};
pub use headline::headline;
pub use html::{compare_html, html};
pub use model::Report;
pub use store::{ReportError, read_json, write_json};
pub use text::{compare_text, summary};
