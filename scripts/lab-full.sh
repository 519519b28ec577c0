#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# lab-full.sh XSTATE: the lab at length. First every experiment under every policy on
# every machine the lab knows, at its own length; then long runs, tens of millions of
# switches: counted ones on one CPU, and races on two CPUs of multi-threaded QEMU.
# Ends with the first exit status that is not 0, after all of it has run.

set -u
xstate=$1
composed='load=use,keep,preload=1;load=use,skip-init;load=return;save=displaced,keep'
named=eager,eager-keep,lazy,lazy-preload,lazy-keep,deferred,laziest,auto
new=qemu:max,bochs:tigerlake,bochs:ryzen,bochs:corei7_skylake_x,bochs:corei7_icelake_u
old=qemu:qemu64,bochs:corei7_sandy_bridge_2600k,bochs:core2_penryn_t9600,bochs:zambezi
old=$old,bochs:turion64_tyler,bochs:athlon64_clawhammer,bochs:p4_prescott_celeron_336
status=0

# Without 64-bit mode: FNSAVE, then FXSAVE; one CPU.
x86_32=bochs:pentium_mmx,bochs:amd_k6_2_chomper,bochs:p2_klamath,bochs:p3_katmai
x86_32=$x86_32,bochs:athlon_xp,bochs:atom_n270,qemu:pentium,qemu:pentium3,qemu:athlon,qemu:n270

run() {
    echo "xstate lab run $*"
    "$xstate" lab run "$@" --timeout 60min --silence 5min || status=$?
}

run all --machine "$new,$old" --policy "$named,$composed"
run yield pipe pending flip leak migrate slots --cpus 1 --machine "$x86_32" --policy "$named,$composed"
run pending --arg ferr=1 --machine "bochs:tigerlake,bochs:pentium_mmx,bochs:p3_katmai" --policy "$named"
run yield pipe --machine qemu:max --policy "$named" --loops 1000000
run flip --machine qemu:max --cpus 2 --policy "$named,$composed" --loops 400000
run leak migrate --machine qemu:max --cpus 2 --policy "$named" --loops 200000
run flip --machine bochs:tigerlake --cpus 2 --policy "$named,$composed" --loops 100000
run leak migrate --machine bochs:tigerlake --cpus 2 --policy "$named" --loops 100000
exit $status
