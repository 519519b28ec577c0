# exit 1
. "$here/lab.sh"
for play in panic silent reset crash killed hang slow garbage twice nothing unverified corrupt \
    unreported identity other exitfail truncated flood; do
    case $play in
    hang) limit="--silence 500ms" ;;
    slow) limit="--timeout 1500ms" ;;
    *) limit= ;;
    esac
    $lab --arg play=$play $limit -q >out 2>err
    status=$?
    echo "$play: $status: $(sed -n 's/^FAILED //p' err)"
    [ $status -eq 1 ] || exit 0
    # What failed is kept, whole.
    kept=$(sed -n 's/^  its output: //p' err)
    [ -f "$kept" ] && [ -f "${kept%output}lab.rom" ] || exit 0
    rm -rf "${kept%/*/output}"
done
exit 1
