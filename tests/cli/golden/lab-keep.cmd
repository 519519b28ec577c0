# exit 0
. "$here/lab.sh"
$lab --arg play=ok --keep -j >/dev/null
tail -n 1 "$TMPDIR"/xstate-lab.*/0/output
