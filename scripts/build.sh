#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# build.sh FOLDER [MESON-OPTION...] [-- TARGET...]: configure FOLDER when that is needed,
# then build everything, or only the targets.
# The compiler is $CC as everywhere; a folder configured for another one is begun anew.

set -u
folder=$1
shift
options=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options="$options $1"
    shift
done
[ $# -eq 0 ] || shift
# Make sets CC itself, to cc; Meson finds that one on its own.
[ "${CC:-}" != cc ] || unset CC
stamp="${CC:-default}$options"
if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$folder"
    log=$(mktemp) || exit 1
    # shellcheck disable=SC2086 # options have no blanks
    if ! meson setup "$folder" $options >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        rm -rf "$folder"
        exit 1
    fi
    rm -f "$log"
    echo "$stamp" >"$folder/.stamp"
fi
# Ninja shows its own progress on a terminal; elsewhere only that it takes a while, and what went wrong,
# is of interest.
if [ -t 1 ]; then
    exec ninja -C "$folder" "$@"
fi
log=$(mktemp) || exit 1
ninja -C "$folder" -n "$@" >"$log" 2>&1
if grep -q 'no work to do' "$log"; then
    rm -f "$log"
    exit 0
fi
began=$(date +%s)
echo "building in $folder: the first time takes minutes"
ninja -C "$folder" "$@" >"$log" 2>&1
status=$?
if [ $status -ne 0 ]; then
    cat "$log"
else
    grep -A 5 'warning:' "$log"
    echo "built in $folder: $(($(date +%s) - began)) s"
fi
rm -f "$log"
exit $status
