// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate: the command. It only finds the verb; each verb is a file of its own.
 *
 *   main.c           this map, the verbs, --version
 *   cmd.h            the verbs' functions
 *   cmd_cpu.c        xstate cpu: its options; the answers are in cpu/
 *   cmd_image.c      xstate image: decode an image, will it restore, move it (image/)
 *   cmd_lab.c        xstate lab: boot the lab and compare switching policies
 *   cmd_bench.c      xstate bench: what instructions and switches cost here (cmd_bench.h);
 *                    cmd_bench_insn.c and so on, one for each of its verbs
 *   cmd_lint.c       xstate lint: in-kernel FPU use, checked in the binary (lint/)
 *   cmd_record.c     xstate record: record a workload's switches and FPU events
 *   cmd_sim.c        xstate sim: replay a recorded workload under every policy (sim/)
 *   cmd_report.c     xstate report: one page from results (report/)
 *
 *   lab/             running the lab
 *     experiment.h   the experiments
 *     machine.h      emulators, their versions and command lines
 *     rom.h          the image and its arguments
 *     run.h          many boots, a few at a time
 *     result.h       what a boot said, and the verdict on it
 *     print.h        table and JSON
 *     words.h        what the counts mean
 *     list.h         xstate lab list
 *
 *   lint/            in-kernel FPU use, checked in the binary
 *     object.h       an object file (object.c): sections and relocations (sections.c),
 *                    functions (symbols.c), archives (archive.c), packed files (unpack.c),
 *                    the kernel's tables about its code (tables.c), the symbols inside a
 *                    stripped kernel (kallsyms.c)
 *     decode.h       instructions: by Zydis (decode.c), lengths of common ones (fast.c),
 *                    those newer than Zydis (unknown.c)
 *     sweep.h        one pass over all functions
 *     env.h          which registers and stack slots hold the same value: moves (env.c),
 *                    comparisons (env_compare.c), where paths meet (env_join.c)
 *     graph.h        who calls whom and asks what (graph.c), what is wrong (check.c)
 *     flow.h         one function path by path (flow.c): its code (flow_code.c), what it
 *                    does to the protocol (flow_protocol.c)
 *     conf.h         profiles and xstate-lint.conf
 *     rules.def      the rules; finding.h: findings and baselines
 *     run.h          many files in one run (run.c), source lines (lines.c), summaries
 *                    (rows.c), text (print.c), JSON and SARIF (print_json.c)
 *     wanted.h       which of many objects are kept
 *
 *   sim/             a recorded workload under every policy
 *     rec.h          a trace as records of 16 bytes; rec_out.h: on their way out
 *     slots.h        from events to records: what Linux does, seen or not (programs.def: what
 *                    a program's name tells; tasks.h: numbers for tasks; pool.h, slots_pool.c:
 *                    when Linux's random pool takes the registers)
 *     lane.h         one policy: the engine in the counting world; lane_state.h: its state, out
 *                    and in (lane_own.h: inside)
 *     memo.h         what the engine does, remembered: the short path (memo_run.h), the others
 *                    (memo.c), what is learned (memo_table.c, memo_own.h), begin and end
 *                    (memo_settle.c); quick.h: the same for one policy alone
 *     machine.h      who runs where; reserve.h: tables that grow in place
 *     replay.h       records checked, summed up, and given to all lanes (replay.c, replay_own.h); where
 *                    pieces of a trace meet (replay_keep.c, kept.h; fnv.h)
 *     run.h          one trace from its bytes to its result; state.h: the file of --state
 *     synth.h        a workload that is made up
 *     costs.h        prices as ranges (costs.def: those built in)
 *     even.h         the classic formula of the break-even
 *     hypothesis.h   what if
 *     load.h         results of ours are read
 *     result.h       sums over traces (result.c), as text (print.c), in words (words.c), as JSON
 *                    (json.c)
 *
 *   record/          xstate record
 *     perf.h         by perf; stop.h: signals that end a recording
 *     bpf.h          without perf: loads programs into the kernel and takes their events
 *     events.bpf.c   these programs; event.h: what both sides know
 *
 *   report/          the page
 *     report.h       its parts, in order: part_*.c
 *     chart.h        charts as SVG
 *     html.h         text into HTML, tables; style.css and script.js are built in
 *
 *   ui/              manners, shared by all verbs
 *     ui.h           settings, errors and exit statuses, colours
 *     opt.h          options, help texts, verbs (opt.c); values (value.c)
 *     table.h        tables for people
 *     json.h         the JSON writer
 *     number.h       numbers and ranges in words
 *     csv.h          cells of CSV
 *     progress.h     the progress bar
 *     outfile.h      result files: all of it or nothing
 *     utf8.h         text that may hold anything
 *
 *   cpu/             what a CPU has (cpu.h declares the parts)
 *     show.c         one CPU in full, many in rows, JSON
 *     findings.c     caveats with their evidence
 *     inforce.c      XCR0 and IA32_XSS in force, from the sums in CPUID
 *     diff.c         two CPUs: may A's state be restored on B
 *     baseline.c     what N machines share
 *     leaves.c       leaf 0DH for a guest profile; the audit
 *     header.c       the layout as a C header
 *     footprint.c    what state costs in memory; slab.h: how Linux packs objects
 *     words.c        names and small numbers
 *
 *   stats/           paired comparisons and their error bars
 *     plan.h         order and placement, from one seed
 *     run.h          the loop over blocks
 *     samples.h      what it yields; series made from it
 *     series.h       trimmed mean, bootstrap, interval
 *     load.h         what else the machine did meanwhile
 *     gate.h         may this run decide anything?
 *
 *   bench/           the engines of xstate bench
 *     snip.def       the pieces of machine code (snip.c)
 *     code.h         loops generated at any address
 *     state.h        images of live state, save areas
 *     rig.h          one CPU, its clock, one slice
 *     controls.h     arms of known effect, canaries
 *     session.h      one run: plan, samples, verdict (session.c, session_out.c)
 *     rows.h         what bench insn measures
 *     insn.h         one run of it (insn.c), as JSON (insn_json.c), as tables (insn_print.c)
 *     section.h      one run of bench kernel (section.c, section_out.c, section_user.c)
 *     fiber.h        one run of bench fiber (fiber.c, fiber_out.c)
 *     library.h      the engine in user mode, with two tasks
 *     peers.h        what programs switch stacks with today (peers.c, hand.S)
 *     switch.h       one run of bench switch (switch.c, switch_out.c)
 *     pair.h         two tasks that switch to each other; turn.h: what they do in between
 *     beside.h       somebody else's benchmark in the same blocks
 *     against.h      an older run beside this one
 *     merge.h        many hosts' runs pooled (merge.c), as text and JSON (merge_out.c)
 *     counters.h     hardware counters
 *     machine.h      the facts every result carries
 *
 *   read/            input formats, one file each
 *     cpu.h          "CPU" on a command line: host, dump or our JSON (cpu.c, host.c)
 *     cpuid_r.c      cpuid -r
 *     instlatx64.c   InstLatx64 and AIDA64
 *     libcpuid.c     libcpuid raw
 *     cpu_json.c     Firecracker's JSON and our own
 *     image.h        files that hold extended state: which kind, and their threads (image.c)
 *     raw.c          XSAVE and FXSAVE images
 *     kvm.c          KVM_GET_XSAVE and KVM_GET_XSAVE2
 *     sigframe.c     signal frames
 *     elfcore.c      ELF cores
 *     criu.c         CRIU core images (criu.proto)
 *     results.h      our own results; what they must have (results_check.c, results_sim.c); in SQLite
 *                    (results_db.c)
 *     trace.h        traces of a scheduler: bytes and their format (trace_input.c), text of
 *                    perf script and ftrace (trace_text.c; trace_line.h: a line of it,
 *                    trace_scan.h: the bytes of a line), trace-cmd's (trace_dat.c), perf's
 *                    (trace_perf_data.c); trace_apart.h: in a process of its own
 *     trace_compact.h  the same as our own records, read and written
 *     file.h         a whole file, with a limit
 */
#include <string.h>

#include "cmd.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/ui.h"

static int cmd_version(int argc, char **argv);

/* Verbs that exist, in the order a newcomer meets them. */
static const struct opt_verb verbs[] = {
	{ "cpu", "what this or that CPU has, where, how big", cmd_cpu },
	{ "image", "what is in this image, will it restore there, and move it", cmd_image },
#ifdef HAVE_JANSSON
	{ "lab", "eager or lazy? Boot a small kernel on emulated CPUs and count", cmd_lab },
#endif
#ifdef HAVE_BENCH
	{ "bench", "what saving, restoring and switching cost on this host", cmd_bench },
#endif
	{ "lint", "FPU use outside its sections, found in the binary of a kernel or module", cmd_lint },
#ifdef HAVE_SIM
	{ "record", "record the switches and FPU events of a workload", cmd_record },
	{ "sim", "replay a recorded workload under every policy: eager or lazy for you?", cmd_sim },
#endif
#ifdef HAVE_JANSSON
	{ "report", "one page from results: policies, costs, effects, and how sure", cmd_report },
#endif
	{ "version", NULL, cmd_version },
	{ NULL, NULL, NULL },
};

static const struct opt options[] = {
	{ 1, 'V', "version", NULL, "print the version" },
	{ 0 },
};

static const struct opt_usage usage = {
	.cmd = "xstate",
	.summary = "the x86 extended state (FPU, SSE, AVX, AVX-512, PKRU, CET, AMX) with evidence",
	.synopsis = "COMMAND ...",
	.about = "Every command has its own --help. Exit status: 0 yes or done, 1 the verdict is no,\n"
		 "2 wrong usage or unreadable input, 3 this machine cannot do it.\n",
	.opts = options,
	.examples = "xstate lab run        eager or lazy? Boot a small kernel and count, a minute\n"
		    "xstate lab --help     what the lab can do\n",
};

static int cmd_version(int argc, char **argv)
{
	struct jw w;

	(void)argc;
	(void)argv;
	if (!ui.json) {
		printf("xstate %s\n", XSTATE_VERSION);
		return UI_OK;
	}
	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.version/1");
	jw_string(&w, "version", XSTATE_VERSION);
	jw_end(&w);
	jw_finish(&w);
	return UI_OK;
}

int main(int argc, char **argv)
{
	opt_scan_common(argc, argv);
	return ui_flush(opt_dispatch(&usage, verbs, argc, argv));
}
