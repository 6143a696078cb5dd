//! `tarndb top`: a node's figures in the terminal, drawn anew every other second; from `GET /api/v1/overview`.
//!
//! Where the output is no terminal a picture follows the other, without codes for colours and places.

mod figures;
mod screen;

use crate::cli::TopArguments;
use crate::operate::{Asked, OperateError, print};
use figures::{Figures, Overview};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// How long apart the two looks of a single picture are: cores write their figures once a second.
const ONCE: Duration = Duration::from_secs(2);
/// Where the terminal does not tell its size.
const SIZE: (usize, usize) = (usize::MAX, usize::MAX);

/// Shows pictures until it is ended, or one.
pub(crate) fn run(arguments: &TopArguments) -> Result<ExitCode, OperateError> {
    let http = Asked::new(&arguments.node)?;
    let pause = if arguments.once { ONCE } else { Duration::from_secs(arguments.interval) };
    let is_screen = std::io::stdout().is_terminal() && !arguments.json && !arguments.once;
    let mut before = look(&http)?;
    loop {
        std::thread::sleep(pause);
        let now = look(&http)?;
        let figures = Figures::between(&before, &now);
        if arguments.json {
            print(&(figures.json().to_string() + "\n"));
        } else {
            let size = io_linux::terminal_size().filter(|_| is_screen).unwrap_or(SIZE);
            let picture = screen::picture(&now, &figures, size);
            // From the top, and nothing of the picture before is left; the terminal stays as it is when this is ended.
            print(&if is_screen { format!("\x1b[H\x1b[J{}", picture.trim_end()) } else { picture });
        }
        if arguments.once {
            return Ok(ExitCode::SUCCESS);
        }
        before = now;
    }
}

fn look(http: &Asked) -> Result<Overview, OperateError> {
    let body = http.get("/api/v1/overview")?;
    serde_json::from_str(&body).map_err(|error| http.strange(error.to_string()))
}
