# shellcheck shell=bash
# For scripts/gpu_check: what each of its verbs does, as items. An item's number of seconds is its limit.

SCENARIOS=(reference mlp mlp_wide cnn transformer)
PRECISIONS=(fp32 bf16 fp16)
# Of the program gpu_tests: each room, and the file of its tests (tests/gpu/CMakeLists.txt).
GPU_TESTS=(device:module_test program:capture_gpu_test data:loader_gpu_test lanes:lane_gpu_test tamiyo:policy_network_gpu_test
  tolaria:source_timer_gpu_test)

items_of_test() {
  local entry case cases tests=("$BIN/gpu_tests" --filenames-as-tags --durations yes)
  item doctor 60 "$BIN/esper" doctor
  for entry in "${GPU_TESTS[@]}"; do item "gpu_${entry%:*}" 400 "${tests[@]}" "[#${entry#*:}]"; done
  # Minutes of compiling: one item for each test case.
  mapfile -t cases < <("${tests[@]}" "[#compiled_gpu_test]" --list-tests --verbosity quiet)
  ((${#cases[@]})) || die 1 "gpu_tests does not start here"
  for case in "${!cases[@]}"; do item "gpu_compiled-$((case + 1))" 400 "${tests[@]}" "${cases[case]//,/\\,}"; done
}

# Under a sanitizer a kernel takes some fifty times as long: of the lanes, tests of few steps that take every path. racecheck
# reports hazards in torch's own kernel for attention in float32 (fmha_cutlassF), so it is not given a transformer.
FEW_STEPS="on a card an fp16 step*,on a card the steps of a growing*"

items_of_sanitize() {
  local sanitizer=(compute-sanitizer --error-exitcode 9) device=("$BIN/gpu_tests" --filenames-as-tags "[#module_test]")
  item memcheck-gpu_device 280 "${sanitizer[@]}" --tool memcheck "${device[@]}"
  item memcheck-gpu_lanes 400 "${sanitizer[@]}" --tool memcheck "$BIN/gpu_tests" "$FEW_STEPS,on a card a graph draws*,on a card averages*"
  item racecheck-gpu_device 280 "${sanitizer[@]}" --tool racecheck "${device[@]}"
  item racecheck-gpu_lanes 400 "${sanitizer[@]}" --tool racecheck "$BIN/gpu_tests" "$FEW_STEPS"
}

# train_in LANE NAME FILE FIELD...: a short run that must take steps in that lane, without any fallback. LANE any: whatever auto takes.
train_in() {
  local lane=$1 name=$2 file=$3
  shift 3
  "$BIN/esper" train --config "$ROOT/$file" --run-dir "$SCRATCH/$name" --set device.kind=cuda telemetry.console=none "$@" &&
    "$PYTHON" "$ROOT/scripts/gpu_run_check.py" "$SCRATCH/$name" "$lane"
}

items_of_train() {
  local lane precision images
  export -f train_in
  export BIN ROOT SCRATCH PYTHON
  run() { item "$1" "$2" bash -c 'train_in "$@"' x "$3" "${@:1:1}" "${@:4}"; }
  for lane in eager replay graph compiled auto; do
    run "digits-$lane" 240 "${lane/auto/any}" configs/run/digits_static.yaml epochs=8 "step.lane=$lane"
  done
  if [[ -n $IMAGES ]]; then
    mkdir -p "$SCRATCH/images"
    tar -xzf "$IMAGES" -C "$SCRATCH/images"
    images=(data.path="$SCRATCH/images/train" data.test_path="$SCRATCH/images/test")
  else
    say "without --images, cifar10_small is not trained"
  fi
  [[ -n $TEXT ]] || say "without --text, shakespeare is not trained"
  for lane in eager replay graph compiled auto; do
    [[ -z $IMAGES ]] || run "cifar10_small-$lane" 280 "${lane/auto/any}" configs/run/cifar10_small.yaml epochs=3 "${images[@]}" "step.lane=$lane"
    [[ -z $TEXT ]] || run "shakespeare-$lane" 280 "${lane/auto/any}" configs/run/shakespeare.yaml epochs=2 data.path="$TEXT" "step.lane=$lane"
    run "growth-$lane" 280 "${lane/auto/any}" configs/run/digits.yaml epochs=30 "step.lane=$lane"
  done
  for precision in bf16 fp16; do run "digits-graph-$precision" 120 graph configs/run/digits_static.yaml epochs=5 step.lane=graph "device.precision=$precision"; done
  run max-autotune 400 compiled configs/run/digits_static.yaml epochs=8 step.lane=compiled step.compile.mode=max-autotune
  run resident 120 graph configs/run/digits_static.yaml epochs=5 step.lane=graph data.gpu_dataset=on
  run copied-ahead 120 graph configs/run/digits_static.yaml epochs=5 step.lane=graph data.gpu_dataset=off data.workers=2
  run copied-at-once 120 graph configs/run/digits_static.yaml epochs=5 step.lane=graph data.gpu_dataset=off data.gpu_prefetch=false data.pin_memory=false
  run not-deterministic 120 graph configs/run/digits_static.yaml epochs=5 step.lane=graph device.deterministic=false
  for lane in graph auto; do
    item "resume-$lane" 300 "$BIN/esper" verify-resume "$ROOT/configs/run/digits.yaml" --kills 3 --output "$OUTPUT/resume-$lane.json" \
      --set device.kind=cuda epochs=20 "step.lane=$lane"
  done
  item drills 180 "$BIN/esper" drill capture_refused nan_inputs_gpu
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
    for precision in "${PRECISIONS[@]}"; do item "$scenario-$precision" 560 bash -c 'measure "$@"' x "$scenario" "$precision"; done
  done
}
