# exit 0
cd "$here/../data/cpuid" || exit 1
"$xstate" cpu --guest-state --base 10048 --slab-order 3 --align 64 --from formats/instlatx64-sapphire-rapids.txt
