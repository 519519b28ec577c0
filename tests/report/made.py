# SPDX-License-Identifier: BSD-2-Clause
"""Made results with known truth, of the shape that xstate writes; names in them are hostile."""
import math
import os
import random
import re

HOSTILE = "<script>boom()</script>&\"'\u202e"


def machine(model=207, cpu="Made CPU " + HOSTILE):
    return {"cpu": cpu, "vendor": "GenuineIntel", "family": 6, "model": model, "stepping": 2,
            "microcode": "0x1", "kernel": "6.1.0 " + HOSTILE, "hypervisor": None, "cpus": 2,
            "date": "2024-06-01T00:00:00Z", "tsc_hz": 2e9, "tsc_invariant": True,
            "clocksource": "tsc", "mitigations": {}}


def head(kind, rng, cpu=None, model=207):
    controls = [{"name": name, "truth_percent": t, "read_percent": t + 0.01, "low_percent": t - 0.05,
                 "high_percent": t + 0.07, "mde_percent": 0.09, "lag1": 0.1, "blocks": 500,
                 "found": True} for name, t in (("A/A", 0), ("dose 1", 0.2), ("dose 2", 0.4))]
    noise = {"throughput_spread_percent": 1.5, "latency_spread_percent": 0.5, "dropped_percent": 1,
             "steal_cpus": 0.001, "waiting_percent": 0.1, "others_cpus": 0.1, "lag1": 0.1}
    limits = {"throughput_spread_percent": 10, "latency_spread_percent": 5, "dropped_percent": 10,
              "steal_cpus": 0.02, "waiting_percent": 2, "others_cpus": 0.25, "lag1": 0.6}
    return {"schema": "xstate.bench/1", "kind": kind,
            "machine": machine(model, cpu) if cpu else machine(model), "seed": rng.randrange(1 << 32),
            "blocks_planned": 300, "blocks_done": 300, "complete": True, "cycles_per_tick": 1.3,
            "controls": controls, "noise": noise, "noise_limits": limits, "claim": None}


def samples(rng, names):
    return {"cycles_per_tick": [1.3] * 300,
            "arms": [{"name": n, "loops": 100, "dropped_blocks": [7],
                      "ticks": [round(rng.gauss(320000, 6000)) for _ in range(300)]} for n in names]}


def pair_row(how, who, touch, both, log, se):
    row = {"id": f"{how}/{who}/{touch}" + ("" if touch == "none" else "/both" if both else "/one"),
           "how": how, "who": who, "touch": touch, "both": both,
           "base": None if touch == "none" else f"{how}/{who}/none", "available": True, "reason": None,
           "median_ns_per_loop": 1600 * math.exp(log), "low_quartile_ns_per_loop": 1500,
           "high_quartile_ns_per_loop": 1700, "median_cycles_per_loop": 4800, "loops_in_2_s": 1.25e6,
           "will_it_scale_per_s": 1.25e6, "switches_per_loop": 2, "switches_per_s": 1.25e6,
           "blocks": 300}
    if touch != "none":
        row |= {"effect_percent": 100 * math.expm1(log), "low_percent": 100 * math.expm1(log - 2 * se),
                "high_percent": 100 * math.expm1(log + 2 * se), "mde_percent": 280 * se,
                "log_ratio": log, "log_ratio_se": se, "extra_cycles_per_loop": 4800 * log,
                "low_extra_cycles_per_loop": 0, "high_extra_cycles_per_loop": 1, "pairs": 300}
    return row


def switch(rng, truth=None, cpu=None, model=207, se=0.001):
    """truth: touch -> true log-ratio on this host; what is read has an error of se."""
    truth = truth or {"x87": 0.02, "sse": 0.001, "avx": 0.03, "avx512": 0.1}
    doc = head("switch", rng, cpu, model)
    doc["boot"] = f"boot-{rng.randrange(1 << 30)}"
    doc["pairs"] = []
    for how, who in (("yield", "process"), ("pipe", "process"), ("udp", "process")):
        doc["pairs"].append(pair_row(how, who, "none", False, 0, 0))
        for touch, log in truth.items():
            doc["pairs"].append(pair_row(how, who, touch, True, rng.gauss(log, se), se))
    doc["pairs"].append({"id": "yield/process/amx/both", "how": "yield", "who": "process", "touch": "amx",
                         "both": True, "base": "yield/process/none", "available": False,
                         "reason": "no AMX " + HOSTILE})
    doc["beside"] = doc["against"] = None
    doc["samples"] = samples(rng, ["yield/process/none", "control: " + HOSTILE])
    return doc


def kernel(rng):
    doc = head("kernel", rng)
    doc["sections"] = [{"id": "pair/0", "name": "library: nothing declared " + HOSTILE, "way": None,
                        "median_cycles": 12.5}]
    for tag, way in (("xor-avx", "avx"), ("xor-prefetch", "sse with prefetch"), ("xor-sse", "generic sse")):
        for i, ratio in (("none", None), ("section-0", 0.99), ("old-both", 0.61), ("old-ldmxcsr", 0.7)):
            doc["sections"].append({"id": f"{tag}/{i}", "name": i, "way": way, "median_cycles": 400,
                                    "gigabytes_per_second": 20, "throughput_ratio": ratio,
                                    "low_ratio": ratio and ratio - 0.01,
                                    "high_ratio": ratio and ratio + 0.01})
    return doc


def insn(rng):
    doc = head("insn", rng)
    doc["costs"] = [{"id": f"{n.lower()}/{live.lower()}", "instruction": n, "detail": None, "live": live,
                     "median_cycles": c, "median_ns": c / 2.6, "low_quartile_cycles": c - 1,
                     "high_quartile_cycles": c + 1, "low_cycles": c - 0.5, "high_cycles": c + 0.5,
                     "blocks": 300} for live in ("INIT", "SSE", "AVX", "all")
                    for n, c in (("XSAVEC", 120), ("XRSTOR", 140), ("XSAVEC+XRSTOR", 270),
                                 ("FXSAVE+FXRSTOR", 150))]
    doc["costs"].append({"id": "odd", "instruction": HOSTILE, "detail": HOSTILE, "live": "all",
                         "median_cycles": None})
    doc["effects"] = [{"question": "init optimisation of XSAVEC " + HOSTILE, "unit": "percent",
                       "base": "a", "then": "b", "effect": -48, "low": -50, "high": -46, "blocks": 300},
                      {"question": "LDMXCSR", "unit": "cycles", "base": "a", "then": "b", "effect": 0.1,
                       "low": -0.1, "high": 0.3, "blocks": 300}]
    doc["samples"] = samples(rng, ["xsavec/avx x1"])
    return doc


def fiber(rng):
    doc = head("fiber", rng)
    doc["pair"] = "XSAVEC+XRSTOR"
    doc["switches"] = [{"id": n, "name": n, "live": "SSE", "median_cycles": 210 * x, "median_ns": 70 * x,
                        "ratio": x, "low_ratio": x - 0.01, "high_ratio": x + 0.01}
                       for n, x in (("pair", 1), ("library, eager", 1.04), ("by hand", 0.07))]
    return doc


POLICIES = {"eager": (1000, 1000, 0), "lazy": (500, 500, 500), "lazy-keep": (500, 1, 2),
            "deferred": (1000, 1000, 0), "laziest": (0, 1, 2), "auto": (500, 1000, 0)}


def lab():
    results = []
    for experiment in ("yield", "pipe"):
        for m in ("qemu:max", "bochs:tigerlake"):
            for policy, (saves, loads, traps) in POLICIES.items():
                results.append({"experiment": experiment, "policy": policy, "machine": m, "cpus": 1,
                                "status": "ok", "reason": None, "switches": 1000, "saves": saves,
                                "loads": loads, "traps": traps, "instructions_per_switch": 60,
                                "corruptions": 0, "checks": 5000, "leaks_speculatively": False})
    results.append({"experiment": "yield", "policy": "eager", "machine": HOSTILE, "status": "skipped",
                    "reason": "no " + HOSTILE})
    for policy in ("eager", "lazy", "lazy-keep"):
        points = []
        for k in range(17):
            use = k * 1000 // 16
            n = 1000 if policy == "eager" else use
            points.append({"use_per_million": use * 1000, "slots": 1000, "uses": use, "switches": 1000,
                           "saves": n, "loads": n, "traps": 0 if policy == "eager" else use})
        results.append({"experiment": "slots", "policy": policy, "machine": "bochs:tigerlake",
                        "status": "ok", "switches": 17000, "saves": 8000, "loads": 8000, "traps": 1,
                        "checks": 100, "corruptions": 0, "points": points,
                        "break_even": None if policy == "eager" else
                        {"formula_uses_per_million": 428571, "measured_uses_per_million": 430000}})
    return {"schema": "xstate.lab/1", "results": results}


def rng(seed):
    return random.Random(seed)


def sim_names(file, macro):
    """The names that tool/sim lists, X(name), so that a made result has them all."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "tool", "sim", file)) as f:
        body = re.search(rf"#define {macro}\(X\)(.*?[^\\])\n", f.read(), re.S).group(1)
    return re.findall(r"X\((\w+)", body)


SIM_COUNTERS, SIM_TOTALS = sim_names("json.c", "COUNTERS"), sim_names("replay.h", "SIM_TOTALS")


def sim():
    def policy(name, saves, loads, traps, cycles):
        return {"policy": name, "hypothesis": None, **dict.fromkeys(SIM_COUNTERS, 0), "switches": 1000,
                "validations": loads, "saves": saves, "loads": loads, "traps": traps, "cycles_low": cycles, "cycles_high": 1.5 * cycles,
                "cpu_share_low": 0.025, "cpu_share_high": 0.22}
    totals = dict.fromkeys(SIM_TOTALS, 0) | {"traces": 1, "records": 1200, "switches": 1000, "slots": 900,
                                             "user_slots": 900, "live_avx_slots": 900, "used_slots": 819,
                                             "observed_restores": 889}
    return {"schema": "xstate.sim/1", "use": "live", "signals": "auto", "sections": "auto", "seed": 1, "totals": totals,
            "parts": [{"before": "0" * 16, "after": "1" * 16, "more": False, "synthetic": False}],
            "costs": {"source": HOSTILE}, "used_slots_per_million": 910000, "holds": "over-all-prices",
            "break_even": {"formula_low_per_million": 160000, "formula_high_per_million": 430000},
            "verdict": ["Used: " + HOSTILE, "Verdict: eager beats lazy here " + HOSTILE],
            "check": {"predicted_restores": 700, "observed_restores": 889},
            "policies": [policy("eager", 900, 900, 0, 5e5), policy("lazy", 850, 800, 800, 1e6),
                         policy("deferred", 900, 700, 0, 4e5)]}


def merged():
    def group(cpu, hosts, x):
        return {"cpu": cpu, "hosts": hosts, "effect_percent": x, "low_percent": x - 0.3,
                "high_percent": x + 0.3, "next_low_percent": x - 1, "next_high_percent": x + 1,
                "tau_percent": 0.4, "i2_percent": 60, "equal_p": 0.02}
    return {"schema": "xstate.merge/1", "hosts": 20, "rows": [
        {"id": "yield/process/avx512/both", "verdict": "All hosts of a CPU agree; the CPUs differ",
         "between_p": 0.001, "groups": [group("GenuineIntel 6/207 " + HOSTILE, 12, 10.1),
                                        group("AuthenticAMD 25/1", 8, 3.2)]}]}
