#!/usr/bin/env bash
# The scripts that install, build and pack, on a copy of them, with programs of the system replaced by stubs.
#   scripts_test.sh SOURCE_FOLDER EMPTY_FOLDER
set -euo pipefail
source_folder=$1 work=$2
unset ESPER_TORCH ESPER_PYTHON ESPER_PRESET

failed() {
  echo "scripts_test: $*" >&2
  cat "$work/said" >&2
  exit 1
}

# stub NAME: a program of that name that runs the standard input first in PATH.
stub() {
  { echo '#!/bin/bash' && cat; } >"$work/stubs/$1"
  chmod +x "$work/stubs/$1"
}

# ends STATUS WORD COMMAND...: the command ends so and says so; WORD may be empty.
ends() {
  local status=$1 word=$2 was=0
  shift 2
  PATH=$work/stubs:$PATH timeout 60 "$@" >"$work/said" 2>&1 </dev/null || was=$?
  [[ $was == "$status" ]] || failed "must end with $status, not $was: $*"
  [[ -z $word ]] || grep -qF -- "$word" "$work/said" || failed "must say \"$word\": $*"
}

# sourced TEXT [WORD...]: a bash that has read the scripts' functions.
sourced() {
  echo "set -euo pipefail; for file in common build bootstrap_packages gpu_items gpu_pack; do source '$work/scripts/'\$file.sh; done; $1"
}

rm -rf "$work"
mkdir -p "$work/stubs" "$work/home"
cp -r "$source_folder/scripts" "$work/scripts"
export HOME=$work/home ESPER_CACHE=$work/cache STUBS=$work/state
mkdir "$STUBS"

# A relative cache folder would become a link to nowhere.
ends 2 "ESPER_CACHE=cache is a relative path" env ESPER_CACHE=cache bash -c "$(sourced true)"
ends 0 "$HOME/.cache/esper" env -u ESPER_CACHE XDG_CACHE_HOME=cache bash -c "$(sourced 'echo $CACHE')"
ends 0 "/somewhere/esper" env -u ESPER_CACHE XDG_CACHE_HOME=/somewhere bash -c "$(sourced 'echo $CACHE')"

# What a script does is in the comment at its top, which it prints before it does anything.
for script in approve bench_imported bootstrap experiment format fuzz gpu_check perf_drill sanitize test train_policy; do
  for help in -h --help; do
    ends 0 "  scripts/$script" "$work/scripts/$script" "$help"
    [[ $(wc -l <"$work/said") == $(sed -n '2,/^[^#]/p' "$work/scripts/$script" | grep -c '^#') ]] || failed "prints another text than its comment"
  done
done

# Building: without libtorch it says so, and what fails is no success, whatever the caller's options.
stub cmake <<<'while [[ $1 != --preset ]]; do shift; done; mkdir -p "build/$2" && touch "build/$2/build.ninja"'
stub ninja <<<'echo "FAILED: it"; exit 1'
ends 6 "no libtorch" bash -c "$(sourced 'build all')"
mkdir -p "$work/.esper/python/lib/python3.11/site-packages/torch" "$work/.esper/python/bin"
torch=$work/.esper/python/lib/python3.11/site-packages/torch
echo "__version__ = '2.0.1+cpu'" >"$torch/version.py"
ends 1 "the build failed" bash -c "$(sourced 'set +o pipefail; build all')"
grep -qF "FAILED: it" "$work/said" || failed "does not show what failed"

# A name that is no program is refused before anything is built.
stub ninja <<<'[[ " $* " != *" query "* ]] || [[ $* == *" unit_storage" ]]'
cp "$work/scripts/bootstrap" "$STUBS/bootstrap"
echo '#!/bin/bash' >"$work/scripts/bootstrap"
stub ctest <<<'echo "tested $*"'
ends 2 "perf_drill is not a test program of the address build" "$work/scripts/sanitize" address unit_storage perf_drill
ends 0 "tested" "$work/scripts/sanitize" address unit_storage

# The tests need the private environment, and a Python with its torch.
ends 6 "the tests need the private Python environment" "$work/scripts/test"
printf '#!/bin/bash\n' >"$work/.esper/python/bin/python"
chmod +x "$work/.esper/python/bin/python"
stub without_torch <<<'echo'
stub with_torch <<<"echo '$torch'"
ends 6 "has no torch" env ESPER_PYTHON="$work/stubs/without_torch" "$work/scripts/test"
ends 6 "has no torch" env ESPER_PYTHON=/nowhere/python "$work/scripts/test"
stub ctest <<<'[[ " $* " != *" -N "* ]] || exit 0; echo "<testsuite/>" >"$(sed "s/.*--output-junit \([^ ]*\).*/\1/" <<<"$*")"'
ends 0 "0 passed, 0 failed" env ESPER_PYTHON="$work/stubs/with_torch" "$work/scripts/test"
mv "$STUBS/bootstrap" "$work/scripts/bootstrap"

# Debian packages: one on hold is installed; a lock of another apt is waited for, which may have installed what was missing.
printf 'one\ntwo|deux\nthree\n' >"$work/scripts/debian-packages.txt"
stub dpkg-query <<<'printf "ii one\nhi deux\nun two\nrc three\n"; cat "$STUBS/installed" 2>/dev/null; exit 1'
stub sudo <<<'[[ $1 == -n ]] && shift; exec "$@"'
stub sleep <<<':'
stub dpkg <<<'true'
stub apt-cache <<<'true'
stub apt-get <<<'echo "$*" >>"$STUBS/apt"
if [[ $1 == update && ! -e $STUBS/locked ]]; then
  touch "$STUBS/locked"
  echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7" >&2
  exit 100
fi
[[ ! -e $STUBS/broken ]] || { echo "E: no such mirror" >&2; exit 100; }'
ends 0 "waiting for another apt or dpkg" bash -c "$(sourced ensure_packages)"
[[ $(cat "$STUBS/apt") == $'update\nupdate\ninstall -y --no-install-recommends three' ]] || failed "ran apt-get so: $(cat "$STUBS/apt")"
rm "$STUBS/locked"
ends 75 "another process still installs packages" bash -c "$(sourced 'PACKAGES_DEADLINE_S=0; ensure_packages')"
touch "$STUBS/broken"
ends 6 "no such mirror" bash -c "$(sourced ensure_packages)"
: >"$STUBS/apt"
(
  exec 7>>"$ESPER_CACHE/packages.lock"
  flock 7
  for ((i = 0; i < 600; ++i)); do
    if grep -q "^esper: waiting for the installation" "$work/said"; then break; fi
    sleep 0.05
  done
  echo "ii three" >"$STUBS/installed"
) &
while flock -n "$ESPER_CACHE/packages.lock" true; do sleep 0.05; done
ends 0 "waiting for the installation of Debian packages" bash -c "$(sourced ensure_packages)"
[[ ! -s $STUBS/apt ]] || failed "installed again: $(cat "$STUBS/apt")"
wait

# A pack says its commit, and one that was built from other sources is refused.
mkdir -p "$work/.gpu" "$work/packed" "$work/lib" "$work/apps" "$work/tests" "$work/packed/carried"
touch "$work/CMakeLists.txt" "$work/lib/a.cpp"
echo "2.0.1+cpu" >"$work/packed/torch_version"
echo abc123 >"$work/packed/commit"
bash -c "$(sourced source_digest)" >"$work/packed/sources"
tar -czf "$work/.gpu/pack.tar.gz" -C "$work/packed" .
unpack='SCRATCH=$(mktemp -d); trap "rm -rf $SCRATCH" EXIT; use_binaries; echo "in $BIN"'
ends 0 "of commit abc123" env ESPER_PYTHON="$work/stubs/with_torch" bash -c "$(sourced "$unpack")"
touch "$work/lib/README.md"
ends 0 "in /" env ESPER_PYTHON="$work/stubs/with_torch" bash -c "$(sourced "$unpack")"
echo changed >"$work/lib/a.cpp"
ends 6 "built from other sources" env ESPER_PYTHON="$work/stubs/with_torch" bash -c "$(sourced "$unpack")"

# A measurement that is cut off leaves the report of an earlier one.
echo earlier >"$work/mlp-cuda-fp32.json"
measured='BIN=$STUBS OUTPUT='$work' SCRATCH=$STUBS ROUNDS=1 MODE=default; measure mlp fp32'
printf '#!/bin/bash\necho half; exit 1' >"$STUBS/esper"
chmod +x "$STUBS/esper"
ends 1 "" bash -c "$(sourced "$measured")"
[[ $(cat "$work/mlp-cuda-fp32.json") == earlier ]] || failed "an earlier report is lost"
printf '#!/bin/bash\necho whole' >"$STUBS/esper"
ends 0 "" bash -c "$(sourced "$measured")"
[[ $(cat "$work/mlp-cuda-fp32.json") == whole ]] || failed "the report is not kept"

# On a GPU the tests of each file of gpu_tests are started, and those that compile one by one, each of them once.
printf '#!/bin/bash\necho "$*" >>"$STUBS/started"' >"$STUBS/gpu_tests"
chmod +x "$STUBS/gpu_tests"
ends 0 "" bash -c "$(sourced 'BIN=$STUBS; item() { shift 2; "$@"; }; items_of_test')"
started=$({ grep -o '\[#[a-z_]*\]' "$STUBS/started" && echo '[#compiled_gpu_test]'; } | sort)
files=$(grep -o '[a-z_]*_test\.cpp' "$source_folder/tests/gpu/CMakeLists.txt" | sed 's/\(.*\)\.cpp/[#\1]/' | sort)
[[ $started == "$files" ]] || failed "starts the tests of other files than tests/gpu/CMakeLists.txt names: $started"
compiling=$source_folder/tests/integration/lanes/compiled_gpu_test.cpp
mapfile -t cases < <(sed -n 's/^TEST_CASE("\(.*\)") {$/\1/p' "$compiling")
((${#cases[@]} == $(grep -c '^TEST_CASE(' "$compiling"))) || failed "a name in compiled_gpu_test.cpp is not on one line"
eval "$(sed -n '/^COMPILED_TESTS=(/,/^)/p' "$work/scripts/gpu_items.sh")"
((${#cases[@]} == ${#COMPILED_TESTS[@]})) || failed "compiled_gpu_test.cpp has ${#cases[@]} tests, COMPILED_TESTS ${#COMPILED_TESTS[@]}"
mapfile -t all < <(sed -n 's/^TEST_CASE("\(.*\)") {$/\1/p' "$source_folder"/tests/unit/*/{,*/}*_gpu_test.cpp \
  "$source_folder/tests/unit/device/module_test.cpp" "$compiling")
for entry in "${COMPILED_TESTS[@]}"; do
  pattern=${entry#*:*:} matches=0
  for case in "${all[@]}"; do [[ $case != $pattern ]] || matches=$((matches + 1)); done
  ((matches == 1)) || failed "$matches tests have the name of $entry"
done

# An item is begun only if its forecast fits before the deadline, where it ends in any case.
items='failed=() left_out=() ONLY=() number=0 PART=1 PARTS=1 LIST="" VERB=test OUTPUT=$STUBS DEADLINE_S=$((SECONDS + 50));'
ends 0 "left out: long, of 60 s; failed: wrong (status 3)" bash -c "$(sourced "$items"'
  item long 60 touch "$STUBS/long"; item short 20 touch "$STUBS/short"; item wrong 1 bash -c "exit 3"
  echo "left out: ${left_out[*]}; failed: ${failed[*]}"')"
[[ -e $STUBS/short && ! -e $STUBS/long ]] || failed "did not begin what fits, and that alone"
ends 0 "left out: hangs, after " bash -c "$(sourced "${items/50/3}"'
  item hangs 1 /bin/sleep 60; echo "left out: ${left_out[*]}; failed: ${failed[*]}"')"

# What docs/gpu.md has run in a quarter of an hour fits into its deadlines, and these into ten minutes a command.
touch "$work/cifar10-images.tar.gz" "$work/tinyshakespeare.txt"
mapfile -t plan < <(grep -o '`scripts/gpu_check [^`]*--deadline [0-9]*`' "$source_folder/docs/gpu.md" | tr -d '`')
((${#plan[@]} > 5)) || failed "docs/gpu.md has no plan"
for command in "${plan[@]}"; do
  ((${command##* } <= 570)) || failed "takes longer than a command may: $command"
  read -r -a words <<<"$command"
  ends 0 " s  in all, of ${command##* } s" env -C "$work" "${words[@]}" --list
done
ends 75 " s  in all, of 30 s" "$work/scripts/gpu_check" test --only gpu_ --deadline 30 --list
ends 2 "no item has such a name" "$work/scripts/gpu_check" test --only nothing --list
