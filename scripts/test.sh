#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# test.sh quick|full: build with both compilers, warnings being errors, run the
# tests, and end with "N passed, N failed, N skipped". All tests run with the first
# compiler; with the other one those run whose outcome depends on the compiler, and
# quick builds no more of it than these, the command, the library and the lab.

set -u
setup=$1
here=$(dirname "$0")
cd "$here/.." || exit 1

# The folders are apart from build/, which stays as its owner configured it.
main=gcc other=clang
if [ "${CC:-cc}" != cc ]; then
    main=$CC
    case $main in *clang*) other=gcc ;; esac
elif ! command -v gcc >/dev/null 2>&1; then
    main=clang other=gcc
fi

runs=
targets=
for compiler in "$main" $other; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    folder=build-$(basename "$compiler")
    echo "building $folder"
    # shellcheck disable=SC2086
    CC=$compiler scripts/build.sh "$folder" -Dwerror=true -- $targets || exit 1
    runs="$runs $folder"
    [ "$setup" != quick ] || targets="xstate src/libxst.a lab/lab.rom"
done

status=0
suites=--no-rebuild
for folder in $runs; do
    rm -f "$folder/meson-logs/testlog-$setup.json"
    echo "testing $folder"
    # shellcheck disable=SC2086
    meson test -C "$folder" --setup "$setup" --print-errorlogs $suites || status=1
    suites="--suite unit"
done

# shellcheck disable=SC2086
python3 scripts/summary.py "$setup" $runs || status=1
exit $status
