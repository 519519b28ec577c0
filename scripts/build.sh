#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# build.sh FOLDER [MESON-OPTION...]: configure FOLDER when that is needed, then build.
# The compiler is $CC as everywhere; a folder configured for another one is begun anew.

set -u
folder=$1
shift
# Make sets CC itself, to cc; Meson finds that one on its own.
[ "${CC:-}" != cc ] || unset CC
stamp="${CC:-default} $*"
if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$folder"
    log=$(mktemp) || exit 1
    if ! meson setup "$folder" "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        rm -rf "$folder"
        exit 1
    fi
    rm -f "$log"
    echo "$stamp" >"$folder/.stamp"
fi
# Ninja shows its own progress on a terminal; elsewhere only what went wrong is of interest.
if [ -t 1 ]; then
    exec ninja -C "$folder"
fi
exec ninja --quiet -C "$folder"
