//! `tarndb status`, `set`, `drain` and `remove`: a node's HTTP port from the command line, which `tarndb top` asks, too.

mod asked;
mod error;

pub(crate) use asked::Asked;
pub(crate) use error::OperateError;

use crate::cli::{DrainArguments, RemoveArguments, SetArguments, StatusArguments};
use crate::status::Status;
use asked::ask;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

const POLL: Duration = Duration::from_secs(1);
const DEGRADED: u8 = 1;

/// Shows a node and its cluster.
pub(crate) fn status(arguments: &StatusArguments) -> Result<ExitCode, OperateError> {
    let http = Asked::new(&arguments.node)?;
    let body = get_status(&http)?;
    let status = parse(&http, &body)?;
    if arguments.json {
        print(&body);
    } else {
        print(&status.within(columns()));
    }
    Ok(if status.healthy { ExitCode::SUCCESS } else { ExitCode::from(DEGRADED) })
}

/// How many columns the terminal has, or COLUMNS says; what is printed elsewhere takes as many as it needs.
fn columns() -> Option<usize> {
    let (columns, _) = io_linux::terminal_size()?;
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    Some(said.unwrap_or(columns))
}

/// Changes a setting of a node.
pub(crate) fn set(arguments: &SetArguments) -> Result<ExitCode, OperateError> {
    let said = Asked::new(&arguments.node)?.send(&format!("/settings/{}", arguments.name), arguments.value.as_bytes())?;
    print(&format!("{}\n", String::from_utf8_lossy(&said).trim_end()));
    Ok(ExitCode::SUCCESS)
}

/// Has a member emptied.
pub(crate) fn drain(arguments: &DrainArguments) -> Result<ExitCode, OperateError> {
    let (http, node) = (Asked::new(&arguments.node)?, arguments.member);
    print(&order(&http, &format!("/cluster/drain/{node}"))?);
    if arguments.wait {
        wait_until_empty(&http, node)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a member out of the cluster.
pub(crate) fn remove(arguments: &RemoveArguments) -> Result<ExitCode, OperateError> {
    let force = if arguments.force { "?force=1" } else { "" };
    print(&order(&Asked::new(&arguments.node)?, &format!("/cluster/remove/{}{force}", arguments.member))?);
    Ok(ExitCode::SUCCESS)
}

/// Shows a line a second, or one that changes on a terminal.
fn wait_until_empty(http: &Asked, node: u32) -> Result<(), OperateError> {
    let is_terminal = std::io::stdout().is_terminal();
    let mut shown = String::new();
    loop {
        let status = parse(http, &get_status(http)?)?;
        let line = match left(&status, node) {
            None => format!("member {node} holds nothing any more"),
            Some(slots) => match in_the_way(&status) {
                Some(problem) => format!("member {node} holds {slots} slots; {problem}"),
                None => format!("member {node} holds {slots} slots"),
            },
        };
        if is_terminal {
            print(&format!("\r\x1b[K{line}"));
        } else if line != shown {
            print(&format!("{line}\n"));
        }
        shown = line;
        if left(&status, node).is_none() {
            if is_terminal {
                print("\n");
            }
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}

/// How many slots a member holds, as primary, secondary or learner; `None` if there are none.
fn left(status: &Status, node: u32) -> Option<u32> {
    let members = status.report.cluster.iter().flat_map(|cluster| &cluster.members);
    let slots = members.filter(|member| member.id == node).map(|member| member.replicas + member.learners).sum();
    (slots > 0).then_some(slots)
}

/// A member that is down holds up those who wait for it.
fn in_the_way(status: &Status) -> Option<&String> {
    status.problems.iter().find(|problem| problem.ends_with("is down"))
}

fn order(http: &Asked, target: &str) -> Result<String, OperateError> {
    let (code, body) = ask(http, "POST", target)?;
    match code {
        200 => Ok(body),
        _ => Err(OperateError::Refused { text: body.trim_end().to_owned() }),
    }
}

fn get_status(http: &Asked) -> Result<String, OperateError> {
    http.get("/status")
}

fn parse(http: &Asked, body: &str) -> Result<Status, OperateError> {
    serde_json::from_str(body).map_err(|error| http.strange(error.to_string()))
}

pub(crate) fn print(text: &str) {
    // Nobody may be reading any more, which is no reason to end.
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    /// Answers one request with `answer`; gives where, and the request that came.
    fn server(answer: &'static str) -> (Asked, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let http = Asked {
            address: listener.local_addr().unwrap().to_string(),
            trust: None,
            authorization: "Authorization: Basic eDp5\r\n".to_owned(),
        };
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        (http, served)
    }

    #[test]
    fn an_order_that_is_refused_says_why() {
        let (http, served) = server("HTTP/1.1 409 Conflict\r\nContent-Length: 3\r\n\r\nno\n");
        let error = order(&http, "/cluster/drain/7").unwrap_err();
        assert!(matches!(&error, OperateError::Refused { text } if text == "no"), "{error}");
        let request = served.join().unwrap();
        assert!(
            request.starts_with("POST /cluster/drain/7 HTTP/1.0\r\n") && request.ends_with("\r\nAuthorization: Basic eDp5\r\n\r\n"),
            "{request}"
        );
        let (http, served) = server("HTTP/1.1 401 Unauthorized\r\n\r\nwho?\n");
        assert!(matches!(get_status(&http), Err(OperateError::Login { text, .. }) if text == "who?"));
        served.join().unwrap();
    }

    #[test]
    fn other_servers_are_named() {
        for answer in ["", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\n\r\n<html>", "HTTP/1.1 404 Not Found\r\n\r\n"] {
            let (http, served) = server(answer);
            let error = get_status(&http).and_then(|body| parse(&http, &body).map(|_| ())).unwrap_err();
            assert!(matches!(error, OperateError::Strange { .. }), "{answer:?}: {error}");
            served.join().unwrap();
        }
        let closed = Asked { address: "127.0.0.1:1".to_owned(), trust: None, authorization: String::new() };
        assert!(matches!(get_status(&closed), Err(OperateError::Unreachable { .. })));
    }

    #[test]
    fn what_a_member_holds_is_counted_until_it_is_gone() {
        let mut status = Status::new(crate::status::tests::report(), true);
        assert_eq!(left(&status, 1), Some(4096));
        status.report.cluster.as_mut().unwrap().members[0].replicas = 0;
        assert_eq!(left(&status, 1), None);
        assert_eq!(left(&status, 9), None);
    }
}
