# shellcheck shell=bash
# For scripts/gpu_check: .gpu/pack.tar.gz with binaries for a machine that cannot build, and how they are started there.

PACK=$ROOT/.gpu/pack.tar.gz
PROGRAMS=(esper gpu_tests)
LIBRARIES=(libesper_engine.so libesper_cuda.so libesper_counters.so)

# Libraries that a program needs and that are neither the C library's nor the compiler's nor torch's: the other machine has those,
# and its own are the ones that fit it.
carried_libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libutil|libpthread|libstdc\+\+|libgcc_s|libgomp|ld-linux[^/]*)\.so[^/]*$|/site-packages/'
}

# Of what the programs are built from, with and without Git.
source_digest() {
  (cd "$ROOT" && find apps lib tests scripts/cmake CMakeLists.txt -type f -not -name '*.md' -not -name '*.pyc' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum) | sha256sum | cut -c 1-16
}

pack() {
  "$ROOT/scripts/bootstrap"
  source "$ROOT/scripts/build.sh"
  build esper esper_engine esper_cuda esper_counters "${PROGRAMS[@]}"
  grep -q '^ESPER_CUDA_BUILT:.*=ON' "$BUILD/CMakeCache.txt" ||
    die "$EXIT_RESOURCES" "built without CUDA; scripts/bootstrap lists what is missing"
  local name files=()
  local made=$ROOT/.gpu/unpacked
  rm -rf "$made"
  mkdir -p "$made/bin" "$made/lib" "$made/carried"
  for name in "${PROGRAMS[@]}"; do files+=("$BUILD/bin/$name") && cp "$BUILD/bin/$name" "$made/bin/"; done
  for name in "${LIBRARIES[@]}"; do files+=("$BUILD/lib/$name") && cp "$BUILD/lib/$name" "$made/lib/"; done
  strip "$made"/bin/* "$made"/lib/*
  carried_libraries "${files[@]}" | xargs -I{} cp -L {} "$made/carried/"
  torch_version "$(wanted_torch)" >"$made/torch_version"
  { git -C "$ROOT" describe --always --dirty 2>/dev/null || echo unknown; } >"$made/commit"
  source_digest >"$made/sources"
  tar -czf "$PACK.part" -C "$made" .
  mv "$PACK.part" "$PACK"
  say "packed $(cat "$made/commit") into $PACK: $(du -h "$PACK" | cut -f1), for a machine whose Python has torch" \
    "$(cat "$made/torch_version")"
  rm -rf "$made"
}

# Sets BIN and, where the pack is there, how its programs find torch. Nothing of torch is loaded for that.
use_binaries() {
  source "$ROOT/scripts/build.sh"
  if [[ ! -e $PACK ]]; then
    "$ROOT/scripts/bootstrap"
    build all
    BIN=$BUILD/bin PYTHON=$ROOT/.esper/python/bin/python
    return
  fi
  export ESPER_PYTHON=${ESPER_PYTHON:-$(command -v python3)}
  local torch has wants unpacked=$SCRATCH/pack
  mkdir "$unpacked"
  tar -xzf "$PACK" -C "$unpacked"
  say "the programs are those of $PACK, of commit $(cat "$unpacked/commit" 2>/dev/null || echo unknown)"
  [[ $(cat "$unpacked/sources" 2>/dev/null) == "$(source_digest)" ]] || die "$EXIT_RESOURCES" \
    "that pack was built from other sources than these; run scripts/gpu_check pack where it was made, or remove it to build here"
  torch=$("$ESPER_PYTHON" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")')
  [[ -n $torch ]] || die "$EXIT_RESOURCES" "$ESPER_PYTHON has no torch; set ESPER_PYTHON to one that has"
  has=$(torch_version "$torch") wants=$(cat "$unpacked/torch_version")
  [[ $has == "$wants" ]] || die "$EXIT_RESOURCES" "$ESPER_PYTHON has torch $has, and the pack is for $wants"
  # Only what is missing: a Python there may need its own, newer ones.
  local file known
  known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p)
  mkdir "$SCRATCH/lib"
  for file in "$unpacked"/carried/*; do
    [[ $known == *"$(basename "$file") "* ]] || ln -s "$file" "$SCRATCH/lib/"
  done
  LD_LIBRARY_PATH=$SCRATCH/lib:$torch/lib$(printf ':%s' "$(dirname "$torch")"/nvidia/*/lib)
  export LD_LIBRARY_PATH
  if [[ -z ${CUDA_HOME:-} && -d /usr/local/cuda ]]; then export CUDA_HOME=/usr/local/cuda; fi
  BIN=$unpacked/bin PYTHON=$ESPER_PYTHON
}
