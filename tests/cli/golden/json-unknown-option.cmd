# exit 2
$xstate lab run --foo -j
