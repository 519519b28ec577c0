# exit 0
$xstate -j --version
