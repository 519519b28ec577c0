# exit 0
# A newcomer who types the bare word gets what --help says.
$xstate >alone && $xstate --help >help && cmp alone help
