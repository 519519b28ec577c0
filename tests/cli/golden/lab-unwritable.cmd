# exit 3
. "$here/lab.sh"
TMPDIR=/nonexistent $lab --arg play=ok
