#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The commands of docs/measuring.md for many hosts, run as they stand there against this host: GNU
parallel, parallel over ssh, a Slurm array. What cannot be started here is skipped, and said."""
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

XSTATE = os.path.abspath(sys.argv[1])
WHAT = sys.argv[2]
DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "measuring.md")
SKIP = 77


def commands(name):
    """The block behind <!-- fleet: NAME --> in the document."""
    with open(DOC) as f:
        found = re.search(rf"<!-- fleet: {name} -->\n```sh\n(.*?)```", f.read(), re.S)
    if not found:
        sys.exit(f"docs/measuring.md has no block {name}")
    return found.group(1)


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(folder, script, runs, env=None):
    """The block as it is, but for how long it measures; the hosts are this one."""
    script = script.replace("-t 5m", "yield/thread pipe/thread -t 2s")
    r = subprocess.run(["bash", "-euc", script], cwd=folder, capture_output=True, text=True, timeout=120,
                       env={**os.environ, "PATH": os.path.dirname(XSTATE) + ":" + os.environ["PATH"],
                            **(env or {})})
    if r.returncode:
        sys.exit(f"exit {r.returncode} of:\n{script}\n{r.stdout}{r.stderr}")
    with open(os.path.join(folder, "merged.json")) as f:
        doc = json.load(f)
    assert doc["schema"] == "xstate.merge/1" and doc["runs"] == runs, doc
    assert doc["hosts"] == 1, "runs of one boot are one host"
    assert os.path.getsize(os.path.join(folder, "report.html")) > 10000
    return r


def hosts(folder, *names):
    with open(os.path.join(folder, "hosts"), "w") as f:
        f.write("".join(n + "\n" for n in names))


def local(folder):
    if not shutil.which("parallel"):
        skip("no GNU parallel here")
    hosts(folder, ":")
    run(folder, commands("parallel"), 1)


def start(folder, *argv, **kw):
    with open(os.path.join(folder, os.path.basename(argv[0]) + ".log"), "w") as log:
        return subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True, **kw)


def ssh(folder):
    sshd = shutil.which("sshd") or "/usr/sbin/sshd"
    if not shutil.which("parallel") or not shutil.which("ssh") or not os.path.exists(sshd):
        skip("no GNU parallel, ssh or sshd here")
    port = free_port()
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(folder, key)],
                       check=True)
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    shutil.copy(os.path.join(folder, "user.pub"), os.path.join(folder, "keys"))
    with open(os.path.join(folder, "sshd_config"), "w") as f:
        f.write(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nStrictModes no\n"
                f"AuthorizedKeysFile {folder}/keys\nUsePAM no\nPermitRootLogin prohibit-password\n"
                f"PidFile {folder}/pid\nSetEnv PATH={os.path.dirname(XSTATE)}:/usr/bin:/bin\n")
    daemon = start(folder, sshd, "-D", "-e", "-f", os.path.join(folder, "sshd_config"))
    try:
        reach = ["ssh", "-i", os.path.join(folder, "user"), "-p", str(port), "-o", "BatchMode=yes",
                 "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known",
                 "-o", "LogLevel=ERROR"]
        for _ in range(50):
            r = subprocess.run([*reach, "127.0.0.1", "true"], capture_output=True, text=True)
            if r.returncode == 0:
                break
            time.sleep(0.1)
        else:
            with open(os.path.join(folder, "sshd.log")) as f:
                skip(f"sshd lets nobody in: {r.stderr.strip()} {f.read()[-300:]}")
        hosts(folder, f"{getpass.getuser()}@127.0.0.1")
        run(folder, commands("parallel"), 1, {"PARALLEL_SSH": " ".join(reach)})
    finally:
        daemon.terminate()
        daemon.wait()


SLURM = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={port}
SlurmdPort={port2}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


def slurm(folder):
    for tool in ("slurmctld", "slurmd", "sbatch", "sinfo"):
        if not shutil.which(tool) and not os.path.exists("/usr/sbin/" + tool):
            skip(f"no {tool} here")
    host = socket.gethostname().split(".")[0]
    for d in ("state", "spool"):
        os.mkdir(os.path.join(folder, d))
    conf = os.path.join(folder, "slurm.conf")
    with open(conf, "w") as f:
        f.write(SLURM.format(host=host, user=getpass.getuser(), folder=folder, port=free_port(),
                             port2=free_port()))
    env = {**os.environ, "SLURM_CONF": conf,
           "PATH": os.path.dirname(XSTATE) + ":" + os.environ["PATH"] + ":/usr/sbin"}
    daemons = [start(folder, shutil.which("slurmctld", path=env["PATH"]), "-D", "-f", conf, env=env),
               start(folder, shutil.which("slurmd", path=env["PATH"]), "-D", "-f", conf, "-N", host, env=env)]
    try:
        for _ in range(100):
            r = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, env=env)
            if r.stdout.strip() in ("idle", "mixed"):
                break
            time.sleep(0.2)
        else:
            said = ""
            for name in ("slurmctld.log", "slurmd.log"):
                path = os.path.join(folder, name)
                if os.path.exists(path):
                    with open(path) as f:
                        said += " | ".join(f.read().splitlines()[-4:])
            skip(f"Slurm does not come up here: {r.stdout.strip()} {r.stderr.strip()} {said[-600:]}")
        # The node has one CPU, so the two tasks come one after the other.
        script = commands("slurm").replace("--array=1-40", "--array=1-2").replace(" --exclusive", "")
        run(folder, script, 2, env)
    finally:
        for d in daemons:
            d.terminate()
            d.wait()


with tempfile.TemporaryDirectory() as folder:
    {"parallel": local, "ssh": ssh, "slurm": slurm}[WHAT](folder)
print("ok")
