# shellcheck shell=bash
# Configures and builds what is stale; sourced by esper, test, sanitize and format. Prints nothing when up to date.

PRESET=${ESPER_PRESET:-release}
BUILD=$ROOT/build/$PRESET
BUILD_DEADLINE_S=3600

# The torch package that this checkout should be built with.
wanted_torch() {
  local torch=${ESPER_TORCH:-}
  [[ -n $torch ]] || torch=$(echo "$ROOT"/.esper/python/lib/python3*/site-packages/torch)
  [[ -e $torch/version.py ]] || die "$EXIT_RESOURCES" "no libtorch: $torch is not there; run scripts/bootstrap, or set ESPER_TORCH"
  readlink -f "$torch"
}

# torch_version FOLDER: of the torch package there.
torch_version() {
  sed -n "s/^__version__ = .\(.*\).\$/\1/p" "$1/version.py"
}

# A build folder that was configured with another torch holds paths into it, so it is configured again.
configure() {
  local torch had=''
  torch=$(wanted_torch) || exit
  [[ -e $BUILD/CMakeCache.txt ]] && had=$(sed -n 's/^ESPER_TORCH:[A-Z]*=//p' "$BUILD/CMakeCache.txt")
  [[ -e $BUILD/build.ninja && $had == "$torch" ]] && return
  say "configuring build/$PRESET"
  (cd "$ROOT" && run_logged "$BUILD.configure.log" "cmake" cmake --fresh --preset "$PRESET" "-DESPER_TORCH=$torch") || exit 1
}

# A torch-using file takes about 1.5 GB to compile.
build_jobs() {
  local cores memory_kb jobs
  cores=$(nproc)
  memory_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
  jobs=$((memory_kb / 1500000))
  ((jobs < cores)) || jobs=$cores
  echo $((jobs > 0 ? jobs : 1))
}

# Reads ninja's lines: announces the build at the first one that builds something, and on a terminal keeps the newest in place.
# ninja also counts a look for new files and for a new commit at every start; those are not worth a line.
follow_build() {
  local line announced=''
  while IFS= read -r line; do
    [[ $line == \[* && $line != *"Re-checking globbed directories"* && $line != *build_commit.cmake* ]] || continue
    [[ -n $announced ]] || say "building (log: $BUILD/build.log)"
    announced=yes
    [[ ! -t 2 ]] || printf '\r\033[K%.*s' "${COLUMNS:-79}" "$line" >&2
  done
  [[ -z $announced || ! -t 2 ]] || printf '\r\033[K' >&2
}

# build TARGET...: the lock is released before anything that was built is run.
build() {
  hold 9 "$BUILD.lock" "$BUILD_DEADLINE_S" "the build of this checkout"
  configure
  local -
  set -o pipefail
  local status=0 signal_status='' start=$SECONDS log=$BUILD/build.log
  # ninja ends with a status of its own, and bash with a trap goes on after it.
  trap 'signal_status=130' INT
  trap 'signal_status=143' TERM
  timeout --foreground "$BUILD_DEADLINE_S" ninja -C "$BUILD" -j "$(build_jobs)" "$@" </dev/null 2>&1 9>&- | tee "$log" | follow_build || status=$?
  trap - INT TERM
  [[ -z $signal_status ]] || die "$signal_status" "the build was interrupted"
  if ((status != 0)); then
    { grep -v '^\[' "$log" || true; } | tail -n 60 >&2
    die 1 "the build failed after $((SECONDS - start)) s; the whole log: $log"
  fi
  ((SECONDS - start < 2)) || say "built in $((SECONDS - start)) s"
  exec 9>&-
}
