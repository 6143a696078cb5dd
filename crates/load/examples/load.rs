//! Carries out one load that a JSON text describes, and prints what it came to: for looking at the load generator itself.
//!
//! `load '{"addresses": ["127.0.0.1:9042"]}' ROWS-JSON PLAN-JSON [fill]`; with `fill` the table is made and the dataset begins empty.

use load::cql::CqlSettings;
use load::target::Target;
use load::{Control, Dataset, Plan, Share, Summary, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [settings, rows, plan, rest @ ..] = arguments.as_slice() else { return Err("SETTINGS ROWS PLAN [fill]".into()) };
    let settings: CqlSettings = serde_json::from_str(settings)?;
    let plan: Plan = serde_json::from_str(plan)?;
    let rows = serde_json::from_str(rows)?;
    let target = settings.open()?;
    let fill = rest.iter().any(|word| word == "fill");
    let dataset = if fill {
        println!("{:?}", target.check()?);
        target.drop_dataset()?;
        target.create(&rows)?;
        Dataset::empty(rows, Share::ALL)
    } else {
        Dataset::filled(rows, Share::ALL)
    };
    let outcome = run(&target, &dataset, &plan, &Control::new(), &mut ())?;
    println!("{:?} after {:.2} s, rows {}", outcome.ended, outcome.elapsed_s, dataset.row_count());
    for (kind, latencies) in &outcome.latencies {
        println!("{} {:?}", kind.name(), Summary::of(latencies));
    }
    println!("errors {:?} {:?}; {:?}; reconnects {}", outcome.errors, outcome.error_examples, outcome.verified, outcome.reconnects);
    let replies = outcome.replies() as f64;
    let cpu_s = outcome.client_cpu_s();
    println!(
        "{:.0} replies/s, client {:.2} us CPU a reply, busiest thread {:.0} %, sent {} received {}",
        replies / outcome.elapsed_s,
        cpu_s * 1e6 / replies,
        outcome.client_busiest() * 100.0,
        outcome.bytes_sent,
        outcome.bytes_received
    );
    Ok(())
}
