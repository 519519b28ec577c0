# exit 0
$xstate --version && $xstate -V && $xstate version
