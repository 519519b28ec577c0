# exit 2
for words in "nosuch" "--policy nosuch" "--policy eager," "--policy eager,preload=5" "--policy keep,lod=in" \
    "--machine qemu" "--machine vax:780" \
    "--machine kvm:max" "--machine qemu:a/b" "--cpus 0" "--cpus 9" "--cpus x" "--seed -1" \
    "--seed 0x1ffffffffffffffff" "--loops 0" "--timeout 1d" "--jobs 65" "--arg novalue" "--arg foo=bar" "--arg tick=999" "--arg tasks=x" "--arg seed=7" "--rom none.rom" \
    "--color pink" "--policy"; do
    $xstate lab run $words
    [ $? -eq 2 ] || exit 1
done
exit 2
