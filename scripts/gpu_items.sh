# shellcheck shell=bash
# For scripts/gpu_check: what each of its verbs does, as items.

SCENARIOS=(reference mlp mlp_wide cnn transformer)
PRECISIONS=(fp32 bf16 fp16)

items_of_test() {
  local program
  item doctor 60 "$BIN/esper" doctor
  for program in gpu_device gpu_data gpu_lanes gpu_tamiyo; do item "$program" 300 "$BIN/$program" --durations yes; done
}

items_of_sanitize() {
  local tool program
  for tool in memcheck racecheck; do
    for program in gpu_device gpu_lanes; do
      item "$tool-$program" 280 compute-sanitizer --tool "$tool" --error-exitcode 9 "$BIN/$program"
    done
  done
}
