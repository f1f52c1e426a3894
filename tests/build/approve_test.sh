#!/usr/bin/env bash
# scripts/approve on a copy of itself: shows without writing, refuses without a reason, takes what is named and notes why.
#   approve_test.sh SOURCE_FOLDER EMPTY_FOLDER
set -euo pipefail
source_folder=$1 work=$2

failed() {
  echo "approve_test: $*" >&2
  exit 1
}
approve() { "$work/scripts/approve" "$@" >"$work/said" 2>&1; }

rm -rf "$work"
mkdir -p "$work/scripts" "$work/baselines/cli" "$work/build/received/cli"
cp "$source_folder/scripts/approve" "$source_folder/scripts/common.sh" "$work/scripts/"
git -C "$work" init -q
git -C "$work" -c user.name=test -c user.email=test@localhost commit -q --allow-empty -m start
echo old >"$work/baselines/cli/help.txt"
echo new >"$work/build/received/cli/help.txt"
echo fresh >"$work/build/received/cli/version.txt"

approve && failed "succeeded without a reason"
grep -q '^-old' "$work/said" && grep -q '^+new' "$work/said" || failed "shows no difference"
[[ $(cat "$work/baselines/cli/help.txt") == old ]] || failed "wrote without a reason"
approve -m "  " && failed "took an empty reason"
[[ $(cat "$work/baselines/cli/help.txt") == old ]] || failed "wrote with an empty reason"
approve -m "x" ../scripts/approve && failed "took a path that leaves baselines/"

approve -m "help is clearer" cli/help.txt || failed "refused a named file"
[[ $(cat "$work/baselines/cli/help.txt") == new ]] || failed "did not take the named file"
[[ ! -e $work/baselines/cli/version.txt ]] || failed "took a file that was not named"
grep -q $'cli/help.txt\thelp is clearer' "$work/baselines/approvals.tsv" || failed "noted no reason"

approve -m "first record" || failed "refused the rest"
[[ $(cat "$work/baselines/cli/version.txt") == fresh ]] || failed "did not take the rest"
approve -m "again" || failed "nothing to do is no failure"
