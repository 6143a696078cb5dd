#!/bin/sh
# Runs rustc for cargo (.cargo/config.toml). Unit tests have debug assertions, which the profile `quick` does not have. Tests that compute little are left
# without optimization, which takes three quarters of the time to compile them: those in files of their own, and the unit tests of some crates. A crate with
# unit tests is compiled twice, for what is linked with it and with its tests, and cargo has no setting for the second time alone.
case "$*" in
*"/src/lib.rs "*" --test "*)
    case "$3" in
    cql | load | node | shard | tarndb_griddb_sql) exec "$@" -C debug-assertions=on -C opt-level=0 ;;
    *) exec "$@" -C debug-assertions=on ;;
    esac
    ;;
*"/tests/"*" --test "*) exec "$@" -C opt-level=0 ;;
esac
exec "$@"
