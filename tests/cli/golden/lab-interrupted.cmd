# exit 130
. "$here/lab.sh"
$lab --arg play=hang --jobs 2 --policy eager,lazy &
pid=$!
i=0
while [ -z "$(ls -d "$TMPDIR"/xstate-lab.*/1/output 2>/dev/null)" ] && [ $i -lt 1000 ]; do
    sleep 0.05
    i=$((i + 1))
done
kill -INT $pid
wait $pid
status=$?
ls -d "$TMPDIR"/xstate-lab.* 2>/dev/null
# The pattern comes from a file: grep must not find itself.
echo "$TMPDIR" >pattern
grep -lFf pattern /proc/[0-9]*/cmdline 2>/dev/null
exit $status
