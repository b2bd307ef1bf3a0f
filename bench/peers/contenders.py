# SPDX-License-Identifier: Apache-2.0
"""The contenders: how each is started with its best settings, and what came of a launch.

A contender has one or more variants, which are sets of settings, the most promising one first: the
first round tries all of them, and for each case the best one stays in the race.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field

# MPI's temporary buffers: kept for the next call, and on huge pages. Without that they are new
# memory in every call, which makes large reductions several times slower.
KEEP_MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:"
                                 "glibc.malloc.trim_threshold=4294967296:"
                                 "glibc.malloc.top_pad=268435456"}

MPICH_SETTINGS = {
    **KEEP_MEMORY,
    "MPIR_CVAR_BCAST_INTRANODE_BUFFER_TOTAL_SIZE": "1048576",
    "MPIR_CVAR_REDUCE_INTRANODE_BUFFER_TOTAL_SIZE": "1048576",
    "MPIR_CVAR_BCAST_INTRANODE_NUM_CELLS": "4",
    "MPIR_CVAR_REDUCE_INTRANODE_NUM_CELLS": "4",
    "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM": "pairwise",
    "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "pairwise",
    "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "0",  # collectives in shared memory from the first call
}
# It has no setting that makes it yield; this is the least bad with more ranks than cores.
MPICH_CROWDED = {"MPIR_CVAR_REQUEST_POLL_FREQ": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}

OPENMPI_EAGER = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader",
                 "--mca", "btl_vader_single_copy_mechanism", "cma",
                 "--mca", "btl_vader_eager_limit", "65536",
                 "--mca", "btl_vader_max_send_size", "131072"]
OPENMPI_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any",
               "--mca", "pml_ucx_devices", "any", "-x", "UCX_TLS=posix,cma,self"]
OPENMPI_SM = ["--mca", "coll_sm_priority", "95"]
# Where one fixed algorithm can beat the choice that it makes by itself.
OPENMPI_ALGORITHMS = {"all_reduce": ("segmented ring", "coll_tuned_allreduce_algorithm", "5"),
                      "reduce_scatter": ("butterfly", "coll_tuned_reduce_scatter_block_algorithm",
                                         "4")}

# Gloo's algorithm objects; there are none for the other operators.
GLOO_OBJECTS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast")

GRACE = 5.0  # seconds between asking a launch to end and killing it


@dataclass(frozen=True)
class Variant:
    """A set of settings. `words` go to the launcher, `options` to the program."""

    name: str
    words: tuple = ()
    options: tuple = ()
    environment: dict = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Case:
    """What a launch measures, at several sizes."""

    op: str
    ranks: int
    mode: str  # "sync" or "queued"
    queue: int  # calls before the results are needed


def openmpi_variants(case, cores):
    sets = {"eager": OPENMPI_EAGER}
    if case.ranks > cores:  # it yields by itself; sm does not
        place = ["--oversubscribe", "--bind-to", "none"]
        sets["default"] = []
    else:
        place = ["--bind-to", "core"]
        sets["sm"] = [*OPENMPI_EAGER, *OPENMPI_SM]
        sets["ucx"] = OPENMPI_UCX
    if case.op in OPENMPI_ALGORITHMS:
        name, parameter, value = OPENMPI_ALGORITHMS[case.op]
        sets[name] = [*OPENMPI_EAGER, "--mca", "coll_tuned_use_dynamic_rules", "1",
                      "--mca", parameter, value]
    return [Variant(name, (*place, *words), environment=KEEP_MEMORY)
            for name, words in sets.items()]


def mpich_variants(case, cores):
    if case.ranks > cores:
        return [Variant("crowded", options=("--thread-multiple",),
                        environment={**MPICH_SETTINGS, **MPICH_CROWDED})]
    return [Variant("tuned", ("-bind-to", "core"), environment=MPICH_SETTINGS)]


def gloo_variants(case, cores):
    functions = Variant("functions" if case.op != "reduce_scatter" else "objects")
    if case.op not in GLOO_OBJECTS or case.ranks > cores:
        return [functions]
    return [Variant("busy poll", options=("--busy-poll",)), functions]


def weft_variants(case, cores):
    if case.ranks > cores:
        return [Variant("default")]
    return [Variant("bound", options=("--bind",)), Variant("default")]


VARIANTS = {"weft": weft_variants, "openmpi": openmpi_variants, "mpich": mpich_variants,
            "gloo": gloo_variants}
NAMES = {"weft": "weft", "openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo"}
LAUNCHERS = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich"}


def parse_size(text):
    """Bytes: "8", "64K", "1M", powers of 1024."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    text = text.strip().upper().removesuffix("IB").removesuffix("B")
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


class Launcher:
    """Runs the programs. `peers` is the folder with peer_openmpi and the like."""

    def __init__(self, weft, peers, min_time, timeout):
        self.weft = pathlib.Path(weft)
        self.peers = pathlib.Path(peers)
        self.min_time = min_time
        self.timeout = timeout
        self.cores = len(os.sched_getaffinity(0))

    def program(self, contender):
        return self.weft if contender == "weft" else self.peers / f"peer_{contender}"

    def missing(self, contender):
        """Why the contender cannot run, or nothing."""
        program = self.program(contender)
        if not os.access(program, os.X_OK):
            return f"{program} is not there"
        launcher = LAUNCHERS.get(contender)
        if launcher and not shutil.which(launcher):
            return f"{launcher} is not there"
        return ""

    def version(self, contender):
        commands = {"openmpi": ["mpirun.openmpi", "--version"],
                    "mpich": ["mpirun.mpich", "--version"],
                    "gloo": ["dpkg-query", "--show", "libgloo-dev"]}
        if contender == "weft":
            here = pathlib.Path(__file__).resolve().parent
            commit = first_output(["git", "-C", str(here), "describe", "--always", "--dirty"])
            return f"weft {commit.strip()}".strip()
        numbers = re.findall(r"\b\d+\.[\w.~+-]*\d", first_output(commands[contender]))
        return f"{NAMES[contender]} {numbers[0] if numbers else ''}".strip()

    def variants(self, contender, case):
        return VARIANTS[contender](case, self.cores)

    def run(self, contender, variant, case, sizes):
        """One sample for every size; blocks, but never for longer than the time-outs allow."""
        if contender == "weft":
            return [self.run_weft(variant, case, size) for size in sizes]
        samples = []
        left = list(sizes)
        while left:
            rows, fault = self.run_peer(contender, variant, case, left)
            samples += [row_to_sample(size, row) for size, row in zip(left, rows)]
            left = left[len(rows):]
            if left:
                samples.append({"bytes": left.pop(0), "fault": fault or "no result"})
            if fault == "timed out":  # larger sizes would too
                samples += [{"bytes": size, "fault": "not tried after a time-out"} for size in left]
                left = []
        return samples

    def run_weft(self, variant, case, size):
        words = [self.weft, "bench", case.op, "-n", case.ranks, "-b", size, "-e", size,
                 "--queue", case.queue, "--min-time", self.min_time, "--timeout", self.timeout,
                 "--json", *variant.options]
        code, out, err = run_program(words, {}, self.timeout + GRACE)
        try:
            document = json.loads(out)
        except ValueError:
            return {"bytes": size, "fault": describe(code, err)}
        if document["results"]:
            return row_to_sample(size, document["results"][0])
        error = document.get("error", describe(code, err))
        return {"bytes": size, "fault": "timed out" if "no progress" in error else error}

    def run_peer(self, contender, variant, case, sizes):
        with tempfile.TemporaryDirectory(prefix="weft-peers-", dir=memory_folder()) as folder:
            words = [*self.start_words(contender, variant, case, folder), "--op", case.op,
                     "--sizes", ",".join(map(str, sizes)), "--queue", case.queue,
                     "--min-time", self.min_time, "--timeout", self.timeout,
                     "--team", f"{folder}/team", *variant.options]
            limit = len(sizes) * self.timeout + GRACE
            # What a library leaves behind goes with the folder, and is memory, not a disk.
            environment = {**variant.environment, "TMPDIR": folder,
                           "OMPI_MCA_btl_vader_backing_directory": folder}
            code, out, err = run_program(words, environment, limit)
        return parse_rows(out), "" if code == 0 else describe(code, err)

    def start_words(self, contender, variant, case, folder):
        program = self.program(contender)
        if contender == "gloo":
            store = pathlib.Path(folder) / "store"
            store.mkdir()
            return [program, "--ranks", case.ranks, "--store", store]
        words = [LAUNCHERS[contender], "-np", case.ranks, *variant.words]
        if contender == "openmpi" and os.geteuid() == 0:
            words.append("--allow-run-as-root")
        return [*words, program]


def memory_folder():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run_program(words, environment, limit):
    """Exit code, output and errors; a program that is not done after `limit` seconds is ended."""
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", env={**os.environ, **environment},
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        return -signal.SIGALRM, *end(process)
    except BaseException:
        end(process)
        raise


def end(process):
    """Its output and errors. A launcher that is asked to end can tidy up; ranks end with it."""
    process.terminate()
    try:
        return process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


def describe(code, err):
    """A fault in a few words."""
    if code in (-signal.SIGALRM, 128 + signal.SIGALRM) or "Alarm clock" in err:
        return "timed out"
    lines = [line.strip() for line in err.splitlines() if line.strip(" -=")]
    detail = f": {lines[0][:160]}" if lines else ""
    return f"failed ({code}){detail}"


def parse_rows(text):
    """The lines of JSON; a program that was ended may have left a part of one."""
    rows = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            rows.append(json.loads(line))
    return [row for row in rows if isinstance(row, dict)]


def row_to_sample(size, row):
    sample = {"bytes": size, "real_bytes": row["bytes"]}
    for key in ("min_us", "median_us", "max_us", "batches", "calls_per_batch"):
        sample[key] = row[key]
    sample["way"] = row.get("way") or row.get("algorithm")
    if row["wrong"]:
        sample["fault"] = f"{row['wrong']} wrong elements"
    return sample


def first_output(words):
    """What a program prints, or nothing."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=20, check=False).stdout
    except OSError:
        return ""
