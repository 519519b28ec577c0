/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An object file as the checker sees it: sections, functions, relocations and the
 * kernel's own tables about its code. Files come from anywhere, so nothing in them is
 * believed: every offset is checked before it is used.
 */
#ifndef LINT_OBJECT_H
#define LINT_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_SECTION UINT32_MAX
#define NO_FUNC    UINT32_MAX

struct lint_section {
	const char *name;
	uint64_t addr; /* 0 in relocatable files */
	uint64_t flags;
	uint32_t type;
	uint64_t size;
	const uint8_t *data;   /* NULL when the file holds no bytes for it */
	const Elf64_Rela *rel; /* sorted by offset; NULL: none */
	size_t nrel;
};

enum lint_func_flag {
	FUNC_GLOBAL = 1 << 0,
	FUNC_EXPORTED = 1 << 1, /* others may call it by name */
	FUNC_POINTER = 1 << 2,  /* its address is stored or passed somewhere */
	FUNC_ENTRY = 1 << 3,    /* called by the loader: module init and exit, ELF entry */
	FUNC_UNSIZED = 1 << 4,  /* the symbol has no size: it ends where the next begins */
	FUNC_WEAK = 1 << 5,     /* another definition of the name replaces it */
};

struct lint_func {
	const char *name;
	uint32_t sec;
	uint32_t off;
	uint32_t size;
	uint32_t flags;
	uint32_t ev; /* its events in lint_object.ev */
	uint32_t nev;
	uint32_t fp_insns; /* instructions that touch FP or SIMD state, state ones not counted */
	uint32_t state_insns;
	uint32_t fp; /* union of their FP_ bits */
};

/* Another global name of a function. */
struct lint_alias {
	const char *name;
	uint32_t func;
};

/* What a sweep notes about an instruction. */
enum lint_event_kind {
	EV_FP,       /* arg: FP_ bits */
	EV_CALL,     /* direct call; arg, as of the others: length of the instruction */
	EV_JUMP,     /* direct jump out of the function; arg 0: it runs into the next one */
	EV_POINTER,  /* a code address is used as a value */
	EV_INDIRECT, /* call or jump through a pointer */
	EV_BAD,      /* bytes that are no instruction known to us */
	EV_ALT_CALL, /* a call in code that may be patched in here; arg: see lint_replaced() */
	EV_ALT_JUMP,
};

struct lint_event {
	uint32_t off;
	uint32_t kind;
	uint32_t arg;
};

/* A change of flow that no instruction shows: static keys, alternatives, fixups. */
struct lint_edge {
	uint32_t sec;
	uint32_t from;
	uint32_t to;
};

struct lint_alt {
	uint32_t sec; /* where the original instructions are */
	uint32_t off;
	uint32_t len;
	uint32_t rep_sec;
	uint32_t rep_off;
	uint32_t rep_len;
};

struct lint_place {
	uint32_t sec;
	uint32_t off;
};

enum lint_target_kind { TARGET_NONE, TARGET_CODE, TARGET_EXTERN };

struct lint_target {
	enum lint_target_kind kind;
	uint32_t sec;
	uint32_t off;
	const char *name; /* of an undefined symbol */
};

struct lint_object {
	char *path;               /* as given; an archive's member is "lib.a(member.o)" */
	const char *module;       /* its last part */
	const char *tag;          /* as much of its end as tells the objects of a run apart */
	const char *longer;       /* while tags are chosen */
	struct lint_image *image; /* the bytes; several members of an archive share one */
	void *elf;                /* Elf handle, which may own converted tables */
	bool relocatable;
	bool kernel_module;
	unsigned kernel_version; /* major << 16 | minor << 8 of .modinfo's vermagic, 0: none */
	unsigned char build_id[20];
	size_t build_id_len;
	struct lint_section *sec;
	size_t nsec;
	const Elf64_Sym *sym;
	size_t nsym;
	const char *str; /* string table of sym, always NUL-terminated */
	size_t str_bytes;
	struct lint_func *func; /* sorted by section and offset, never overlapping */
	size_t nfunc;
	struct lint_alias *alias;
	size_t nalias;
	struct lint_event *ev;
	size_t nev, ev_cap;
	struct lint_edge *edge; /* sorted by section and from */
	size_t nedge;
	struct lint_alt *alt; /* sorted by section and off */
	size_t nalt;
	struct lint_place *warn; /* trap instructions that execution continues after */
	size_t nwarn;
	char **names;           /* symbol names recovered from the image's own table */
	uint64_t jump_table[2]; /* its static keys from there, begin and end; 0: unknown */
	uint64_t insns;         /* decoded by the sweep */
	uint64_t code_bytes;
	uint64_t fp_insns;
	bool swept;
};

/* Bytes of a file, unpacked when it was compressed. */
struct lint_image {
	uint8_t *data;
	size_t bytes;
	bool mapped;
	unsigned users;
};

/**
 * lint_image_load() - read a file into memory and unpack it.
 * @path: .o, .ko, .a, vmlinux; each also as .xz, .zst, .gz; or a bzImage (vmlinuz).
 * @why:  receives a sentence on failure, at most @why_bytes.
 *
 * Return: the image, or NULL.
 */
struct lint_image *lint_image_load(const char *path, char *why, size_t why_bytes);
struct lint_image *lint_image_from(const uint8_t *data, size_t bytes, char *why, size_t why_bytes);
void lint_image_put(struct lint_image *image);

struct lint_image *lint_image_get(struct lint_image *image);

/* What could not be read, and why, as the rest of a sentence that begins with the path. */
struct lint_failure {
	char *path;
	char *why;
};

/* The objects of one file, and what of it could not be read. */
struct lint_opened {
	struct lint_object **list;
	size_t n;
	struct lint_failure *failed;
	size_t nfailed;
	size_t members; /* met in archives */
};

/**
 * lint_objects_open() - the object or, for an archive, all objects in an image.
 *
 * Takes its own references to @image.
 *
 * Return: whether there is any object; o->failed may hold entries either way.
 */
bool lint_objects_open(const char *path, struct lint_image *image, struct lint_opened *o);
void lint_opened_free(struct lint_opened *o);
bool lint_failure_add(struct lint_failure **list, size_t *n, const char *path, const char *why);

/**
 * lint_object_blind() - why nothing can be said of an object, or NULL.
 *
 * An object whose code has no symbols would pass as free of faults, unseen.
 */
const char *lint_object_blind(const struct lint_object *obj);
void lint_object_free(struct lint_object *obj);

/* Code, as opposed to data: allocated and executable with bytes in the file. */
static inline bool lint_is_code(const struct lint_section *s)
{
	return s->type == SHT_PROGBITS && (s->flags & SHF_EXECINSTR) && (s->flags & SHF_ALLOC) &&
	       s->data;
}

/**
 * lint_func_at() - the function that covers an offset, or NO_FUNC.
 */
uint32_t lint_func_at(const struct lint_object *obj, uint32_t sec, uint32_t off);

/**
 * lint_rel_find() - index of the first relocation of @s at or after @off.
 */
size_t lint_rel_find(const struct lint_section *s, uint64_t off);

/**
 * lint_rel_target() - where a relocated field points.
 * @adjust: added to the result: 4 for a PC-relative field that ends its instruction.
 */
struct lint_target lint_rel_target(const struct lint_object *obj, const Elf64_Rela *rel,
                                   int64_t adjust);

/**
 * lint_addr_target() - where a linked address points, for files without relocations.
 */
struct lint_target lint_addr_target(const struct lint_object *obj, uint64_t addr);

/**
 * lint_alternatives_read() - which instructions may be replaced at boot. Before the sweep,
 *                            which looks at the replacements too.
 * lint_tables_read() - the kernel's other tables about its code: edges, warnings.
 *
 * Return: false with a sentence in @why when a table is damaged or of an unknown layout.
 */
bool lint_alternatives_read(struct lint_object *obj, char *why, size_t why_bytes);
bool lint_tables_read(struct lint_object *obj, char *why, size_t why_bytes);

/**
 * lint_pointers_mark() - find the functions whose addresses are stored in data.
 */
void lint_pointers_mark(struct lint_object *obj);

/**
 * lint_holds_pointers() - whether pointers in a section may be called through.
 */
bool lint_holds_pointers(const struct lint_section *s);

/**
 * lint_kallsyms() - functions of a linked kernel that has no symbol table.
 *
 * Return: whether a table was found; the functions are then in @obj.
 */
bool lint_kallsyms(struct lint_object *obj);

/* Used by the two ways to find symbols: add a function, then sort and trim them all. */
bool lint_func_add(struct lint_object *obj, size_t *cap, const struct lint_func *func);
bool lint_funcs_settle(struct lint_object *obj);

#endif
