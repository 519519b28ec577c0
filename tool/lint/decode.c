// SPDX-License-Identifier: BSD-2-Clause
/*
 * Instructions by Zydis, reduced to what the checker asks: which FP state they touch, what
 * they need of it, where they branch, and what they do to values we follow. Zydis names no
 * MXCSR dependence, so it is taken from the exception class (types 2, 3 and 11 are the ones
 * with SIMD floating-point exceptions), corrected by a table where Zydis has no class.
 */
#include "lint/decode.h"

#include <Zydis/Zydis.h>

#include <pthread.h>
#include <string.h>

static ZydisDecoder decoder;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint8_t mxcsr_extra[ZYDIS_MNEMONIC_MAX_VALUE + 1];
static uint8_t integer_ext[ZYDIS_ISA_EXT_MAX_VALUE + 1];

static void tables_once(void)
{
	/* Read MXCSR although Zydis gives them no SIMD exception class. */
	static const uint16_t extra[] = {
	        ZYDIS_MNEMONIC_CVTPI2PS,   ZYDIS_MNEMONIC_CVTPI2PD,   ZYDIS_MNEMONIC_CVTPS2PI,
	        ZYDIS_MNEMONIC_CVTPD2PI,   ZYDIS_MNEMONIC_CVTTPS2PI,  ZYDIS_MNEMONIC_CVTTPD2PI,
	        ZYDIS_MNEMONIC_VFRCZPD,    ZYDIS_MNEMONIC_VFRCZPS,    ZYDIS_MNEMONIC_VFRCZSD,
	        ZYDIS_MNEMONIC_VFRCZSS,    ZYDIS_MNEMONIC_VFCMADDCPH, ZYDIS_MNEMONIC_VFCMADDCSH,
	        ZYDIS_MNEMONIC_VFMADDCPH,  ZYDIS_MNEMONIC_VFMADDCSH,  ZYDIS_MNEMONIC_VFCMULCPH,
	        ZYDIS_MNEMONIC_VFCMULCSH,  ZYDIS_MNEMONIC_VFMULCPH,   ZYDIS_MNEMONIC_VFMULCSH,
	        ZYDIS_MNEMONIC_VRCP14PD,   ZYDIS_MNEMONIC_VRCP14PS,   ZYDIS_MNEMONIC_VRCP14SD,
	        ZYDIS_MNEMONIC_VRCP14SS,   ZYDIS_MNEMONIC_VRSQRT14PD, ZYDIS_MNEMONIC_VRSQRT14PS,
	        ZYDIS_MNEMONIC_VRSQRT14SD, ZYDIS_MNEMONIC_VRSQRT14SS, ZYDIS_MNEMONIC_VFPCLASSPD,
	        ZYDIS_MNEMONIC_VFPCLASSPS, ZYDIS_MNEMONIC_VFPCLASSSD, ZYDIS_MNEMONIC_VFPCLASSSS,
	};
	/* Extensions without a single instruction that touches FP or SIMD state. */
	static const uint16_t ints[] = {
	        ZYDIS_ISA_EXT_BASE,     ZYDIS_ISA_EXT_LONGMODE,  ZYDIS_ISA_EXT_BMI1,
	        ZYDIS_ISA_EXT_BMI2,     ZYDIS_ISA_EXT_ADOX_ADCX, ZYDIS_ISA_EXT_CET,
	        ZYDIS_ISA_EXT_SMAP,     ZYDIS_ISA_EXT_PAUSE,     ZYDIS_ISA_EXT_LZCNT,
	        ZYDIS_ISA_EXT_MOVBE,    ZYDIS_ISA_EXT_VTX,       ZYDIS_ISA_EXT_SVM,
	        ZYDIS_ISA_EXT_TBM,      ZYDIS_ISA_EXT_RDTSCP,    ZYDIS_ISA_EXT_RDRAND,
	        ZYDIS_ISA_EXT_RDSEED,   ZYDIS_ISA_EXT_CLFSH,     ZYDIS_ISA_EXT_CLFLUSHOPT,
	        ZYDIS_ISA_EXT_CLWB,     ZYDIS_ISA_EXT_MONITOR,   ZYDIS_ISA_EXT_MONITORX,
	        ZYDIS_ISA_EXT_INVPCID,  ZYDIS_ISA_EXT_PKU,       ZYDIS_ISA_EXT_RDPID,
	        ZYDIS_ISA_EXT_RDWRFSGS,
	};
	size_t i;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (i = 0; i < sizeof(extra) / sizeof(extra[0]); i++)
		mxcsr_extra[extra[i]] = 1;
	for (i = 0; i < sizeof(ints) / sizeof(ints[0]); i++)
		integer_ext[ints[i]] = 1;
}

static uint32_t register_bits(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_X87:
		return FP_X87;
	case ZYDIS_REGCLASS_MMX:
		return FP_MMX;
	case ZYDIS_REGCLASS_XMM:
		return FP_XMM;
	case ZYDIS_REGCLASS_YMM:
		return FP_YMM;
	case ZYDIS_REGCLASS_ZMM:
		return FP_ZMM;
	case ZYDIS_REGCLASS_TMM:
		return FP_TMM;
	case ZYDIS_REGCLASS_MASK:
		return FP_K;
	default:
		return 0;
	}
}

/* Instructions that Zydis gives no FP operand, and those that manage the state. */
static bool by_mnemonic(ZydisMnemonic m, uint32_t *fp)
{
	switch (m) {
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
	case ZYDIS_MNEMONIC_XSAVES:
	case ZYDIS_MNEMONIC_XSAVES64:
	case ZYDIS_MNEMONIC_FNSAVE:
		*fp = FP_STATE | FP_SAVES;
		return true;
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
	case ZYDIS_MNEMONIC_XRSTORS:
	case ZYDIS_MNEMONIC_XRSTORS64:
		*fp = FP_STATE | FP_RESTORES | FP_SETS_X87 | FP_SETS_MXCSR;
		return true;
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FNINIT:
		*fp = FP_STATE | FP_SETS_X87;
		return true;
	case ZYDIS_MNEMONIC_FLDCW:
	case ZYDIS_MNEMONIC_FNCLEX:
	case ZYDIS_MNEMONIC_FNSTCW:
	case ZYDIS_MNEMONIC_FNSTSW:
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_STMXCSR:
	case ZYDIS_MNEMONIC_VSTMXCSR:
		*fp = FP_STATE;
		return true;
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
		*fp = FP_STATE | FP_SETS_MXCSR;
		return true;
	case ZYDIS_MNEMONIC_FWAIT:
		*fp = FP_WAIT;
		return true;
	case ZYDIS_MNEMONIC_EMMS:
	case ZYDIS_MNEMONIC_FEMMS:
		*fp = FP_MMX;
		return true;
	case ZYDIS_MNEMONIC_VZEROUPPER:
	case ZYDIS_MNEMONIC_VZEROALL:
		*fp = FP_VZERO;
		return true;
	case ZYDIS_MNEMONIC_LDTILECFG:
	case ZYDIS_MNEMONIC_STTILECFG:
	case ZYDIS_MNEMONIC_TILERELEASE:
		*fp = FP_TMM;
		return true;
	case ZYDIS_MNEMONIC_MOVNTI:
		*fp = 0;
		return true;
	default:
		return false;
	}
}

static bool mxcsr_dependent(const ZydisDecodedInstruction *z)
{
	switch (z->meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_SSE2:
	case ZYDIS_EXCEPTION_CLASS_SSE3:
	case ZYDIS_EXCEPTION_CLASS_AVX2:
	case ZYDIS_EXCEPTION_CLASS_AVX3:
	case ZYDIS_EXCEPTION_CLASS_AVX11:
	case ZYDIS_EXCEPTION_CLASS_E2:
	case ZYDIS_EXCEPTION_CLASS_E2NF:
	case ZYDIS_EXCEPTION_CLASS_E3:
	case ZYDIS_EXCEPTION_CLASS_E3NF:
	case ZYDIS_EXCEPTION_CLASS_E11:
	case ZYDIS_EXCEPTION_CLASS_E11NF:
		return true;
	default:
		return z->meta.isa_ext == ZYDIS_ISA_EXT_FMA4 || mxcsr_extra[z->mnemonic];
	}
}

static uint32_t fp_bits(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops)
{
	uint32_t fp = 0;
	unsigned i;

	if (by_mnemonic(z->mnemonic, &fp))
		return fp;
	if (integer_ext[z->meta.isa_ext])
		return 0;
	for (i = 0; i < z->operand_count; i++) {
		/* EVEX without a mask has K0 as an operand, which then means none. */
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    !(ops[i].reg.value == ZYDIS_REGISTER_K0 &&
		      ops[i].encoding == ZYDIS_OPERAND_ENCODING_MASK))
			fp |= register_bits(ops[i].reg.value);
		else if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			fp |= register_bits(ops[i].mem.index);
	}
	if (z->meta.category == ZYDIS_CATEGORY_X87_ALU || z->meta.isa_ext == ZYDIS_ISA_EXT_X87)
		fp |= FP_X87;
	if (fp && mxcsr_dependent(z))
		fp |= FP_MXCSR;
	/* With a memory source CVTPI2PS does not enter MMX state on every CPU; assume it does. */
	if (z->mnemonic == ZYDIS_MNEMONIC_CVTPI2PS || z->mnemonic == ZYDIS_MNEMONIC_CVTPI2PD)
		fp |= FP_MMX;
	return fp;
}

static bool knc_only(const ZydisDecodedInstruction *z)
{
	return z->meta.isa_ext == ZYDIS_ISA_EXT_KNC || z->meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
	       z->meta.isa_ext == ZYDIS_ISA_EXT_KNCV;
}

static void branch_kind(const ZydisDecodedInstruction *z, struct lint_insn *insn)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		insn->kind = z->raw.imm[0].is_relative ? INSN_CALL : INSN_CALL_IND;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		insn->kind = z->raw.imm[0].is_relative ? INSN_JMP : INSN_JMP_IND;
		break;
	case ZYDIS_CATEGORY_COND_BR:
		insn->kind = INSN_JCC;
		break;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSRET:
		insn->kind = INSN_RET;
		break;
	default:
		if (z->mnemonic == ZYDIS_MNEMONIC_UD2)
			insn->kind = INSN_TRAP;
		else if (z->mnemonic == ZYDIS_MNEMONIC_HLT || z->mnemonic == ZYDIS_MNEMONIC_INT3 ||
		         z->mnemonic == ZYDIS_MNEMONIC_UD1 || z->mnemonic == ZYDIS_MNEMONIC_UD0)
			insn->kind = INSN_STOP;
		break;
	}
	if (z->raw.imm[0].is_relative) {
		insn->imm_at = z->raw.imm[0].offset;
		insn->target = insn->off + insn->len + (uint32_t)z->raw.imm[0].value.s;
	}
}

bool lint_decode_fp(const uint8_t *p, size_t avail, struct lint_insn *insn)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoderContext context;
	uint32_t fp;
	unsigned n;

	pthread_once(&once, tables_once);
	insn->kind = INSN_PLAIN;
	insn->fp = 0;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, p, avail, &z)) ||
	    knc_only(&z)) {
		n = lint_unknown_vector(p, avail, &fp);
		insn->len = (uint8_t)(n ? n : 1);
		insn->fp = fp;
		insn->kind = n ? INSN_PLAIN : INSN_BAD;
		return n != 0;
	}
	insn->len = z.length;
	branch_kind(&z, insn);
	if (by_mnemonic(z.mnemonic, &insn->fp) || integer_ext[z.meta.isa_ext])
		return true;
	if (ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &z, ops, z.operand_count)))
		insn->fp = fp_bits(&z, ops);
	return true;
}

static uint8_t gpr(ZydisRegister reg)
{
	ZydisRegister big = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(big) == ZYDIS_REGCLASS_GPR64)
		return (uint8_t)ZydisRegisterGetId(big);
	return reg == ZYDIS_REGISTER_RIP ? REG_RIP : REG_NONE;
}

static struct lint_operand operand(const ZydisDecodedOperand *o, struct lint_insn *insn)
{
	struct lint_operand r = {LOC_NONE, REG_NONE, 0, 0};

	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		r.reg = gpr(o->reg.value);
		if (r.reg < 16)
			r.loc = LOC_REG;
		r.high = o->reg.value >= ZYDIS_REGISTER_AH && o->reg.value <= ZYDIS_REGISTER_BH;
		break;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		r.loc = LOC_MEM;
		r.reg = gpr(o->mem.base);
		r.index = o->mem.index != ZYDIS_REGISTER_NONE;
		insn->disp = (int32_t)o->mem.disp.value;
		insn->segment =
		        o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS;
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		r.loc = LOC_IMM;
		insn->imm = o->imm.value.s;
		break;
	default:
		break;
	}
	return r;
}

static uint8_t condition(const ZydisDecodedInstruction *z)
{
	/* The condition is the low half of the opcode; JRCXZ, LOOP and XBEGIN have none. */
	if (z->meta.category == ZYDIS_CATEGORY_COND_BR &&
	    !((z->opcode & 0xf0) == 0x70 && z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) &&
	    !((z->opcode & 0xf0) == 0x80 && z->opcode_map == ZYDIS_OPCODE_MAP_0F))
		return 0xff;
	return z->opcode & 0x0f;
}

static enum lint_op op_of(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return OP_MOV;
	case ZYDIS_MNEMONIC_MOVZX:
		return OP_MOVZX;
	case ZYDIS_MNEMONIC_LEA:
		return OP_LEA;
	case ZYDIS_MNEMONIC_ADD:
		return OP_ADD;
	case ZYDIS_MNEMONIC_SUB:
		return OP_SUB;
	case ZYDIS_MNEMONIC_AND:
		return OP_AND;
	case ZYDIS_MNEMONIC_XOR:
		return OP_XOR;
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
		return OP_ARITH;
	case ZYDIS_MNEMONIC_CMP:
		return OP_CMP;
	case ZYDIS_MNEMONIC_TEST:
		return OP_TEST;
	case ZYDIS_MNEMONIC_BT:
		return OP_BT;
	case ZYDIS_MNEMONIC_PUSH:
		return OP_PUSH;
	case ZYDIS_MNEMONIC_POP:
		return OP_POP;
	case ZYDIS_MNEMONIC_LEAVE:
		return OP_LEAVE;
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_PREFETCHT0:
	case ZYDIS_MNEMONIC_PREFETCHNTA:
	case ZYDIS_MNEMONIC_PREFETCHW:
		return OP_NONE;
	default:
		break;
	}
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_SETCC:
		return OP_SETCC;
	case ZYDIS_CATEGORY_CMOV:
		return OP_CMOV;
	case ZYDIS_CATEGORY_STRINGOP:
		return OP_STRING;
	default:
		return OP_OTHER;
	}
}

bool lint_decode(const uint8_t *p, size_t avail, uint32_t off, struct lint_insn *insn)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	unsigned i, n;

	pthread_once(&once, tables_once);
	memset(insn, 0, sizeof(*insn));
	insn->off = off;
	insn->dst.reg = insn->src.reg = REG_NONE;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, p, avail, &z, ops)) || knc_only(&z)) {
		n = lint_unknown_vector(p, avail, &insn->fp);
		insn->len = (uint8_t)(n ? n : 1);
		insn->kind = n ? INSN_PLAIN : INSN_BAD;
		/* What an unknown instruction writes is unknown. */
		insn->spoils = n ? 0xffff & ~(1 << REG_RSP) : 0;
		insn->stores = true;
		insn->flags = true;
		return n != 0;
	}
	insn->len = z.length;
	branch_kind(&z, insn);
	insn->fp = fp_bits(&z, ops);
	insn->op = (uint8_t)op_of(&z);
	insn->cc = condition(&z);
	insn->bytes = (uint8_t)(z.operand_width / 8);
	insn->flags =
	        z.cpu_flags && (z.cpu_flags->modified | z.cpu_flags->set_0 | z.cpu_flags->set_1 |
	                        z.cpu_flags->undefined) &
	                               (ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_SF);
	if (z.raw.disp.size)
		insn->disp_at = z.raw.disp.offset;
	if (!insn->imm_at && z.raw.imm[0].size)
		insn->imm_at = z.raw.imm[0].offset;
	for (i = 0; i < z.operand_count; i++) {
		const ZydisDecodedOperand *o = &ops[i];
		bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && writes && gpr(o->reg.value) < 16)
			insn->spoils |= (uint16_t)(1u << gpr(o->reg.value));
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && writes &&
		    (i > 0 || insn->op == OP_OTHER) && o->mem.type == ZYDIS_MEMOP_TYPE_MEM)
			insn->stores = true;
	}
	if (z.operand_count_visible >= 1) {
		insn->dst = operand(&ops[0], insn);
		insn->bytes = (uint8_t)(ops[0].size / 8);
	}
	if (z.operand_count_visible >= 2) {
		insn->src = operand(&ops[1], insn);
		insn->src_bytes = (uint8_t)(ops[1].size / 8);
	}
	/* PUSH and POP move 8 bytes whatever their operand. */
	if (insn->op == OP_PUSH) {
		insn->src = insn->dst;
		insn->src_bytes = insn->bytes;
		insn->bytes = (uint8_t)(z.operand_width / 8);
	}
	return true;
}

const char *lint_mnemonic(const uint8_t *p, size_t avail)
{
	ZydisDecodedInstruction z;
	const char *name;

	pthread_once(&once, tables_once);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, p, avail, &z)))
		return "an unknown vector instruction";
	name = ZydisMnemonicGetString(z.mnemonic);
	return name ? name : "?";
}
