# exit 0
# Every command that is listed has a help text of its own, and says so when misused.
$xstate --help >help && sed -n 1,6p help
for verb in $(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' help); do
    $xstate "$verb" --help | head -n 1 | grep -q "^xstate $verb - " || echo "no help: $verb"
    $xstate "$verb" --nonsense 2>err
    [ $? -eq 2 ] || echo "$verb takes nonsense"
    grep -q "^xstate $verb: .*--nonsense.*; try 'xstate $verb --help'$" err || cat err
done
