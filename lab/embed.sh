#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# embed.sh OBJCOPY ELF SOURCE BINARY: write the 32-bit kernel as it lies in memory, and the
# assembler source that puts it into the image.
set -eu
"$1" -O binary "$2" "$4"
cat >"$3" <<END
	.section .kernel32, "a"
	.incbin "$(realpath "$4")"
	.section .note.GNU-stack, "", @progbits
END
