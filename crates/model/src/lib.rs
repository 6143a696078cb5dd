//! Nouns shared by every protocol: keys, rows, cells, types, schema, operations.
