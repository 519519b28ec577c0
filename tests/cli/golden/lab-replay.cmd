# exit 0
. "$here/lab.sh"
$lab --arg play=panic --seed 7 --loops 30 >/dev/null 2>err
sed -n 's/^  to repeat: //p' err
# Composed policies, two of them in one run: quoted for the shell.
$xstate lab run flip --policy 'load=use,keep;load=return' --machine qemu:max --rom fake.rom \
    --arg play=panic >/dev/null 2>err
sed -n 's/^  to repeat: //p' err
