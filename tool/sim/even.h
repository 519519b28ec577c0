/* SPDX-License-Identifier: BSD-2-Clause */
/* How many slots of a million must use the registers for eager switching to be cheaper than lazy. */
#ifndef SIM_EVEN_H
#define SIM_EVEN_H

/**
 * even_formula() - by the classic reckoning: a slot costs eager a save and a restore; it costs
 * lazy a look at CR0.TS, and a trap, a save and a restore where the registers are used.
 * @pair: cycles of save and restore together.
 * @trap: of #NM and back.
 * @look: what lazy pays at every switch.
 */
static inline double even_formula(double pair, double trap, double look)
{
	return 1e6 * (pair - look) / (pair + trap);
}

#endif
