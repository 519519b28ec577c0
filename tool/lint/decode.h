/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions, in two depths. A sweep needs only their lengths, where they branch and
 * whether they touch FP state; following a function needs a little of what they do.
 */
#ifndef LINT_DECODE_H
#define LINT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an instruction touches and needs. */
enum lint_fp {
	FP_X87 = 1 << 0,
	FP_MMX = 1 << 1,
	FP_XMM = 1 << 2,
	FP_YMM = 1 << 3,
	FP_ZMM = 1 << 4,
	FP_K = 1 << 5,
	FP_TMM = 1 << 6,
	FP_WAIT = 1 << 7,        /* FWAIT: delivers a pending x87 exception */
	FP_VZERO = 1 << 8,       /* VZEROUPPER, VZEROALL */
	FP_MXCSR = 1 << 9,       /* result or exceptions depend on MXCSR */
	FP_STATE = 1 << 10,      /* moves or sets the state itself: XSAVE ... LDMXCSR, FNINIT */
	FP_UNKNOWN = 1 << 11,    /* vector instruction this decoder does not know: MXCSR unknown */
	FP_SETS_X87 = 1 << 12,   /* afterwards the x87 control word is what the code wants */
	FP_SETS_MXCSR = 1 << 13, /* the same for MXCSR */
	FP_SAVES = 1 << 14,      /* XSAVE and its kind */
	FP_RESTORES = 1 << 15,
};

#define FP_FAMILIES                                                                                \
	(FP_X87 | FP_MMX | FP_XMM | FP_YMM | FP_ZMM | FP_K | FP_TMM | FP_WAIT | FP_VZERO)
#define FP_VECTOR (FP_XMM | FP_YMM | FP_ZMM | FP_K | FP_TMM | FP_VZERO | FP_UNKNOWN)
/* Counted as FP instructions, as opposed to those that only manage the state. */
#define FP_USE (FP_FAMILIES | FP_UNKNOWN)

/* Needs, as kernel_fpu_begin_mask() counts them. Ref: Linux asm/fpu/api.h. */
enum lint_need {
	NEED_X87 = 1 << 0,
	NEED_MXCSR = 1 << 1,
	NEED_TILES = 1 << 2,
};

enum lint_kind {
	INSN_PLAIN,
	INSN_CALL,
	INSN_CALL_IND,
	INSN_JMP,
	INSN_JMP_IND,
	INSN_JCC,
	INSN_RET,
	INSN_TRAP, /* UD2 */
	INSN_STOP, /* HLT, UD1, INT3: nothing runs on from here */
	INSN_BAD,
};

/* What following values needs to know; everything else only spoils its destinations. */
enum lint_op {
	OP_OTHER, /* writes the registers in spoils */
	OP_NONE,  /* writes nothing we follow */
	OP_MOV,   /* dst = src */
	OP_MOVZX,
	OP_LEA,
	OP_ADD, /* dst += src, and sets flags by the result */
	OP_SUB,
	OP_AND,
	OP_XOR,
	OP_ARITH, /* other arithmetic whose flags show whether the result is 0 */
	OP_CMP,
	OP_TEST,
	OP_BT,
	OP_SETCC,
	OP_CMOV,
	OP_PUSH,
	OP_POP,
	OP_LEAVE,
	OP_STRING, /* writes memory through RDI */
};

enum lint_loc { LOC_NONE, LOC_REG, LOC_MEM, LOC_IMM };

#define REG_NONE 0xff
#define REG_RSP  4
#define REG_RBP  5
#define REG_RIP  16

struct lint_operand {
	uint8_t loc;   /* enum lint_loc */
	uint8_t reg;   /* register 0..15 in the order of the encoding, or the memory's base */
	uint8_t index; /* of memory: another register adds to it */
	uint8_t high;  /* AH, CH, DH, BH */
};

struct lint_insn {
	uint32_t off;
	uint32_t target; /* branches: offset in the section */
	uint32_t fp;
	uint16_t spoils; /* registers written, bit by bit */
	uint8_t len;
	uint8_t kind;
	uint8_t op;
	uint8_t cc;        /* condition of JCC, SETCC, CMOV, as encoded */
	uint8_t bytes;     /* operand width */
	uint8_t src_bytes; /* MOVZX */
	bool flags;        /* writes the arithmetic flags */
	bool stores;       /* writes memory that is not its destination operand */
	bool segment;      /* its memory operand is relative to FS or GS */
	struct lint_operand dst, src;
	int64_t imm;
	int32_t disp;
	uint8_t imm_at; /* offset of the immediate and displacement within, 0: none */
	uint8_t disp_at;
};

/**
 * lint_decode() - one instruction in full.
 *
 * Return: false when the bytes are no instruction; @insn is then of kind INSN_BAD with
 *         length 1.
 */
bool lint_decode(const uint8_t *p, size_t avail, uint32_t off, struct lint_insn *insn);

/**
 * lint_decode_fp() - FP_ bits of one instruction, as far as a sweep needs it.
 *
 * Return: false when the bytes are no instruction.
 */
bool lint_decode_fp(const uint8_t *p, size_t avail, struct lint_insn *insn);

/**
 * lint_fast() - length of a common integer instruction, without a table of everything.
 *
 * Return: 0 for all others, among them everything that could touch FP state. Branches and
 *         address-taking forms are classified in *@kind.
 */
enum lint_fast_kind {
	FAST_PLAIN,
	FAST_CALL,
	FAST_JMP,
	FAST_JCC,
	FAST_CALL_IND,
	FAST_JMP_IND,
	FAST_IMM,
	FAST_LEA
};
unsigned lint_fast(const uint8_t *p, size_t avail, enum lint_fast_kind *kind);

/**
 * lint_unknown_vector() - instructions newer than the decoder.
 *
 * Return: length, or 0; *@fp receives their bits (0 for those that touch no FP state).
 */
unsigned lint_unknown_vector(const uint8_t *p, size_t avail, uint32_t *fp);

/**
 * lint_mnemonic() - how the instruction at @p is called, for messages.
 */
const char *lint_mnemonic(const uint8_t *p, size_t avail);

/**
 * lint_needs() - needs of FP_ bits, as NEED_ bits.
 */
static inline uint32_t lint_needs(uint32_t fp)
{
	return (fp & (FP_X87 | FP_MMX) ? (uint32_t)NEED_X87 : 0) |
	       (fp & FP_MXCSR ? (uint32_t)NEED_MXCSR : 0) |
	       (fp & FP_TMM ? (uint32_t)NEED_TILES : 0);
}

#endif
