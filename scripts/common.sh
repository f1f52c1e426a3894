# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder; sourced, never run. All messages go to stderr, one line a step.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
EXIT_RESOURCES=6
EXIT_TRY_AGAIN=75
STEP_DEADLINE_S=3600

say() { printf 'esper: %s\n' "$*" >&2; }

# die CODE TEXT...: the text names the remedy.
die() {
  local code=$1
  shift
  say "$*"
  exit "$code"
}

# help_if_asked "$@": the comment at the top of the script, where its first word is -h or --help.
help_if_asked() {
  [[ ${1:-} == -h || ${1:-} == --help ]] || return 0
  sed -n '2,/^[^#]/ { /^[^#]/q; s/^# \{0,1\}//p }' "$0"
  exit 0
}

# Links lead into it, so it is absolute. The XDG specification has a relative XDG_CACHE_HOME ignored.
[[ ${ESPER_CACHE:-/} == /* ]] || die 2 "ESPER_CACHE=$ESPER_CACHE is a relative path; set it to an absolute one, or unset it"
[[ ${XDG_CACHE_HOME:-} == /* ]] || unset XDG_CACHE_HOME
CACHE=${ESPER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/esper}

# hold FD FILE SECONDS WHAT: takes an exclusive lock on FILE, which lasts until FD is closed or the process ends.
hold() {
  local fd=$1 file=$2 seconds=$3 what=$4
  mkdir -p "$(dirname "$file")"
  eval "exec $fd>>\"\$file\""
  flock -n "$fd" && return
  say "waiting for $what in another process (up to $seconds s)"
  flock -w "$seconds" "$fd" || die "$EXIT_TRY_AGAIN" "$what is still running in another process after $seconds s; try again later (lock: $file)"
}

# run_logged LOG WHAT COMMAND...: quiet on success; on failure prints a message and the end of the log.
run_logged() {
  local log=$1 what=$2 status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  timeout --foreground "$STEP_DEADLINE_S" "$@" >"$log" 2>&1 </dev/null || status=$?
  ((status == 0)) && return
  tail -n 40 "$log" >&2
  say "$what failed with status $status; the whole log: $log"
  return "$status"
}
