#!/usr/bin/env bash
# Runs a program that was built with the thread sanitizer; the first report fails it. Without address randomisation where
# that is allowed: the sanitizers of older compilers do not know the layout that newer kernels choose.
set -euo pipefail
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
if setarch --addr-no-randomize true 2>/dev/null; then
  exec setarch --addr-no-randomize "$@"
fi
exec "$@"
