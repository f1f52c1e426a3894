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
  local folder
  folder=$(python_environment)
  if [[ ! -d $folder ]]; then
    hold 8 "$CACHE/python.lock" 1800 "the Python install"
    [[ -d $folder ]] || build_python "$folder"
    exec 8>&-
  fi
  [[ $(readlink "$ROOT/.esper/python" || true) == "$folder" ]] || ln -sfn "$folder" "$ROOT/.esper/python"
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
