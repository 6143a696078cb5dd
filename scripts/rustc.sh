#!/bin/sh
# Runs rustc for cargo (.cargo/config.toml), and leaves tests that compute little without optimization, which takes three quarters of the time to compile
# them: those in files of their own, whose crates are as they are elsewhere, and the unit tests of some crates. A crate with unit tests is compiled twice: for what is
# linked with it, and with its tests. Cargo has no setting for the second time alone.
case "$*" in
*" --test "*)
  case "$3 $*" in
  *" src/lib.rs "* | *"/src/lib.rs "*) case "$3" in cql | load | node | shard | tarndb_griddb_sql) exec "$@" -C opt-level=0 ;; esac ;;
  *"/tests/"*) exec "$@" -C opt-level=0 ;;
  esac
  ;;
esac
exec "$@"
