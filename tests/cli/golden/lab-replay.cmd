# exit 0
. "$here/lab.sh"
$lab --arg play=panic --seed 7 --loops 30 >/dev/null 2>err
sed -n 's/^  to repeat: //p' err
