//! The words of CQL, in the three classes that decide where each may stand as an identifier.
//!
//! Used by the lexer, which turns words into [`Keyword`]s, and by the quoting of names for DESCRIBE. The classes follow the
//! grammar of Apache Cassandra 5.0; the words that only ScyllaDB knows are all unreserved, so that they shadow no name.
//!
//! Lookup packs a word of at most 16 bytes, lowercased, into one integer and probes a table built at compile time.

/// Where a word may stand besides its own place in the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordClass {
    /// Never an identifier unless quoted.
    Reserved,
    /// An identifier anywhere.
    Basic,
    /// A native type: an identifier and a function name, but not the name of a user-defined type.
    NativeType,
    /// An identifier, but neither the name of a function nor of a user-defined type.
    NotFunction,
}

macro_rules! keywords {
    ($($class:ident: $($name:ident = $text:literal),+;)+) => {
        /// A word with a meaning in the grammar, whatever its case in the statement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // the variants are the words themselves
        pub enum Keyword { $($($name),+),+ }

        impl Keyword {
            /// Every keyword, grouped by class.
            pub const ALL: &'static [Self] = &[$($(Self::$name),+),+];

            /// The word in lower case.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $($(Self::$name => $text),+),+ }
            }

            /// Where the word may stand as an identifier.
            #[must_use]
            pub const fn class(self) -> KeywordClass {
                match self { $($(Self::$name)|+ => KeywordClass::$class),+ }
            }
        }
    };
}

keywords! {
    Reserved:
        Add = "add", Allow = "allow", Alter = "alter", And = "and", Apply = "apply", Asc = "asc", Authorize = "authorize",
        Batch = "batch", Begin = "begin", By = "by", ColumnFamily = "columnfamily", Create = "create", Delete = "delete",
        Desc = "desc", Describe = "describe", Drop = "drop", Entries = "entries", Execute = "execute", False = "false",
        From = "from", Full = "full", Grant = "grant", If = "if", In = "in", Index = "index", Infinity = "infinity",
        Insert = "insert", Into = "into", Is = "is", Keyspace = "keyspace", Limit = "limit", Materialized = "materialized",
        Modify = "modify", NaN = "nan", NoRecursive = "norecursive", Not = "not", Null = "null", Of = "of", On = "on",
        Or = "or", Order = "order", Primary = "primary", Rename = "rename", Revoke = "revoke", Schema = "schema",
        Select = "select", Set = "set", Table = "table", To = "to", Token = "token", True = "true", Truncate = "truncate",
        Unlogged = "unlogged", Update = "update", Use = "use", Using = "using", View = "view", Where = "where", With = "with";
    NativeType:
        Ascii = "ascii", BigInt = "bigint", Blob = "blob", Boolean = "boolean", Counter = "counter", Date = "date",
        Decimal = "decimal", Double = "double", Duration = "duration", Float = "float", Inet = "inet", Int = "int",
        SmallInt = "smallint", Text = "text", Time = "time", Timestamp = "timestamp", TimeUuid = "timeuuid",
        TinyInt = "tinyint", Uuid = "uuid", VarChar = "varchar", VarInt = "varint";
    NotFunction:
        Cast = "cast", Count = "count", Distinct = "distinct", Json = "json", Key = "key", MaxWriteTime = "maxwritetime",
        Ttl = "ttl", WriteTime = "writetime";
    Basic:
        Access = "access", Aggregate = "aggregate", Aggregates = "aggregates", All = "all", Ann = "ann", As = "as",
        Between = "between", Called = "called", Cidrs = "cidrs", Cluster = "cluster", Clustering = "clustering",
        ColumnFamilies = "columnfamilies", Compact = "compact", Contains = "contains", Custom = "custom",
        Datacenters = "datacenters", Default = "default", Exists = "exists", Filtering = "filtering",
        FinalFunc = "finalfunc", Frozen = "frozen", Function = "function", Functions = "functions",
        Generated = "generated", Group = "group", Hashed = "hashed", Identity = "identity", InitCond = "initcond",
        Input = "input", Internals = "internals", Keys = "keys", Keyspaces = "keyspaces", Language = "language",
        Like = "like", List = "list", Login = "login", Map = "map", Masked = "masked", MBean = "mbean", MBeans = "mbeans",
        NoLogin = "nologin", NoSuperuser = "nosuperuser", Only = "only", Options = "options", Partition = "partition",
        Password = "password", Per = "per", Permission = "permission", Permissions = "permissions", Replace = "replace",
        Returns = "returns", Role = "role", Roles = "roles", SelectMasked = "select_masked", SFunc = "sfunc",
        Static = "static", Storage = "storage", SType = "stype", Superuser = "superuser", Superusers = "superusers",
        Tables = "tables", Trigger = "trigger", Tuple = "tuple", Type = "type", Types = "types", Unmask = "unmask",
        Unset = "unset", User = "user", Users = "users", Values = "values", Vector = "vector",
        // ScyllaDB's own
        Attach = "attach", Attached = "attached", Bypass = "bypass", Cache = "cache", Concurrency = "concurrency",
        Detach = "detach", Effective = "effective", Level = "level", Levels = "levels", Passwords = "passwords",
        Prune = "prune", ReduceFunc = "reducefunc", Service = "service", ServiceLevel = "service_level",
        ServiceLevels = "service_levels", Timeout = "timeout";
}

/// The longest word that [`pack`] can hold; no keyword is longer.
const WORD_BYTES_MAX: usize = 16;
/// Slots of the lookup table: a power of two, over three times the number of keywords, so that probes stay short.
const SLOT_COUNT: usize = 1024;

/// The first probe for a packed word.
const fn slot_of(packed: u128) -> usize {
    let folded = (packed as u64) ^ ((packed >> 64) as u64).rotate_left(23);
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize % SLOT_COUNT
}

/// The word's bytes, lowercased, first byte lowest; a word holds no zero byte, so different words pack differently.
const fn pack(word: &[u8]) -> u128 {
    let mut packed = 0;
    let mut index = word.len();
    while index > 0 {
        index -= 1;
        packed = packed << 8 | word[index].to_ascii_lowercase() as u128;
    }
    packed
}

const EMPTY_SLOT: u16 = u16::MAX;

const PACKED: [u128; Keyword::ALL.len()] = {
    let mut packed = [0; Keyword::ALL.len()];
    let mut index = 0;
    while index < packed.len() {
        let text = Keyword::ALL[index].text().as_bytes();
        assert!(text.len() <= WORD_BYTES_MAX);
        packed[index] = pack(text);
        index += 1;
    }
    packed
};

static PACKED_WORDS: [u128; Keyword::ALL.len()] = PACKED;

static SLOTS: [u16; SLOT_COUNT] = {
    let mut slots = [EMPTY_SLOT; SLOT_COUNT];
    let mut index = 0;
    while index < PACKED.len() {
        let mut slot = slot_of(PACKED[index]);
        while slots[slot] != EMPTY_SLOT {
            slot = (slot + 1) % SLOT_COUNT;
        }
        slots[slot] = index as u16;
        index += 1;
    }
    slots
};

impl Keyword {
    /// The keyword that `word` is, whatever its case.
    #[must_use]
    pub fn lookup(word: &[u8]) -> Option<Self> {
        if word.len() > WORD_BYTES_MAX {
            return None;
        }
        let packed = pack(word);
        let mut slot = slot_of(packed);
        loop {
            let index = usize::from(SLOTS[slot]);
            if index == usize::from(EMPTY_SLOT) {
                return None;
            }
            if PACKED_WORDS[index] == packed {
                return Some(Self::ALL[index]);
            }
            slot = (slot + 1) % SLOT_COUNT;
        }
    }

    /// Whether the word can be an identifier only when quoted.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        self.class() == KeywordClass::Reserved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case_and_only_once() {
        let mut seen = std::collections::HashSet::new();
        for keyword in Keyword::ALL {
            assert!(seen.insert(keyword.text()), "{} is listed twice", keyword.text());
            assert_eq!(Keyword::lookup(keyword.text().as_bytes()), Some(*keyword));
            assert_eq!(Keyword::lookup(keyword.text().to_uppercase().as_bytes()), Some(*keyword));
        }
    }

    #[test]
    fn other_words_are_not_keywords() {
        for word in ["", "s", "selec", "selects", "usertable", "y_id", "field0", "a_very_long_identifier_name", "select\u{1}"] {
            assert_eq!(Keyword::lookup(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn the_reserved_words_are_those_of_cassandra() {
        // Cassandra's published list, and the two literals that its lexer takes before it looks for identifiers.
        let expected = "ADD ALLOW ALTER AND APPLY ASC AUTHORIZE BATCH BEGIN BY COLUMNFAMILY CREATE DELETE DESC DESCRIBE DROP ENTRIES \
            EXECUTE FALSE FROM FULL GRANT IF IN INDEX INFINITY INSERT INTO IS KEYSPACE LIMIT MATERIALIZED MODIFY NAN NORECURSIVE NOT \
            NULL OF ON OR ORDER PRIMARY RENAME REVOKE SCHEMA SELECT SET TABLE TO TOKEN TRUE TRUNCATE UNLOGGED UPDATE USE USING VIEW \
            WHERE WITH";
        let reserved: Vec<String> =
            Keyword::ALL.iter().filter(|keyword| keyword.is_reserved()).map(|keyword| keyword.text().to_uppercase()).collect();
        assert_eq!(reserved, expected.split_whitespace().collect::<Vec<_>>());
    }
}
