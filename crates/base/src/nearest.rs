//! The nearest valid name for one that does not exist.

/// The candidate that is most like `name`, if any is like it at all: at most a third of its letters differ.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, candidate) = candidates.map(|candidate| (edits(name, candidate), candidate)).min()?;
    (distance * 3 <= candidate.len()).then_some(candidate)
}

/// How many letters have to be inserted, deleted or replaced to make one name of the other (Levenshtein).
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, from) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["cores", "memory_limit", "cql_port"];
        assert_eq!(nearest("core", names.into_iter()), Some("cores"));
        assert_eq!(nearest("memorylimit", names.into_iter()), Some("memory_limit"));
        assert_eq!(nearest("port_cql", names.into_iter()), None);
        assert_eq!((edits("kitten", "sitting"), edits("", "abc"), edits("abc", "abc")), (3, 3, 0));
    }
}
