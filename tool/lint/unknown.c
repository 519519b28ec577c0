// SPDX-License-Identifier: BSD-2-Clause
/*
 * Instructions newer than Zydis 4.0: SHA512, SM3, SM4, AVX-IFMA, AVX-VNNI-INT, AVX-NE-
 * CONVERT, AMX-FP16 and -COMPLEX, CMPccXADD, a few system ones, and whatever is written with
 * APX's REX2 prefix to reach sixteen more general registers. Every VEX, EVEX and XOP
 * instruction has the same shape, so its length can be told without knowing it; what it
 * does to MXCSR cannot, and is reported as unknown.
 */
#include "lint/decode.h"

#include <string.h>

/* Bytes of ModRM, SIB and displacement at @p; 0 when they do not fit. */
static unsigned modrm_bytes(const uint8_t *p, size_t avail)
{
	unsigned n = 1;
	uint8_t mod, rm;

	if (avail < 1)
		return 0;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod != 3 && rm == 4) {
		if (avail < 2)
			return 0;
		n = 2;
		if (mod == 0 && (p[1] & 7) == 5)
			n += 4;
	}
	if (mod == 1)
		n += 1;
	else if (mod == 2 || (mod == 0 && rm == 5))
		n += 4;
	return n <= avail ? n : 0;
}

/* Legacy-encoded ones without any FP state; @p behind the prefixes, which are in @pp. */
static unsigned legacy(const uint8_t *p, size_t avail, uint8_t pp, uint32_t *fp)
{
	unsigned n;

	*fp = 0;
	/* WRMSRNS, RDMSRLIST, WRMSRLIST, ERETU, ERETS */
	if (avail >= 3 && p[0] == 0x0f && p[1] == 0x01 && (p[2] == 0xc6 || p[2] == 0xca))
		return 3;
	/* LKGS: F2 0F 00 /6 */
	if (pp == 0xf2 && avail >= 3 && p[0] == 0x0f && p[1] == 0x00 && (p[2] >> 3 & 7) == 6) {
		n = modrm_bytes(p + 2, avail - 2);
		return n ? n + 2 : 0;
	}
	/* AADD, AAND, AOR, AXOR: 0F 38 FC; URDMSR, UWRMSR: 0F 38 F8 with a register */
	if (avail >= 4 && p[0] == 0x0f && p[1] == 0x38 &&
	    ((p[2] == 0xfc && p[3] >> 6 != 3) ||
	     (p[2] == 0xf8 && p[3] >> 6 == 3 && (pp == 0xf2 || pp == 0xf3)))) {
		n = modrm_bytes(p + 3, avail - 3);
		return n ? n + 3 : 0;
	}
	return 0;
}

/*
 * REX2 at p[@i]: the instruction that it would be with REX, whose low four bits are the same. Its
 * other bits name registers, and the highest stands for the byte 0F.
 */
static unsigned rex2(const uint8_t *p, size_t avail, unsigned i, uint32_t *fp)
{
	uint8_t plain[15];
	struct lint_insn insn;
	unsigned n = i, rest = i + 2;

	if (avail - i < 3)
		return 0;
	memcpy(plain, p, i);
	plain[n++] = 0x40 | (p[i + 1] & 0xf);
	if (p[i + 1] & 0x80)
		plain[n++] = 0x0f;
	/* These rows of opcodes have no form with the prefix. */
	if (p[i + 2] >> 4 == 0xe || p[i + 2] >> 4 == 0x4 || p[i + 2] == 0x0f || p[i + 2] == 0xd5)
		return 0;
	while (n < sizeof(plain) && rest < avail)
		plain[n++] = p[rest++];
	if (!lint_decode_fp(plain, n, &insn) || insn.kind != INSN_PLAIN)
		return 0;
	*fp = insn.fp;
	return insn.len + 1u - (p[i + 1] >> 7);
}

unsigned lint_unknown_vector(const uint8_t *p, size_t avail, uint32_t *fp)
{
	unsigned i = 0, n, map, imm = 0;
	uint8_t pp = 0, op;
	bool evex = false, xop = false;

	*fp = 0;
	while (i < avail && i < 4 &&
	       (p[i] == 0x65 || p[i] == 0x64 || p[i] == 0x67 || p[i] == 0x2e || p[i] == 0x3e ||
	        p[i] == 0x66 || p[i] == 0xf2 || p[i] == 0xf3)) {
		if (p[i] == 0x66 || p[i] >= 0xf2)
			pp = p[i];
		i++;
	}
	if (i < avail && p[i] == 0xd5)
		return rex2(p, avail, i, fp);
	if (avail - i < 4)
		return 0;
	if (pp || (p[i] != 0xc4 && p[i] != 0xc5 && p[i] != 0x62 && p[i] != 0x8f)) {
		if ((p[i] & 0xf0) == 0x40)
			i++;
		n = legacy(p + i, avail - i, pp, fp);
		return n && i + n <= 15 ? i + n : 0;
	}
	if (p[i] == 0xc5) {
		map = 1;
		i += 2;
	} else if (p[i] == 0xc4) {
		map = p[i + 1] & 0x1f;
		pp = p[i + 2] & 3;
		i += 3;
	} else if (p[i] == 0x62) {
		map = p[i + 1] & 7;
		evex = true;
		/* The bit that is fixed in EVEX; APX uses it, and APX is not FP state at all. */
		if (!(p[i + 2] & 4) || p[i + 1] & 8)
			return 0;
		i += 4;
	} else {
		map = p[i + 1] & 0x1f;
		xop = true;
		if (map < 8 || map > 10)
			return 0;
		i += 3;
	}
	if (avail - i < 2)
		return 0;
	if (xop    ? 0
	    : evex ? (map != 1 && map != 2 && map != 3 && map != 5 && map != 6)
	           : (map != 1 && map != 2 && map != 3 && map != 5 && map != 7))
		return 0;
	op = p[i++];
	/* Map 1 is full in the decoder: what it does not know there is not an instruction. */
	if (map == 1 && !evex)
		return 0;
	imm = xop ? map == 8 ? 1 : map == 10 ? 4 : 0 : map == 3 || map == 7 ? 1 : 0;
	if (map == 7)
		imm = 4;
	n = modrm_bytes(p + i, avail - i);
	if (!n || avail - i - n < imm || i + n + imm > 15)
		return 0;
	*fp = FP_XMM | FP_UNKNOWN;
	if (!evex && !xop && map == 2 && pp == 1 && op >= 0xe0 && op <= 0xef && p[i] >> 6 != 3)
		*fp = 0; /* CMPccXADD */
	else if (!evex && map == 7)
		*fp = 0; /* URDMSR, UWRMSR, WRMSRNS with an immediate */
	else if (!evex && !xop && map == 2 && (op == 0x5c || op == 0x5e || op == 0x6c) &&
	         p[i] >> 6 == 3)
		*fp = FP_TMM; /* AMX-FP16, AMX-COMPLEX and their kin: they ignore MXCSR */
	return i + n + imm;
}
