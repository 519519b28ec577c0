// SPDX-License-Identifier: BSD-2-Clause
/*
 * The emitter. A generated function is: save the caller's state, load the state to measure in,
 * fill the areas, set the registers, run the loop a few times, take the time around a call of the
 * very same loop, put the caller's state back. No C runs between load and restore, so no compiler
 * can touch the registers measured.
 */
#include "code.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define BUFFER_BYTES (512u << 10)
#define ROOM_BYTES   (64u << 10) /* the longest function; placements leave this much free */

bool code_open(struct code_buffer *buffer)
{
	void *p = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	*buffer = (struct code_buffer){0};
	if (p == MAP_FAILED)
		return false;
	memset(p, 0xcc, BUFFER_BYTES); /* int3: a stray jump is seen at once */
	buffer->base = p;
	buffer->bytes = BUFFER_BYTES;
	return true;
}

void code_close(struct code_buffer *buffer)
{
	if (buffer->base)
		munmap(buffer->base, buffer->bytes);
	*buffer = (struct code_buffer){0};
}

size_t code_body_bytes(const struct code_body *body)
{
	size_t sum = 0, n;

	for (int i = 0; i < CODE_STEPS; i++) {
		snip_bytes(body->step[i].snip, &n);
		sum += n * body->step[i].times;
	}
	return sum * body->copies;
}

static uint8_t *put(uint8_t *p, enum snip snip)
{
	size_t n;
	const uint8_t *bytes = snip_bytes(snip, &n);

	memcpy(p, bytes, n);
	return p + n;
}

static uint8_t *put_bytes(uint8_t *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* mov $value, %reg32: B8+r imm32 */
enum { EAX = 0, ECX = 1, EDX = 2 };

static uint8_t *put_mov32(uint8_t *p, int reg, uint32_t value)
{
	*p++ = (uint8_t)(0xb8 + reg);
	return put_bytes(p, &value, 4);
}

/* movabs $value, %reg64: REX.W B8+r imm64 */
enum { RBX = 3, RBP = 5, RDI = 7 };

static uint8_t *put_address(uint8_t *p, int reg, const void *value)
{
	uint64_t v = (uintptr_t)value;

	*p++ = 0x48;
	*p++ = (uint8_t)(0xb8 + reg);
	return put_bytes(p, &v, 8);
}

/* The same for R8 to R15 (REX.W and REX.B), from the pointer at @pointer: a pointer to a function
 * may not be converted, its bytes may. */
static uint8_t *put_pointer(uint8_t *p, int reg, const void *pointer)
{
	*p++ = 0x49;
	*p++ = (uint8_t)(0xb8 + (reg & 7));
	return put_bytes(p, pointer, 8);
}

static uint8_t *put_mask(uint8_t *p, uint64_t mask)
{
	p = put_mov32(p, EAX, (uint32_t)mask);
	return put_mov32(p, EDX, (uint32_t)(mask >> 32));
}

/* Whole state out to or in from @area. */
static uint8_t *put_whole(uint8_t *p, const struct code_setup *s, const void *area, bool load)
{
	p = put_address(p, RBX, area);
	p = put_mask(p, s->all);
	if (s->all)
		return put(p, load ? SNIP_xrstor : SNIP_xsave);
	return put(p, load ? SNIP_fxrstor : SNIP_fxsave);
}

/* The state to measure in, then one area filled with it. */
static uint8_t *put_fill(uint8_t *p, const struct code_setup *s, enum snip fill)
{
	if (s->start)
		p = put_whole(p, s, s->start, true);
	p = put_address(p, RBX, s->a);
	p = put_address(p, RBP, s->b);
	p = put_mask(p, s->mask);
	return put(p, fill);
}

static uint8_t *put_call(uint8_t *p, const struct code_setup *s, uint32_t loops, uint8_t **call)
{
	p = put_mov32(p, ECX, s->index);
	p = put_mask(p, s->mask);
	*p++ = 0x41; /* mov $loops, %r12d */
	*p++ = 0xbc;
	p = put_bytes(p, &loops, 4);
	*p++ = 0xe8; /* call rel32, target known later */
	*call = p;
	return p + 4;
}

static void aim(uint8_t *call, const uint8_t *target)
{
	int32_t distance = (int32_t)(target - (call + 4));

	memcpy(call, &distance, 4);
}

static uint8_t *put_loop(uint8_t *p, const struct code_body *body)
{
	static const uint8_t dec_r12d[] = {0x41, 0xff, 0xcc}, jnz_rel32[] = {0x0f, 0x85};
	uint8_t *top = p, *at;

	for (uint32_t c = 0; c < body->copies; c++)
		for (int i = 0; i < CODE_STEPS; i++)
			for (uint32_t t = 0; t < body->step[i].times; t++)
				p = put(p, body->step[i].snip);
	p = put_bytes(p, dec_r12d, sizeof(dec_r12d));
	p = put_bytes(p, jnz_rel32, sizeof(jnz_rel32));
	at = p;
	aim(at, top);
	return put(p + 4, SNIP_ret);
}

static uint8_t *put_function(uint8_t *p, const struct code_setup *s, const struct code_body *body,
			     uint32_t warm, uint32_t loops)
{
	/* mov $3, %r8d; mov $3, %r9d; mov %r8d, %esi */
	static const uint8_t chain[] = {0x41, 0xb8, 3, 0, 0,    0,    0x41, 0xb9,
					3,    0,    0, 0, 0x44, 0x89, 0xc6};
	uint8_t *warm_call, *call;

	p = put(p, SNIP_enter);
	p = put_whole(p, s, s->keep, false);
	p = put_fill(p, s, s->fill_a);
	p = put_fill(p, s, s->fill_b);
	p = put_fill(p, s, SNIP_NONE);
	p = put_address(p, RDI, s->operands);
	p = put_bytes(p, chain, sizeof(chain));
	p = put_pointer(p, 14, &s->call);
	p = put_pointer(p, 15, &s->argument);
	p = put_call(p, s, warm, &warm_call);
	p = put(p, SNIP_clock_start);
	p = put_call(p, s, loops, &call);
	p = put(p, SNIP_clock_stop);
	p = put_whole(p, s, s->keep, true);
	p = put(p, SNIP_result);
	p = put(p, SNIP_leave);
	aim(warm_call, p);
	aim(call, p);
	return put_loop(p, body);
}

code_fn *code_emit(struct code_buffer *buffer, uint64_t placement, const struct code_setup *setup,
		   const struct code_body *body, uint32_t warm, uint32_t loops)
{
	size_t at = (size_t)(placement % (buffer->bytes - ROOM_BYTES));
	size_t page = at & ~(size_t)4095, span;
	union {
		uint8_t *data;
		code_fn *code;
	} u = {buffer->base + at};

	if (code_body_bytes(body) > ROOM_BYTES - 1024 || !warm || !loops)
		return NULL;
	span = (at - page + code_body_bytes(body) + 1024 + 4095) & ~(size_t)4095;
	if (mprotect(buffer->base + page, span, PROT_READ | PROT_WRITE))
		return NULL;
	put_function(u.data, setup, body, warm, loops);
	if (mprotect(buffer->base + page, span, PROT_READ | PROT_EXEC))
		return NULL;
	return u.code;
}
