# shellcheck shell=bash
# The private Python environment, whose torch wheel is our libtorch; sourced by bootstrap.

# Unpacked 4.8 GB, and pip keeps the 2.5 GB that it downloaded so that an interrupted install goes on where it was.
PYTHON_NEEDS_MB=8000

# Debian's interpreter where there is one: a python3 of some other manager may come first on the path.
system_python() {
  if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else command -v python3; fi
}

# The environment is named after what is in it, so a new requirement list makes a new one and old clones keep theirs.
python_environment() {
  local key
  key=$({ readlink -f "$(system_python)" && cat "$ROOT/scripts/requirements.txt"; } | sha256sum)
  echo "$CACHE/python-${key:0:16}"
}

ensure_python() {
  if [[ -n ${ESPER_TORCH:-} ]]; then
    [[ -e $ESPER_TORCH/version.py ]] || die "$EXIT_RESOURCES" "ESPER_TORCH=$ESPER_TORCH is not a torch package: it has no version.py"
    return
  fi
  install_once python "$(python_environment)" build_python
}

# ensure_extra NAME LIST WHAT: packages beside the private environment, in a folder of their own, .esper/NAME. LIST is a
# file of scripts/, WHAT says what they are.
ensure_extra() {
  local name=$1 key
  EXTRA_LIST=$2 EXTRA_WHAT=$3
  [[ -x $ROOT/.esper/python/bin/python ]] || die "$EXIT_RESOURCES" "--$name needs the private Python environment, so not ESPER_TORCH"
  key=$({ python_environment && cat "$ROOT/scripts/$EXTRA_LIST"; } | sha256sum)
  install_once "$name" "$CACHE/$name-${key:0:16}" build_extra
}

# install_once NAME FOLDER BUILDER: makes .esper/NAME a link to FOLDER, which `BUILDER FOLDER` makes where it is missing,
# in one process at a time.
install_once() {
  local name=$1 folder=$2 builder=$3
  if [[ ! -d $folder ]]; then
    hold 8 "$CACHE/python.lock" 1800 "the Python install"
    [[ -d $folder ]] || "$builder" "$folder"
    exec 8>&-
  fi
  [[ $(readlink "$ROOT/.esper/$name" || true) == "$folder" ]] || ln -sfn "$folder" "$ROOT/.esper/$name"
}

build_extra() {
  local folder=$1 partial=$1.partial
  rm -rf "$partial"
  say "installing $EXTRA_WHAT"
  run_logged "$CACHE/log/pip-$EXTRA_LIST.log" "pip install" "$ROOT/.esper/python/bin/python" -I -m pip install \
    --disable-pip-version-check --no-input --retries 10 --no-deps --target "$partial" \
    -r "$ROOT/scripts/$EXTRA_LIST" || exit "$EXIT_RESOURCES"
  mv "$partial" "$folder"
}

# Built beside and renamed when it is complete. What a former try left is thrown away: its downloads are in pip's cache.
build_python() {
  local folder=$1 partial=$1.partial log=$CACHE/log/pip.log free
  rm -rf "$partial"
  free=$(df --output=avail -m "$CACHE" | tail -n 1)
  ((free >= PYTHON_NEEDS_MB)) || die "$EXIT_RESOURCES" "the Python environment needs $PYTHON_NEEDS_MB MB in $CACHE, which has $((free)) MB;" \
    "free some, or name another folder with ESPER_CACHE"
  say "installing the Python environment with torch (about 2.5 GB to download, once per machine)"
  run_logged "$log" "python3 -m venv" "$(system_python)" -I -m venv "$partial" || exit "$EXIT_RESOURCES"
  run_logged "$log" "pip install" "$partial/bin/python" -I -m pip install --disable-pip-version-check --no-input --retries 10 \
    -r "$ROOT/scripts/requirements.txt" || exit "$EXIT_RESOURCES"
  # The commands in bin/ name their interpreter by its full path, which the rename changes.
  grep -lIZ "$partial" "$partial"/bin/* | xargs -0 sed -i "s|$partial|$folder|g"
  mv "$partial" "$folder"
}
