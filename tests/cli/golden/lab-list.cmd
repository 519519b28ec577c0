# exit 0
# Experiments come and go; policies and what is said about emulators do not.
. "$here/lab.sh"
XSTATE_BOCHS=/nonexistent $xstate lab list >out || exit 1
sed -n '1p; /^yield/p; /^selftest/p; /^policy/,/^kvm/p' out | grep -v '^kvm' # KVM depends on the machine
