# shellcheck shell=bash
# Debian packages and Catch2 3; sourced by bootstrap.

# How long another apt or dpkg may hold its locks, which the first start of a machine does for minutes.
PACKAGES_DEADLINE_S=900

# missing_packages NAME|NAME...: those of which nothing is installed. A package on hold (status hi) is installed.
missing_packages() {
  local names installed line name
  mapfile -t names < <(printf '%s\n' "$@" | tr '|' '\n')
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "${names[@]}" 2>/dev/null | sed -n 's/^[a-z]i //p' || true)
  for line in "$@"; do
    for name in ${line//|/ }; do
      grep -qxF -e "$name" <<<"$installed" && continue 2
    done
    echo "$line"
  done
}

# The version that apt would install; nothing where it knows none.
candidate_of() {
  LC_ALL=C apt-cache policy "$1" | sed -n 's/^  Candidate: //p' | grep -vxF '(none)' || true
}

# chosen NAME|NAME...: of each the first that apt knows, else the first.
chosen() {
  local line name
  for line in "$@"; do
    for name in ${line//|/ }; do
      [[ $line == *"|"* && -z $(candidate_of "$name") ]] || break
      name=
    done
    echo "${name:-${line%%|*}}"
  done
}

# package_step WHAT COMMAND...: tries again while another process holds a lock of apt or dpkg; apt-get update and dpkg do not wait.
package_step() {
  local what=$1 log=$CACHE/log/apt.log said waits='' until=$((SECONDS + PACKAGES_DEADLINE_S))
  shift
  until said=$(run_logged "$log" "$what" "$@" 2>&1 8>&-); do
    if ! grep -qE '^(E: (Could not get lock|Unable to (acquire|lock))|dpkg: error: .*locked by another process)' "$log"; then
      printf '%s\n' "$said" >&2
      exit "$EXIT_RESOURCES"
    fi
    ((SECONDS < until)) || die "$EXIT_TRY_AGAIN" "another process still installs packages after $PACKAGES_DEADLINE_S s; try again later"
    [[ -n $waits ]] || say "waiting for another apt or dpkg (up to $PACKAGES_DEADLINE_S s)"
    waits=yes
    sleep 3
  done
}

# install_packages NAME|NAME...: as root, or with a sudo that asks for no password; else prints what to run.
install_packages() {
  if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
    say "Debian packages are missing and this user cannot install them. Run this, then try again:"
    say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $(chosen "$@" | paste -sd ' ')"
    exit "$EXIT_RESOURCES"
  fi
  hold 8 "$CACHE/packages.lock" "$((3 * PACKAGES_DEADLINE_S))" "the installation of Debian packages"
  local missing names as_root=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C)
  mapfile -t missing < <(missing_packages "$@")  # what that process installed is there
  if ((${#missing[@]} == 0)); then
    exec 8>&-
    return
  fi
  say "installing Debian packages: ${missing[*]}"
  ((EUID == 0)) || as_root=(sudo -n "${as_root[@]}")
  # A former install that was interrupted leaves packages unpacked but not configured; apt refuses to work until they are.
  package_step "dpkg --configure -a" "${as_root[@]}" dpkg --configure -a
  package_step "apt-get update" "${as_root[@]}" apt-get update
  mapfile -t names < <(chosen "${missing[@]}")
  package_step "apt-get install" "${as_root[@]}" apt-get install -y --no-install-recommends "${names[@]}"
  exec 8>&-
}

ensure_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: install the packages of scripts/debian-packages.txt and Catch2 3 with its package manager"
    return
  fi
  local wanted missing
  mapfile -t wanted < <(grep -v '^#' "$ROOT/scripts/debian-packages.txt")
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

ensure_browser() {
  command -v chromium >/dev/null || install_packages chromium
}

# The header below exists only in version 3.
catch2_present() {
  [[ -e /usr/include/catch2/catch_test_macros.hpp || -e $ROOT/.esper/catch2/usr/include/catch2/catch_test_macros.hpp ]]
}

ensure_catch2() {
  catch2_present && return
  command -v apt-get >/dev/null || return 0
  local name version
  for name in catch2 libcatch2-dev; do
    version=$(candidate_of "$name")
    if [[ -n $version ]] && dpkg --compare-versions "$version" ge 3; then
      install_packages "$name"
      return
    fi
  done
  hold 8 "$CACHE/catch2.lock" 600 "the Catch2 download"
  local folder=$CACHE/catch2-backports
  [[ -e $folder/usr/include/catch2/catch_test_macros.hpp ]] || fetch_catch2_from_backports "$folder"
  ln -sfn "$folder" "$ROOT/.esper/catch2"
  exec 8>&-
}

# Debian 12's own Catch2 is version 2. The one in its backports is unpacked into FOLDER, out of the mirror that this machine
# already uses; the system's apt configuration stays as it is.
fetch_catch2_from_backports() {
  local folder=$1 codename site
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # shellcheck disable=SC2016
  site=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' | awk -v r="$codename" '$2 == r {print $1; exit}')
  [[ -n $site ]] || die "$EXIT_RESOURCES" "Catch2 3 is missing and apt knows no mirror for $codename; install Catch2 3 and try again"
  say "fetching Catch2 3 from $codename-backports"
  local work=$folder.partial log=$CACHE/log/catch2.log
  rm -rf "$work"
  mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/root"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $codename-backports main" >"$work/apt/sources.list"
  local apt=(apt-get -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::Cache=$work/apt/cache"
    -o "Dir::State::Lists=$work/apt/lists" -o APT::Sandbox::User=)
  run_logged "$log" "reading the list of $codename-backports" "${apt[@]}" update || exit "$EXIT_RESOURCES"
  (cd "$work" && run_logged "$log" "downloading Catch2" "${apt[@]}" download libcatch2-dev) || exit "$EXIT_RESOURCES"
  dpkg -x "$work"/libcatch2-dev_*.deb "$work/root"
  rm -rf "$folder"
  mv "$work/root" "$folder"
  rm -rf "$work"
}
