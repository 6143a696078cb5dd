//! The commands that delete all records of a set or namespace.

use super::text::parameter;

/// All records of a set or of a namespace are to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The set; `None` for all.
    pub set: Option<&'a str>,
}

impl<'a> Truncation<'a> {
    /// Reads a request; `None` if it is about something else.
    ///
    /// # Errors
    /// What is answered to a truncation that cannot be.
    pub fn of_request(names: &'a str) -> Option<Result<Self, &'static str>> {
        let name = names.trim_end_matches('\n');
        let (command, parameters) = name.split_once(':')?;
        let needs_set = match command {
            "truncate" => true,
            "truncate-namespace" => false,
            _ => return None,
        };
        Some(Self::of_parameters(parameters, needs_set))
    }

    fn of_parameters(parameters: &'a str, needs_set: bool) -> Result<Self, &'static str> {
        if parameters.contains('\n') {
            return Err("ERROR:4:a truncation comes alone");
        }
        if parameter(parameters, "lut").is_some_and(|time| time != "0") {
            return Err("ERROR:16:truncation up to a time in the past is not served");
        }
        let namespace = parameter(parameters, "namespace").ok_or("ERROR:4:namespace is missing")?;
        let set = parameter(parameters, "set").filter(|set| !set.is_empty());
        if needs_set && set.is_none() {
            return Err("ERROR:4:set is missing");
        }
        Ok(Self { namespace, set: set.filter(|_| needs_set) })
    }
}
