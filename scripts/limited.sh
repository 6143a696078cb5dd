#!/usr/bin/env bash
# Runs a command in a fresh memory control group, so that servers that are compared live under the same limit: what a process
# allocates and the page cache that it fills count together.
#
#   scripts/limited.sh NAME BYTES COMMAND...   run the command in group NAME; it replaces this script, so its process id is the one started
#   scripts/limited.sh --check                 0 when groups can be made here, else one line on stderr and 1
#   scripts/limited.sh --usage NAME            bytes in use, most ever, limit, and times that the limit killed a process
#   scripts/limited.sh --remove NAME           remove the group, with the page cache that is charged to it
#
# Control groups v1 and v2, where this user may write them (else status 125). No swap is used. A group that still has processes is never reused.
# Fresh matters: page cache is charged to the group that read it first, so pages that another run has left would be free for this one.
set -euo pipefail
fail() { echo "limited.sh: $*" >&2; exit 125; }

if [[ -w /sys/fs/cgroup/memory ]]; then
  kind=1 root=/sys/fs/cgroup/memory/tarndb
elif [[ -w /sys/fs/cgroup/cgroup.subtree_control ]] && grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
  kind=2 root=/sys/fs/cgroup/tarndb
else
  fail "memory control groups cannot be written by this user: no limit can be set"
fi
[[ ${1:-} != --check ]] || exit 0
case "${1:-}" in
  --usage | --remove) action=${1#--} name=${2:-} ;;
  *) action=run name=${1:-} ;;
esac
[[ $name =~ ^[A-Za-z0-9_.-]+$ ]] || fail "usage: limited.sh NAME BYTES COMMAND..."
group="$root/$name"

remove() {
  [[ -d $group ]] || return 0
  [[ -z $(cat "$group/cgroup.procs") ]] || fail "group $name still has processes: $(tr '\n' ' ' < "$group/cgroup.procs")"
  if (( kind == 1 )); then
    echo 0 > "$group/memory.force_empty" 2> /dev/null || true
  else
    cat "$group/memory.current" > "$group/memory.reclaim" 2> /dev/null || true
  fi
  rmdir "$group"
}

case $action in
  remove) remove; exit ;;
  usage)
    [[ -d $group ]] || fail "there is no group $name"
    if (( kind == 1 )); then
      echo "usage=$(cat "$group/memory.usage_in_bytes") most=$(cat "$group/memory.max_usage_in_bytes")" \
        "limit=$(cat "$group/memory.limit_in_bytes") killed=$(sed -n 's/^oom_kill //p' "$group/memory.oom_control")"
    else
      echo "usage=$(cat "$group/memory.current") most=$(cat "$group/memory.peak" 2> /dev/null || echo unknown)" \
        "limit=$(cat "$group/memory.max") killed=$(sed -n 's/^oom_kill //p' "$group/memory.events")"
    fi
    exit ;;
esac

bytes=${2:-}
[[ $bytes =~ ^[0-9]+$ ]] && (( bytes >= 1 << 20 )) && (( $# > 2 )) || fail "usage: limited.sh NAME BYTES COMMAND... (BYTES from 1048576)"
remove
if (( kind == 1 )); then
  mkdir -p "$root"
  echo 1 > "$root/memory.use_hierarchy" 2> /dev/null || true
  mkdir "$group"
  echo "$bytes" > "$group/memory.limit_in_bytes"
  echo 0 > "$group/memory.swappiness" 2> /dev/null || true
  [[ ! -e $group/memory.memsw.limit_in_bytes ]] || echo "$bytes" > "$group/memory.memsw.limit_in_bytes" 2> /dev/null || true
else
  echo +memory > /sys/fs/cgroup/cgroup.subtree_control
  mkdir -p "$root"
  echo +memory > "$root/cgroup.subtree_control"
  mkdir "$group"
  echo "$bytes" > "$group/memory.max"
  echo 0 > "$group/memory.swap.max" 2> /dev/null || true
fi
echo $BASHPID > "$group/cgroup.procs"
shift 2
exec "$@"
