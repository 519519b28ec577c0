// SPDX-License-Identifier: BSD-2-Clause
/* CPUs from text: each format, what each cannot say, and every kind of bad input. */
#include "t.h"

#include <stdlib.h>
#include <string.h>

#include "read/cpu.h"
#include "../shared.h"

static struct cpu_source src;
static char err[256];

static int read_text(const char *text)
{
	read_cpu_free(&src);
	err[0] = '\0';
	return read_cpu_text("test", text, strlen(text), &src, err, sizeof(err));
}

static void accepted(const char *text, enum cpu_format format)
{
	if (read_text(text))
		fail_msg("%s", err);
	assert_int_equal(src.format, format);
}

/* Refused, in one sentence that names the input and says this. */
static void refused(const char *text, const char *says)
{
	assert_int_equal(read_text(text), -1);
	assert_non_null(strstr(err, "test: "));
	if (!strstr(err, says))
		fail_msg("'%s' does not say '%s'", err, says);
	assert_null(strchr(err, '\n'));
	assert_int_not_equal(err[strlen(err) - 1], '.');
}

static int release(void **state)
{
	(void)state;
	read_cpu_free(&src);
	return 0;
}

#define R_LEAF0 "   0x00000000 0x00: eax=0x0000000d ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
#define R_LEAF1 "   0x00000001 0x00: eax=0x000306a9 ebx=0x00000000 ecx=0x14000000 edx=0x07800001\n"
#define R_D0	"   0x0000000d 0x00: eax=0x00000007 ebx=0x00000340 ecx=0x00000340 edx=0x00000000\n"
#define R_D1	"   0x0000000d 0x01: eax=0x00000001 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
#define R_D2	"   0x0000000d 0x02: eax=0x00000100 ebx=0x00000240 ecx=0x00000000 edx=0x00000000\n"
#define R_CPU	R_LEAF0 R_LEAF1 R_D0 R_D1 R_D2

static void is_avx(void)
{
	assert_int_equal(src.caps.xcr0, 7);
	assert_int_equal(src.caps.comp[2].bytes, 256);
	assert_int_equal(src.caps.comp[2].offset, 576);
	assert_true(src.caps.xsaveopt && !src.caps.xsavec);
	assert_int_equal(src.caps.model, 0x3a);
}

static void cpuid_r(void **state)
{
	(void)state;
	accepted("CPU:\n" R_CPU, CPU_CPUID_R);
	is_avx();
	accepted(R_CPU, CPU_CPUID_R); /* a header is no must */
	is_avx();
	accepted("a title\n\nCPU 0:\n" R_CPU "CPU 1:\n" R_CPU "CPU 2:\n", CPU_CPUID_R);
	is_avx();
	assert_int_equal(src.cpus, 2);
	assert_int_equal(src.remark_count, 0);
}

static void line_ends(void **state)
{
	char text[2048];
	size_t n = 3;
	const char *p;

	(void)state;
	memcpy(text, "\xef\xbb\xbf", 3); /* a byte order mark, then CR LF */
	for (p = "CPU:\n" R_CPU; *p; p++) {
		if (*p == '\n')
			text[n++] = '\r';
		text[n++] = *p;
	}
	text[n - 2] = '\0'; /* and no end of the last line */
	accepted(text, CPU_CPUID_R);
	is_avx();
}

static void cpus_that_disagree_are_remarked(void **state)
{
	(void)state;
	accepted(
		"CPU 0:\n" R_CPU "CPU 1:\n" R_LEAF0 R_LEAF1
		"   0x0000000d 0x00: eax=0x00000003 ebx=0x00000240 ecx=0x00000240 edx=0x00000000\n",
		CPU_CPUID_R);
	assert_int_equal(src.remark_count, 1);
	assert_non_null(strstr(src.remarks[0], "component 2"));
	is_avx();
}

static void damaged_lines(void **state)
{
	(void)state;
	refused("CPU:\n" R_LEAF0 "   0x00000001 0x00: eax=0x000306a9 ebx=0x000\n", "line 3");
	refused("CPU:\n" R_LEAF0 "   0x00000001 0x00: eax=0x000306a9\n", "damaged");
	refused("CPU:\n" R_LEAF0 "   0x00000001 0x00: eax=0x1000306a9 ebx=0x0 ecx=0x0 edx=0x0\n",
		"line 3");
	refused("CPUID 00000000: 0000000D-756E6547-6C65746E\n", "line 1");
	refused("CPUID 00000000: 0000000D-756E6547-6C65746E-49656E6900\n", "line 1");
	refused("basic_cpuid[0]=0000000d 756e6547 6c65746e\n", "line 1");
	refused("basic_cpuid[]=0000000d 756e6547 6c65746e 49656e69\n", "line 1");
	/* The same question, two answers. */
	refused(R_CPU "   0x0000000d 0x02: eax=0x00000100 ebx=0x00000340 ecx=0x00000000 "
		      "edx=0x00000000\n", "twice");
	accepted(R_CPU R_D2, CPU_CPUID_R); /* but the same answer twice is harmless */
	refused("", "empty");
	refused(" \r\n\t\n", "empty");
	refused("hello\n", "not a CPUID dump");
	refused("\x7f" "ELF\x02\x01\x01", "not a CPUID dump");
	refused(R_LEAF1, "leaf 0");
}

static void nul_bytes(void **state)
{
	static const char text[] = "\0\0\0\n\0CPU:\n";

	(void)state;
	assert_int_equal(read_cpu_text("test", text, sizeof(text), &src, err, sizeof(err)), -1);
	assert_int_equal(read_cpu_text("test", text, 1, &src, err, sizeof(err)), -1);
}

static void aida(void **state)
{
	(void)state;
	accepted("------[ CPUID Registers / Logical CPU #0 ]------\n\n"
		 "allcpu: Package 0 / Core 0 / Thread 0: Valid\n\n"
		 "CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69 [GenuineIntel]\n"
		 "CPUID 00000001: 000306A9-00000000-14000000-07800001\n"
		 "CPUID 0000000D: 00000007-00000340-00000340-00000000 [SL 00] [x87]\n"
		 "CPUID 0000000D: 00000001-00000000-00000000-00000000 [SL 01] [SSE]\n"
		 "CPUID 0000000D: 00000100-00000240-00000000-00000000 [SL 02] [AVX]\n"
		 "------[ Logical CPU #1 ]------\n"
		 "CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69 [GenuineIntel]\n"
		 "CPUID 00000001: 000306A9-01000000-14000000-07800001\n"
		 "CPUID 0000000D: 00000007-00000340-00000340-00000000 [SL 00] [x87]\n"
		 "CPUID 0000000D: 00000001-00000000-00000000-00000000 [SL 01] [SSE]\n"
		 "CPUID 0000000D: 00000100-00000240-00000000-00000000 [SL 02] [AVX]\n",
		 CPU_INSTLATX64);
	is_avx();
	assert_int_equal(src.cpus, 2);
	/* Sub-leaves without numbers are in order, and the number is hexadecimal. */
	accepted("CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69\n"
		 "CPUID 00000001: 000306A9-00000000-14000000-07800001\n"
		 "CPUID 0000000D: 00000007-00000340-00000340-00000000\n"
		 "CPUID 0000000D: 00000001-00000000-00000000-00000000\n"
		 "CPUID 0000000D: 00000100-00000240-00000000-00000000\n"
		 "CPUID 0000000D: 00000040-00000AC0-00000002-00000000 [SL 11]\n",
		 CPU_INSTLATX64);
	is_avx();
	assert_int_equal(src.caps.comp[17].bytes, 64);
}

static void libcpuid(void **state)
{
	(void)state;
	accepted("version=0.5.0\n"
		 "basic_cpuid[0]=0000000d 756e6547 6c65746e 49656e69\n"
		 "basic_cpuid[1]=000306a9 00000000 14000000 07800001\n"
		 "basic_cpuid[13]=00000007 00000340 00000340 00000000\n"
		 "basic_cpuid[14]=00000000 00000000 00000000 00000000\n"
		 "ext_cpuid[0]=80000008 00000000 00000000 00000000\n"
		 "intel_fn4[0]=1c004121 01c0003f 0000003f 00000000\n",
		 CPU_LIBCPUID);
	assert_int_equal(src.caps.xcr0, 7);
	/* It keeps no other sub-leaf: AVX has no size, and none is made up. */
	assert_int_equal(xst_caveat_components(&src.caps, XST_CAVEAT_EMPTY_SUBLEAF), 4);
	assert_int_equal(xst_caps_placed(&src.caps), 3);
}

#ifdef HAVE_JANSSON

#define FC(leaf, sub, reg, bits)                                                                   \
	"{\"leaf\":\"" leaf "\",\"subleaf\":\"" sub                                                \
	"\",\"flags\":0,\"modifiers\":[{\"register\":\"" reg "\",\"bitmap\":\"" bits "\"}]}"

static void firecracker(void **state)
{
	(void)state;
	accepted("{\"cpuid_modifiers\":["
		 FC("0x1", "0x0", "ecx", "0b00000100000000000000000000000000") ","
		 FC("0xd", "0x0", "eax", "0bxxxxxxxxxxxxxx0000000000xxx00111") "]}",
		 CPU_FIRECRACKER);
	assert_int_equal(src.caps.xcr0, 7);
	/* Undecided bits, and leaf 0, are said. */
	assert_true(src.remark_count >= 2);
	assert_non_null(strstr(src.remarks[0], "0xfffc00e0"));
	accepted("{\"microcode_version\":\"0x2b000661\",\"guest_cpu_config\":{\"cpuid_modifiers\":["
		 FC("0x0", "0x0", "eax", "0b11111") "]}}", CPU_FIRECRACKER);
	assert_int_equal(src.caps.microcode, 0x2b000661);
	refused("{\"cpuid_modifiers\":[" FC("0x1", "0x0", "eip", "0b1") "]}", "eip");
	refused("{\"cpuid_modifiers\":[" FC("0x1", "0x0", "eax", "0b12") "]}", "0b12");
	refused("{\"cpuid_modifiers\":[" FC("0x1", "0x0", "eax",
		"0b100000000000000000000000000000000") "]}", "leaf 0x1 eax");
	refused("{\"cpuid_modifiers\":[" FC("0x1ffffffff", "0x0", "eax", "0b1") "]}", "leaf");
	refused("{\"cpuid_modifiers\":{}}", "array");
	refused("{\"cpuid_modifiers\":[3]}", "lacks");
}

static void our_json(void **state)
{
	(void)state;
	/* By hand: only what is needed. */
	accepted("{\"schema\":\"xstate.cpu/1\",\"vendor\":\"GenuineIntel\",\"xsave\":true,"
		 "\"xsavec\":true,\"xcr0_supported\":\"0x207\",\"components\":["
		 "{\"id\":2,\"bytes\":256,\"standard_offset\":576},"
		 "{\"id\":9,\"bytes\":8,\"standard_offset\":2688}]}", CPU_JSON);
	assert_int_equal(src.caps.xcr0, 0x207);
	assert_string_equal(src.caps.vendor, "GenuineIntel");
	assert_int_equal(src.caps.comp[9].offset, 2688);
	assert_true(src.caps.pku); /* a component implies its flag */
	refused("{\"schema\":\"xstate.cpu/1\"}", "xsave");
	refused("{\"schema\":\"xstate.image/1\"}", "xstate.image/1");
	refused("{\"a\":1}", "neither");
	refused("[1,2]", "not an object");
	refused("{\"schema\":", "line 1: it ends in the middle");
	refused("{\"schema\":\"xstate.cpu/1\",\"schema\":\"xstate.cpu/1\"}", "one key twice");
	refused("{\"schema\":\"xstate.cpu/1\",\"xsave\":true,\"xcr0_supported\":519}", "mask");
	refused("{\"schema\":\"xstate.cpu/1\",\"xsave\":true,\"xcr0_supported\":\"0x7\","
		"\"components\":[{\"id\":9,\"bytes\":8}]}", "component 9");
	refused("{\"schema\":\"xstate.cpu/1\",\"xsave\":true,\"xcr0_supported\":\"0x7\","
		"\"components\":[{\"id\":2,\"bytes\":-1}]}", "bytes");
	refused("{\"schema\":\"xstate.cpu/1\",\"cpuid\":[\"hello\"]}", "no leaf");
	refused("{\"schema\":\"xstate.cpu/1\",\"cpuid\":[7]}", "no text");
	accepted("{\"schema\":\"xstate.cpu/1\",\"xsave\":false}\n{\"schema\":\"xstate.cpu/1\"}",
		 CPU_JSON);
	assert_int_equal(src.remark_count, 1);
}

/* One machine published in two formats is one machine. */
static void formats_agree(void **state)
{
	char path[512];
	struct cpu_source other;
	struct xst_diag d;

	(void)state;
	if (!shared_path("cpuid/formats/firecracker-fingerprint-sapphire-rapids.json", path,
			 sizeof(path)))
		skip();
	if (read_cpu(path, &src, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(src.caps.xcr0, 0x602e7);
	assert_true(shared_path("cpuid/dumps/intel-fc-sapphire-rapids-6.1host.txt", path,
				sizeof(path)));
	if (read_cpu(path, &other, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(xst_caps_agree(&src.caps, &other.caps, &d), XST_OK);
	assert_int_equal(src.caps.d0_ecx, other.caps.d0_ecx);
	assert_int_equal(src.caps.d1_ebx, other.caps.d1_ebx);
	assert_string_equal(src.caps.brand, other.caps.brand);
	read_cpu_free(&other);
}

#endif

static void files(void **state)
{
	(void)state;
	assert_int_equal(read_cpu("/nonexistent", &src, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "No such file"));
	assert_int_equal(read_cpu("/", &src, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "directory"));
	assert_int_equal(read_cpu("/dev/null", &src, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "empty"));
	/* A device without end is not read to the end. */
	assert_int_equal(read_cpu("/dev/zero", &src, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "MiB"));
}

static void this_machine(void **state)
{
	struct xst_caps native;

	(void)state;
	if (read_cpu("host", &src, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(xst_caps_native(&native), XST_OK);
	assert_int_equal(src.caps.xcr0, native.xcr0);
	assert_int_equal(src.caps.xss, native.xss);
	assert_string_equal(src.caps.brand, native.brand);
	assert_memory_equal(src.caps.comp, native.comp, sizeof(native.comp));
	/* What the OS enabled is legal, or XSETBV would have refused it. */
	if (src.enabled_known)
		assert_int_equal(xst_xcr0_check(src.xcr0_enabled, src.caps.xcr0, NULL), XST_OK);
}

#define T(name) cmocka_unit_test_teardown(name, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(cpuid_r), T(line_ends), T(cpus_that_disagree_are_remarked), T(damaged_lines),
		T(nul_bytes), T(aida), T(libcpuid),
#ifdef HAVE_JANSSON
		T(firecracker), T(our_json), T(formats_agree),
#endif
		T(files), T(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
