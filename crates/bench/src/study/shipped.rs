//! The studies that come with the binary, from `studies/`.

/// A study's file.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub file: &'static str,
}

macro_rules! studies {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped { name: $name, file: include_str!(concat!("../../../../studies/", $name, ".toml")) }),*]
    };
}

const STUDIES: &[Shipped] = studies![
    "aerospike-cassandra",
    "griddb-scaleout",
    "scylla-power",
    "ycsb-a",
    "ycsb-b",
    "ycsb-c",
    "ycsb-d",
    "ycsb-e",
    "ycsb-f",
    "resilience",
    "scale-out",
    "connections",
    "indexed",
];

/// All of them.
pub fn shipped() -> impl Iterator<Item = Shipped> {
    STUDIES.iter().copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::study::Study;

    #[test]
    fn every_shipped_study_is_valid_and_named_as_its_file() {
        for shipped in shipped() {
            let study = Study::parse(shipped.name, shipped.file).unwrap();
            assert_eq!(study.name, shipped.name);
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies")).unwrap().count();
        assert_eq!(files, STUDIES.len(), "every file in studies/ is shipped");
    }
}
