// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lengths of common integer instructions. Nearly all of a kernel is made of a few dozen
 * opcodes that cannot touch FP state; knowing their lengths here makes a sweep several
 * times faster than decoding each. Whatever is rare, prefixed in an odd way, possibly
 * invalid, or not plainly integer is left to the decoder proper: a test compares the two
 * over random bytes.
 */
#include "lint/decode.h"

enum {
	M = 1 << 0,  /* ModRM follows */
	I8 = 1 << 1, /* 8-bit immediate */
	IZ = 1 << 2, /* 32-bit immediate, 16-bit after an operand-size prefix */
	OK = 1 << 3, /* an opcode we know */
	B8 = 1 << 4, /* the register form of MOV with a 64-bit immediate after REX.W */
	G = 1 << 5,  /* a group: only some of ModRM.reg */
	NP = 1 << 6, /* not with an operand-size prefix: branches */
};

#define R4(b, v)  [b] = (v), [(b) + 1] = (v), [(b) + 2] = (v), [(b) + 3] = (v)
#define R8(b, v)  R4(b, v), R4((b) + 4, v)
#define R16(b, v) R8(b, v), R8((b) + 8, v)
#define ALU(b) [b] = OK | M, [b + 1] = OK | M, [b + 2] = OK | M, [b + 3] = OK | M, \
	       [b + 4] = OK | I8, [b + 5] = OK | IZ

static const uint8_t one[256] = {
	ALU(0x00), ALU(0x08), ALU(0x10), ALU(0x18), ALU(0x20), ALU(0x28), ALU(0x30), ALU(0x38),
	R16(0x50, OK),
	[0x63] = OK | M,
	[0x68] = OK | IZ, [0x69] = OK | M | IZ, [0x6a] = OK | I8, [0x6b] = OK | M | I8,
	R16(0x70, OK | I8 | NP),
	[0x80] = OK | M | I8, [0x81] = OK | M | IZ, [0x83] = OK | M | I8,
	R8(0x84, OK | M),
	[0x8d] = OK | M | G,
	[0x90] = OK, [0x98] = OK, [0x99] = OK,
	[0xa8] = OK | I8, [0xa9] = OK | IZ,
	R8(0xb0, OK | I8), R8(0xb8, OK | B8),
	[0xc0] = OK | M | I8, [0xc1] = OK | M | I8, [0xc3] = OK | NP,
	[0xc6] = OK | M | I8 | G, [0xc7] = OK | M | IZ | G,
	[0xcc] = OK, R4(0xd0, OK | M),
	[0xe8] = OK | IZ | NP, [0xe9] = OK | IZ | NP, [0xeb] = OK | I8 | NP,
	[0xf6] = OK | M, [0xf7] = OK | M, [0xfe] = OK | M | G, [0xff] = OK | M | G,
};

static const uint8_t two[256] = {
	[0x1f] = OK | M,
	R16(0x40, OK | M),
	R16(0x80, OK | IZ | NP),
	R16(0x90, OK | M),
	[0xa2] = OK, [0xa3] = OK | M, [0xa4] = OK | M | I8, [0xa5] = OK | M, [0xab] = OK | M,
	[0xac] = OK | M | I8, [0xad] = OK | M, [0xaf] = OK | M, [0xb0] = OK | M, [0xb1] = OK | M,
	[0xb3] = OK | M, [0xb6] = OK | M, [0xb7] = OK | M, [0xba] = OK | M | I8 | G, [0xbb] = OK | M,
	R4(0xbc, OK | M), [0xc0] = OK | M, [0xc1] = OK | M, R8(0xc8, OK),
};

unsigned lint_fast(const uint8_t *p, size_t avail, enum lint_fast_kind *kind)
{
	unsigned i = 0, rex = 0, opsize = 0;
	bool second = false;
	uint8_t f, op;

	*kind = FAST_PLAIN;
	if (avail < 16)
		return 0;
	for (;; i++) {
		if (p[i] == 0x66)
			opsize = 1;
		else if (p[i] != 0x65 && p[i] != 0x2e && p[i] != 0x3e)
			break;
		if (i == 4)
			return 0;
	}
	if ((p[i] & 0xf0) == 0x40)
		rex = p[i++];
	op = p[i++];
	if (op == 0x0f) {
		second = true;
		op = p[i++];
		f = two[op];
	} else {
		f = one[op];
	}
	if (!f || (f & NP && opsize))
		return 0;
	/* 90 with REX.B is XCHG, and 66 90 is fine. */
	if (f & M) {
		uint8_t modrm = p[i++], mod = modrm >> 6, rm = modrm & 7, reg = modrm >> 3 & 7;

		if (f & G) {
			if (second ? reg < 4 : op == 0x8d ? mod == 3 : op == 0xfe ? reg > 1 :
			    op == 0xff ? (reg == 3 || reg == 5 || reg == 7) : reg != 0)
				return 0;
		}
		if (mod != 3 && rm == 4 && (p[i++] & 7) == 5 && mod == 0)
			i += 4;
		if (mod == 1)
			i += 1;
		else if (mod == 2 || (mod == 0 && rm == 5))
			i += 4;
		if (!second) {
			if (op == 0xff && (reg == 2 || reg == 4)) {
				if (opsize)
					return 0;
				*kind = reg == 2 ? FAST_CALL_IND : FAST_JMP_IND;
			} else if (op == 0x8d && mod == 0 && rm == 5) {
				*kind = FAST_LEA;
			} else if ((op == 0xf6 || op == 0xf7) && reg < 2) {
				i += op == 0xf6 ? 1 : opsize && !(rex & 8) ? 2 : 4;
			} else if (op == 0xc7 && !opsize) {
				*kind = FAST_IMM;
			}
		}
	}
	if (f & I8)
		i += 1;
	if (f & IZ)
		i += opsize && !(rex & 8) ? 2 : 4;
	if (f & B8) {
		i += rex & 8 ? 8 : opsize ? 2 : 4;
		if (!(rex & 8) && !opsize)
			*kind = FAST_IMM;
	}
	if (!second) {
		if (op == 0xe8)
			*kind = FAST_CALL;
		else if (op == 0xe9 || op == 0xeb)
			*kind = FAST_JMP;
		else if ((op & 0xf0) == 0x70)
			*kind = FAST_JCC;
	} else if ((op & 0xf0) == 0x80) {
		*kind = FAST_JCC;
	}
	return i <= 15 ? i : 0;
}
