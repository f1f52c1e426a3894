# shellcheck shell=bash
# For scripts/gpu_check: the folder .gpu/ with binaries for a machine that cannot build, and how they are started there.

PACK=$ROOT/.gpu
PROGRAMS=(esper gpu_data gpu_device gpu_lanes gpu_tamiyo)
LIBRARIES=(libesper_engine.so libesper_cuda.so libesper_counters.so)

# Libraries that a program needs and that are neither the C library's nor the compiler's nor torch's: the other machine has those,
# and its own are the ones that fit it.
carried_libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libutil|libpthread|libstdc\+\+|libgcc_s|libgomp|ld-linux[^/]*)\.so[^/]*$|/site-packages/'
}

pack() {
  "$ROOT/scripts/bootstrap"
  source "$ROOT/scripts/build.sh"
  build esper esper_engine esper_cuda esper_counters "${PROGRAMS[@]}"
  grep -q '^ESPER_CUDA_BUILT:.*=ON' "$BUILD/CMakeCache.txt" ||
    die "$EXIT_RESOURCES" "built without CUDA; scripts/bootstrap lists what is missing"
  local name files=()
  rm -rf "$PACK"
  mkdir -p "$PACK/bin" "$PACK/lib" "$PACK/carried"
  for name in "${PROGRAMS[@]}"; do files+=("$BUILD/bin/$name") && cp "$BUILD/bin/$name" "$PACK/bin/"; done
  for name in "${LIBRARIES[@]}"; do files+=("$BUILD/lib/$name") && cp "$BUILD/lib/$name" "$PACK/lib/"; done
  strip "$PACK"/bin/* "$PACK"/lib/*
  carried_libraries "${files[@]}" | xargs -I{} cp -L {} "$PACK/carried/"
  sed -n 's/^__version__ = .\(.*\).$/\1/p' "$(wanted_torch)/version.py" >"$PACK/torch_version"
  say "packed into $PACK: $(du -sh "$PACK" | cut -f1), for a machine whose Python has torch $(cat "$PACK/torch_version")"
}

# Sets BIN and, where the pack is there, how its programs find torch. Nothing of torch is loaded for that.
use_binaries() {
  if [[ ! -d $PACK ]]; then
    "$ROOT/scripts/bootstrap"
    source "$ROOT/scripts/build.sh"
    build all
    BIN=$BUILD/bin
    return
  fi
  export ESPER_PYTHON=${ESPER_PYTHON:-$(command -v python3)}
  local torch has wants
  torch=$("$ESPER_PYTHON" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")')
  [[ -n $torch ]] || die "$EXIT_RESOURCES" "$ESPER_PYTHON has no torch; set ESPER_PYTHON to one that has"
  has=$(sed -n 's/^__version__ = .\(.*\).$/\1/p' "$torch/version.py") wants=$(cat "$PACK/torch_version")
  [[ $has == "$wants" ]] || die "$EXIT_RESOURCES" "$ESPER_PYTHON has torch $has, and the pack is for $wants"
  # Only what is missing: a Python there may need its own, newer ones.
  local file known
  known=$(ldconfig -p)
  mkdir "$SCRATCH/lib"
  for file in "$PACK"/carried/*; do
    [[ $known == *"$(basename "$file") "* ]] || ln -s "$file" "$SCRATCH/lib/"
  done
  LD_LIBRARY_PATH=$SCRATCH/lib:$torch/lib$(printf ':%s' "$(dirname "$torch")"/nvidia/*/lib)
  export LD_LIBRARY_PATH
  if [[ -z ${CUDA_HOME:-} && -d /usr/local/cuda ]]; then export CUDA_HOME=/usr/local/cuda; fi
  BIN=$PACK/bin
}
