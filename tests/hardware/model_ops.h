/* SPDX-License-Identifier: BSD-2-Clause */
/* Short programmes of extended-state instructions, run by the real CPU and by the software one. */
#ifndef MODEL_OPS_H
#define MODEL_OPS_H

#include <stdint.h>

#define OPS        16u
#define AREAS      3u
#define AREA_BYTES 2752u /* standard format up to Hi16_ZMM, and some */

enum op_kind {
	OP_FNSAVE, OP_FXSAVE, OP_XSAVE, OP_XSAVEOPT, OP_XSAVEC, /* in the order of enum xst_insn */
	OP_FRSTOR, OP_FXRSTOR, OP_XRSTOR,
	OP_FNINIT, OP_FNCLEX, OP_FLDCW, OP_INIT_FLD, OP_EMMS, OP_LDMXCSR,
	OP_MOVDQU, OP_VMOVDQU, OP_VMOVDQU64, OP_KMOVQ, OP_VZEROUPPER, OP_VZEROALL,
	OP_EDIT, /* software changes a byte of an area */
	OP_KINDS
};

struct op {
	uint8_t kind, reg, area;
	uint16_t offset;
	uint64_t mask;
	uint8_t value[64] __attribute__((aligned(64)));
	/* what the real CPU did */
	int vector;
	uint64_t xinuse;
	uint8_t after[AREA_BYTES] __attribute__((aligned(64)));
};

struct programme {
	uint8_t area[AREAS][AREA_BYTES] __attribute__((aligned(64)));
	uint8_t last[AREA_BYTES] __attribute__((aligned(64)));  /* all registers at the end */
	struct op op[OPS];
};

/* Run it on this CPU, from INIT registers. @mask: components that are enabled; XSAVE is there. */
void hw_run(struct programme *p, uint64_t mask, int has_xgetbv1);
/* Catch the faults. */
int hw_catch(void);

#endif
