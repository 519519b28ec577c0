#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# golden.sh XSTATE JSON-CHECKER [--update]: run every golden/NAME.cmd and compare what it
# prints with NAME.out and NAME.err, and its exit status with the "# exit N" in its first
# line. A command sees $xstate, its own empty folder, $here (this folder) and nothing
# of the user's environment. Output of names beginning with json- must be valid JSON too.
# With --update the expected files are written instead: read the diff before committing.

set -u
xstate=$(realpath "$1") checker=$(realpath "$2") update=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# What differs from run to run is not compared.
steady() {
    sed -e "s|$work/[^/]*|WORK|g" -e 's|xstate-lab\.[A-Za-z0-9]*|xstate-lab.XXXXXX|g'
}

for cmd in "$here"/golden/*.cmd; do
    base=${cmd%.cmd} name=$(basename "$cmd" .cmd)
    want=$(sed -n '1s/^# exit //p' "$cmd")
    mkdir "$work/$name" "$work/$name/tmp"
    (cd "$work/$name" && env -i PATH="$PATH" HOME="$work" TMPDIR="$work/$name/tmp" TERM=dumb LC_ALL=C \
        ASAN_OPTIONS="${ASAN_OPTIONS:-}" xstate="$xstate" here="$here" sh "$cmd" \
        >"$work/out" 2>"$work/err" </dev/null)
    got=$?
    steady <"$work/out" >"$work/out.steady"
    steady <"$work/err" >"$work/err.steady"
    if [ -n "$update" ]; then
        cp "$work/out.steady" "$base.out"
        cp "$work/err.steady" "$base.err"
    fi
    bad=
    [ "$got" = "$want" ] || bad="exit status $got, not $want"
    for stream in out err; do
        diff -u "$base.$stream" "$work/$stream.steady" >"$work/diff" 2>&1 && continue
        bad="$bad std$stream differs"
        cat "$work/diff"
    done
    case $name in
    json-*) "$checker" <"$work/out" || bad="$bad invalid JSON" ;;
    esac
    if [ -n "$bad" ]; then
        echo "FAIL: $name: $bad"
        failed=1
    else
        echo "PASS: $name"
    fi
done
exit $failed
