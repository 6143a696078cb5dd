//! What a run of a study found: `report.json` is the truth, everything else is drawn from it.
//!
//! ```text
//! model ── store ── report.json
//!   ├─ findings: what a reader must know first, in words
//!   ├─ text: tables for a terminal
//!   └─ timeline ── html ── report.html (page/: its HTML, CSS and scripts; third_party/uplot: its charts)
//! ```

mod figures;
mod findings;
mod html;
pub mod model;
mod store;
mod text;
mod timeline;

pub use findings::{labels, verdict, warnings};
pub use html::{compare_html, html};
pub use model::Report;
pub use store::{ReportError, read_json, write_json};
pub use text::{compare_text, summary};
