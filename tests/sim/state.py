#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The file of --state: state.py state XSTATE SOURCE. What is damaged is refused, what fails does not move it on, and
whatever is in it nothing crashes."""
import json
import os
import random
import shutil
import struct
import subprocess

from common import DATA, XSTATE, at, check, counts, error, run, run_part, sim, tmp

HEAD = struct.Struct("=8s24sQIIIIQQQII")


def pieces(name, cut, *args):
    r = run("sim", "-q", "--save", at(name), "--cut", str(cut), *args)
    check(r.returncode == 0, f"--cut: {r.stderr}")
    return [at(f"{name}.{k}") for k in range(sum(f.startswith(name + ".") for f in os.listdir(tmp.name)))]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def summed(body):
    """With the checksum that belongs to it: FNV-1a."""
    h = 0xcbf29ce484222325
    for b in body:
        h = (h ^ b) * 0x100000001b3 % (1 << 64)
    return bytes(body) + h.to_bytes(8, "little")


def go_on(data, piece, *args):
    """A run from this state: it never crashes; what it refuses is left as it is."""
    write(at("x.st"), data)
    r = run("sim", "-j", "-q", "--state", at("x.st"), piece, *args)
    check(r.returncode in (0, 2), f"exit {r.returncode} from a state that was changed: {r.stderr}")
    check(r.returncode == 0 or read(at("x.st")) == data, "a state that is refused was changed")
    return r


def damaged(state, piece, rng):
    """No byte may be another, missing or too many."""
    places = [*range(HEAD.size), len(state) - 1, len(state) - 8, *(rng.randrange(len(state)) for _ in range(100))]
    for i in places:
        bad = bytearray(state)
        bad[i] ^= 1 << rng.randrange(8)
        r = go_on(bytes(bad), piece)
        check(r.returncode == 2 and r.stderr.count(b"\n") == 1 and (b"not a state" in r.stderr or b"checksum" in r.stderr),
              f"byte {i} turned: exit {r.returncode}, {r.stderr}")
    for bad in state + b"\0", state + state, state + rng.randbytes(900), state[:-1], state[:200], state[:9], b"":
        check(go_on(bad, piece).returncode == 2, f"{len(bad)} bytes instead of {len(state)}")


def made(state, piece, args, rng, tries):
    """With the right checksum anything may be in it."""
    body = bytearray(state[:-8])
    tasks, cpus, lanes = HEAD.unpack_from(body)[4], HEAD.unpack_from(body)[5], HEAD.unpack_from(body)[3]
    refused = 0
    lane = len(body) - lanes * (24 * tasks + 24 * cpus)
    for k in range(tries):
        bad = bytearray(body)
        i = rng.randrange(40, len(bad)) if k % 3 else rng.randrange(lane, len(bad))
        if k % 2:
            bad[i] = rng.choice([0, 1, 2, 3, 4, 5, 9, 0x7f, 0x80, 0xff])
        else:
            i -= i % 4
            bad[i:i + 4] = rng.choice([0, 1, 2, 5, tasks, tasks + 1, cpus, 4095, 4096, 1 << 31, (1 << 32) - 1,
                                       (1 << 32) - 2]).to_bytes(4, "little")
        refused += go_on(summed(bad), piece, *args).returncode == 2
    print(f"{refused} of {tries} refused")
    check(refused > tries // 4, f"only {refused} of {tries} states were refused")
    # In its right place, and still nothing of a trace.
    for what, i, value in ("a task beyond the last", 0, tasks + 1), ("a task nobody has", 0, 1 << 31):
        bad = bytearray(body)
        at_cpu = lane - 16 * cpus
        bad[at_cpu + i:at_cpu + i + 4] = value.to_bytes(4, "little")
        error(run_with(summed(bad), piece, *args), 2, "contradicts itself", what)
    error(run_with(summed(body + b"\0" * 24), piece, *args), 2, "contradicts itself", "more than all of it")
    check(go_on(summed(body), piece, *args).returncode == 0, "the sum is another")


def run_with(data, piece, *args):
    write(at("x.st"), data)
    return run("sim", "--state", at("x.st"), piece, *args)


def state():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    text = os.path.join(DATA, "build.perf.txt.xz")
    real, synthetic = pieces("p", 150, text), pieces("s", 400, "--synthetic", "slots=1500,tasks=7,cpus=3,use=0.6,idle=0.2")
    # Every state that comes about is one to go on from: each policy, counted in every way, and its hypotheses.
    for args in [], ["--hypothetical"], ["--programs"], ["--direct"], ["--use", "p=0.4"], \
            ["--policy", "load=use,keep,preload=3,laziest"]:
        for name, parts in ("r", real), ("m", synthetic):
            for piece in parts:
                r = run("sim", "-j", "-q", "--state", at(f"{name}.st"), piece, *args)
                check(r.returncode == 0, f"{args}: {r.stderr}")
                if piece == parts[0]:
                    shutil.copy(at(f"{name}.st"), at(f"{name}{len(args)}.first"))
            os.remove(at(f"{name}.st"))
    first = read(at("r0.first"))
    damaged(first, real[1], rng)
    made(first, real[1], [], rng, 150)
    made(read(at("m0.first")), synthetic[1], [], rng, 60)
    # One of other policies, though they are as many, or of other assumptions.
    for asked, other in (["--policy", "eager"], ["--policy", "laziest"]), (["--use", "all"], ["--use", "none"]), \
            (["--use", "p=0.5"], ["--use", "p=0.5", "--seed", "2"]), ([], ["--programs"]):
        for path in [at("o.st")] * os.path.exists(at("o.st")):
            os.remove(path)
        check(run("sim", "-q", "--state", at("o.st"), real[0], *asked).returncode == 0, f"{asked}")
        error(run("sim", "--state", at("o.st"), real[1], *other), 2, "not a state of these policies and assumptions",
              f"{asked}, then {other}")
    fails(first, real)


def fails(first, real):
    """A run that fails leaves the state as it was, and nothing beside it; one of many traces goes on in itself."""
    write(at("f.st"), first)
    beside = sorted(os.listdir(tmp.name))
    for what, args in [("a piece twice", [real[1], real[1]]), ("nothing behind it", [real[1], at("nowhere")]),
                       ("a hole", [real[1], real[0]])]:
        r = run("sim", "-j", "--state", at("f.st"), *args)
        check(r.returncode == 2 and read(at("f.st")) == first, f"{what}: exit {r.returncode}, and the state was moved on")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            r = subprocess.run([XSTATE, "sim", "--state", at("f.st"), real[1]], stdout=full, stderr=subprocess.PIPE,
                               timeout=60)
        check(r.returncode == 2 and read(at("f.st")) == first, "no room for the answer, and the state was moved on")
    nobody, answer = os.pipe()
    os.close(nobody)
    r = subprocess.run([XSTATE, "sim", "--state", at("f.st"), real[1]], stdout=answer, stderr=subprocess.PIPE, timeout=60)
    os.close(answer)
    check(r.returncode and read(at("f.st")) == first, "nobody read the answer, and the state was moved on")
    check(sorted(os.listdir(tmp.name)) == beside, f"left behind: {set(os.listdir(tmp.name)) - set(beside)}")
    # Where there was none there is none.
    check(run("sim", "--state", at("new.st"), real[0], real[0]).returncode == 2 and not os.path.exists(at("new.st")),
          "a run that failed began a state")
    error(run("sim", "--state", "-", real[0]), 2, "--state wants a file", "--state -")
    # All pieces in one run are the whole; what is left is the same as after one run for each.
    r = run("sim", "-j", "--state", at("all.st"), *real)
    check(r.returncode == 0, f"all pieces: {r.stderr}")
    [whole] = sim(os.path.join(DATA, "build.perf.txt.xz"))
    check(counts(json.loads(r.stdout)) == counts(whole), "all pieces in one run are not the whole")
    for piece in real:
        sim("--state", at("one.st"), piece)
    check(read(at("one.st")) == read(at("all.st")), "one run for each piece leaves another state")
    check(sorted(os.listdir(tmp.name)) == sorted(beside + ["all.st", "one.st"]), "something is beside the state")


run_part({"state": state})
