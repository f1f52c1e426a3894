# shellcheck shell=bash
# For scripts/gpu_check: what each of its verbs does, as items. An item has a forecast in seconds: on an H200 with 16 cores, where a
# program takes 20 to 35 s to compile. Most are estimates, and the item's line says how long it took.

SCENARIOS=(reference mlp mlp_wide cnn transformer)
PRECISIONS=(fp32 bf16 fp16)
# Of the program gpu_tests: each room, the file of its tests (tests/gpu/CMakeLists.txt), and the forecast.
GPU_TESTS=(device:module_test:20 program:capture_gpu_test:30 data:loader_gpu_test:20 lanes:lane_gpu_test:120
  tamiyo:policy_network_gpu_test:30 tolaria:source_timer_gpu_test:20)
# Those of compiled_gpu_test one by one, for they compile: a name, the forecast, and the test. Those that never finished on a GPU are first.
COMPILED_TESTS=(
  "dropout:60:on a card a compiled step draws other random numbers*"
  "captured:45:on a card auto comes to the compiled step*"
  "deep:75:on a card a deep convolutional network's program*"
  "text:60:on a card a compiled step of a text network*"
  "networks:240:on a card steps are compiled*"
  "timed:120:on a card kernels may be chosen by timing"
  "cached:60:a package that was compiled for a card*"
  "cpu:45:steps on the CPU are compiled on a machine with a card*"
)

wanted() {
  local word
  ((${#ONLY[@]})) || return 0
  for word in "${ONLY[@]}"; do [[ $1 != *"$word"* ]] || return 0; done
  return 1
}

# item NAME FORECAST COMMAND...: is left out if its forecast does not fit before the deadline; ends after three times its forecast and
# no less than two minutes (the first one reads libtorch from the disk), or at the deadline. Its output is kept beside the figures,
# and shown where it fails.
item() {
  local name=$1 forecast=$2 seconds status=0 cut='' log begin took
  shift 2
  seconds=$((forecast < 40 ? 120 : 3 * forecast))
  wanted "$name" || return 0
  number=$((number + 1))
  (((number - 1) % PARTS == PART - 1)) || return 0
  if [[ -n $LIST ]]; then
    printf '%5d s  %s\n' "$forecast" "$name"
    forecast_s=$((forecast_s + forecast))
    return 0
  fi
  if ((SECONDS + forecast > DEADLINE_S)); then
    left_out+=("$name, of $forecast s")
    return 0
  fi
  ((SECONDS + seconds <= DEADLINE_S)) || { seconds=$((DEADLINE_S - SECONDS)) cut=yes; }
  log=$OUTPUT/gpu_${VERB}_${name//[^A-Za-z0-9_.-]/_}.log
  begin=$EPOCHREALTIME
  timeout --kill-after 5 "$seconds" "$@" >"$log" 2>&1 </dev/null || status=$?
  took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
  if ((status == 0)); then
    say "passed in $took s (forecast $forecast s): $name"
    return 0
  fi
  if [[ -n $cut && ($status == 124 || $status == 137) ]]; then
    left_out+=("$name, after $seconds s")
    return 0
  fi
  failed+=("$name (status $status)")
  say "FAILED in $took s with status $status: $name"
  tail -n 60 "$log" >&2
}

items_of_test() {
  local entry name forecast test tests=("$BIN/gpu_tests" --filenames-as-tags --durations yes)
  item doctor 30 "$BIN/esper" doctor
  for entry in "${GPU_TESTS[@]}"; do
    IFS=: read -r name test forecast <<<"$entry"
    item "gpu_$name" "$forecast" "${tests[@]}" "[#$test]"
  done
  for entry in "${COMPILED_TESTS[@]}"; do
    IFS=: read -r name forecast test <<<"$entry"
    item "compiled-$name" "$forecast" "${tests[@]}" "$test"
  done
}

# Under a sanitizer a kernel takes some fifty times as long: of the lanes, tests of few steps that take every path. racecheck
# reports hazards in torch's own kernel for attention in float32 (fmha_cutlassF), so it is not given a transformer.
FEW_STEPS="on a card an fp16 step*,on a card the steps of a growing*"

items_of_sanitize() {
  local sanitizer=(compute-sanitizer --error-exitcode 9) device=("$BIN/gpu_tests" --filenames-as-tags "[#module_test]")
  item memcheck-gpu_device 120 "${sanitizer[@]}" --tool memcheck "${device[@]}"
  item memcheck-gpu_lanes 240 "${sanitizer[@]}" --tool memcheck "$BIN/gpu_tests" "$FEW_STEPS,on a card a graph draws*,on a card averages*"
  item racecheck-gpu_device 120 "${sanitizer[@]}" --tool racecheck "${device[@]}"
  item racecheck-gpu_lanes 240 "${sanitizer[@]}" --tool racecheck "$BIN/gpu_tests" "$FEW_STEPS"
}

# train_in LANE NAME FILE FIELD...: a short run that must take steps in that lane, without any fallback. LANE any: whatever auto takes.
train_in() {
  local lane=$1 name=$2 file=$3
  shift 3
  "$BIN/esper" train --config "$ROOT/$file" --run-dir "$SCRATCH/$name" --set device.kind=cuda telemetry.console=none "$@" &&
    "$PYTHON" "$ROOT/scripts/gpu_run_check.py" "$SCRATCH/$name" "$lane"
}

# forecast_of LANE SECONDS COMPILED AUTO: of a run, in the lanes that compile nothing and in those that may.
forecast_of() {
  case $1 in
    compiled) echo "$3" ;;
    auto) echo "$4" ;;
    *) echo "$2" ;;
  esac
}

items_of_train() {
  local lane precision images forecast
  export -f train_in
  export BIN ROOT SCRATCH PYTHON
  run() { item "$1" "$2" bash -c 'train_in "$@"' x "$3" "${@:1:1}" "${@:4}"; }
  for lane in eager replay graph compiled auto; do
    run "digits-$lane" "$(forecast_of "$lane" 20 60 30)" "${lane/auto/any}" configs/run/digits_static.yaml epochs=8 "step.lane=$lane"
  done
  if [[ -n $IMAGES ]]; then
    mkdir -p "$SCRATCH/images"
    [[ -n $LIST ]] || tar -xzf "$IMAGES" -C "$SCRATCH/images"
    images=(data.path="$SCRATCH/images/train" data.test_path="$SCRATCH/images/test")
  else
    say "without --images, cifar10_small is not trained"
  fi
  [[ -n $TEXT ]] || say "without --text, shakespeare is not trained"
  for lane in eager replay graph compiled auto; do
    forecast=$(forecast_of "$lane" 30 90 60)
    [[ -z $IMAGES ]] ||
      run "cifar10_small-$lane" "$forecast" "${lane/auto/any}" configs/run/cifar10_small.yaml epochs=3 "${images[@]}" "step.lane=$lane"
    [[ -z $TEXT ]] ||
      run "shakespeare-$lane" "$forecast" "${lane/auto/any}" configs/run/shakespeare.yaml epochs=2 data.path="$TEXT" "step.lane=$lane"
    run "growth-$lane" "$(forecast_of "$lane" 40 240 60)" "${lane/auto/any}" configs/run/digits.yaml epochs=30 "step.lane=$lane"
  done
  for precision in bf16 fp16; do
    run "digits-graph-$precision" 20 graph configs/run/digits_static.yaml epochs=5 step.lane=graph "device.precision=$precision"
  done
  run max-autotune 120 compiled configs/run/digits_static.yaml epochs=8 step.lane=compiled step.compile.mode=max-autotune
  run resident 20 graph configs/run/digits_static.yaml epochs=5 step.lane=graph data.gpu_dataset=on
  run copied-ahead 20 graph configs/run/digits_static.yaml epochs=5 step.lane=graph data.gpu_dataset=off data.workers=2
  run copied-at-once 20 graph configs/run/digits_static.yaml epochs=5 step.lane=graph data.gpu_dataset=off data.gpu_prefetch=false data.pin_memory=false
  run not-deterministic 20 graph configs/run/digits_static.yaml epochs=5 step.lane=graph device.deterministic=false
  for lane in graph auto; do
    item "resume-$lane" 75 "$BIN/esper" verify-resume "$ROOT/configs/run/digits.yaml" --kills 3 --output "$OUTPUT/resume-$lane.json" \
      --set device.kind=cuda epochs=20 "step.lane=$lane"
  done
  item drills 60 "$BIN/esper" drill capture_refused nan_inputs_gpu
}

# measure SCENARIO PRECISION: an earlier report stays until this one is whole.
measure() {
  local report=$1-cuda-$2.json
  "$BIN/esper" bench --scenario "$1" --lanes eager,replay,graph,compiled,auto --peer python --rounds "$ROUNDS" --json \
    --set device.kind=cuda device.precision="$2" step.compile.mode="$MODE" >"$SCRATCH/$report" && mv "$SCRATCH/$report" "$OUTPUT/$report"
}

items_of_bench() {
  local scenario precision
  export -f measure
  export BIN OUTPUT SCRATCH ROUNDS=${ROUNDS:-15} MODE=${ESPER_COMPILE_MODE:-default}
  for scenario in "${SCENARIOS[@]}"; do
    for precision in "${PRECISIONS[@]}"; do item "$scenario-$precision" 300 bash -c 'measure "$@"' x "$scenario" "$precision"; done
  done
}
