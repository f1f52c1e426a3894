#!/usr/bin/env bash
# scripts/approve on a copy of itself: shows without writing, refuses without a reason and outside the three folders, takes
# what is named and notes why.
#   approve_test.sh SOURCE_FOLDER EMPTY_FOLDER
set -euo pipefail
source_folder=$1 work=$2

failed() {
  echo "approve_test: $*" >&2
  exit 1
}
approve() { "$work/scripts/approve" "$@" >"$work/said" 2>&1; }

help=baselines/cli/help.txt
rm -rf "$work"
mkdir -p "$work/scripts" "$work/baselines/cli" "$work/build/received"/{baselines/cli,configs,docs}
cp "$source_folder/scripts/approve" "$source_folder/scripts/common.sh" "$work/scripts/"
git -C "$work" init -q
git -C "$work" -c user.name=test -c user.email=test@localhost commit -q --allow-empty -m start
echo old >"$work/$help"
echo new >"$work/build/received/$help"
echo schema >"$work/build/received/configs/schema.json"
echo table >"$work/build/received/docs/config.md"

approve && failed "succeeded without a reason"
grep -q '^-old' "$work/said" && grep -q '^+new' "$work/said" || failed "shows no difference"
[[ $(cat "$work/$help") == old ]] || failed "wrote without a reason"
approve -m "  " && failed "took an empty reason"
[[ $(cat "$work/$help") == old ]] || failed "wrote with an empty reason"
approve -m "x" baselines/../docs/config.md && failed "took a path with .. in it"
approve -m "x" cli/help.txt && failed "took a path that is relative to baselines/"

approve -m "help is clearer" $help || failed "refused a named file"
[[ $(cat "$work/$help") == new ]] || failed "did not take the named file"
[[ ! -e $work/docs/config.md ]] || failed "took a file that was not named"
grep -q $'\t'"$help"$'\thelp is clearer' "$work/baselines/approvals.tsv" || failed "noted no reason"

mkdir "$work/build/received/scripts"
echo 'echo mine' >"$work/build/received/scripts/approve"
approve -m "x" scripts/approve && failed "took a script"
approve -m "x" && failed "took everything although a script is among it"
[[ ! -e $work/docs/config.md ]] || failed "took a part of what it refused"
rm -r "$work/build/received/scripts"

approve -m "first record" || failed "refused the rest"
[[ $(cat "$work/docs/config.md") == table && $(cat "$work/configs/schema.json") == schema ]] || failed "did not take the rest"
approve -m "again" || failed "nothing to do is no failure"
