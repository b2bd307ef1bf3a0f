# SPDX-License-Identifier: Apache-2.0
"""Samples of launches, put together to times and ratios.

A sample is what one launch of one contender measured for one case and size. The time of a contender
is that of its best variant: the median over the launches of their medians.
"""

import json
import math
import pathlib
import statistics
from dataclasses import dataclass

OPERATORS = ("all_reduce", "reduce_scatter", "reduce", "all_gather", "all_to_all", "broadcast",
             "scatter")
MODES = ("sync", "queued")
REFERENCE_FILE = pathlib.Path(__file__).with_name("reference.json")


@dataclass
class Cell:
    """A contender at one case and size. Times in microseconds; no median if it has a fault."""

    median: float | None = None
    least: float | None = None
    most: float | None = None
    launches: int = 0
    variant: str = ""
    way: str = ""
    fault: str = ""


class Results:
    """All samples of a run; `facts` is what else is known about it."""

    def __init__(self, facts, samples):
        self.facts = facts
        self.samples = samples
        self.groups = {}
        for sample in samples:
            self._group(sample)

    def add(self, sample):
        self.samples.append(sample)
        self._group(sample)

    def _group(self, sample):
        key = tuple(sample[name] for name in ("contender", "op", "ranks", "mode", "bytes"))
        self.groups.setdefault(key, []).append(sample)

    def variants(self, contender, op, ranks, mode, size):
        """A Cell for each variant that was launched."""
        by_name = {}
        for sample in self.groups.get((contender, op, ranks, mode, size), []):
            by_name.setdefault(sample["variant"], []).append(sample)
        return {name: make_cell(name, samples) for name, samples in by_name.items()}

    def cell(self, contender, op, ranks, mode, size):
        """Its best variant without a fault, else one with a fault; nothing if never launched."""
        cells = list(self.variants(contender, op, ranks, mode, size).values())
        good = [cell for cell in cells if not cell.fault]
        return min(good, key=lambda cell: cell.median) if good else next(iter(cells), None)

    def time(self, contender, *case):
        cell = self.cell(contender, *case)
        return cell.median if cell else None

    def peers(self):
        return [name for name in self.facts["contenders"] if name != "weft"]

    def best_peer(self, *case):
        """(name, time) of the fastest one, or nothing."""
        times = [(self.time(peer, *case), peer) for peer in self.peers()]
        fastest = min((pair for pair in times if pair[0] is not None), default=None)
        return (fastest[1], fastest[0]) if fastest else None

    def rival_time(self, rival, *case):
        """`rival` is a contender, "best" (of the peers) or "reference"."""
        if rival == "best":
            best = self.best_peer(*case)
            return best[1] if best else None
        return reference_time(*case) if rival == "reference" else self.time(rival, *case)

    def ratio(self, rival, *case):
        """Time of the rival / time of weft: above 1, weft is faster."""
        theirs, ours = self.rival_time(rival, *case), self.time("weft", *case)
        return theirs / ours if theirs and ours else None

    def rivals(self, mode):
        return [*self.peers(), "best", *(["reference"] if mode == reference()["mode"] else [])]

    def cases(self, op=None, mode=None):
        """(op, ranks, mode, size) of everything that was launched, in order."""
        found = {key[1:] for key in self.groups}
        order = {name: place for place, name in enumerate(OPERATORS)}
        chosen = [case for case in found if op in (None, case[0]) and mode in (None, case[2])]
        return sorted(chosen, key=lambda case: (order.get(case[0], 99), case[0],
                                                MODES.index(case[2]), case[1], case[3]))

    def operators(self):
        return list(dict.fromkeys(case[0] for case in self.cases()))

    def modes(self):
        return [mode for mode in MODES if self.cases(mode=mode)]

    def mean_ratio(self, rival, op, mode):
        """Geometric mean over ranks and sizes, and how many there are."""
        ratios = [self.ratio(rival, *case) for case in self.cases(op, mode)]
        known = [ratio for ratio in ratios if ratio]
        return geometric_mean(known), len(known)

    def faults(self):
        """(contender, variant, case, fault) of each; one line for equal launches."""
        seen = {}
        for sample in self.samples:
            if sample.get("fault"):
                case = (sample["op"], sample["ranks"], sample["mode"], sample["bytes"])
                seen[(sample["contender"], sample["variant"], case, sample["fault"])] = None
        return list(seen)

    def save(self, file):
        samples = ",\n".join(json.dumps(sample) for sample in self.samples)
        text = f'{{"facts": {json.dumps(self.facts)},\n"samples": [\n{samples}\n]}}\n'
        pathlib.Path(file).write_text(text, encoding="utf-8")


def load(file):
    document = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    return Results(document["facts"], document["samples"])


def make_cell(variant, samples):
    fault = next((sample["fault"] for sample in samples if sample.get("fault")), "")
    if fault:
        return Cell(launches=len(samples), variant=variant, fault=fault)
    return Cell(median=statistics.median(sample["median_us"] for sample in samples),
                least=min(sample["min_us"] for sample in samples),
                most=max(sample["max_us"] for sample in samples),
                launches=len(samples), variant=variant, way=samples[-1].get("way") or "")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


_reference = {}


def reference():
    """The published numbers."""
    if not _reference:
        _reference.update(json.loads(REFERENCE_FILE.read_text(encoding="utf-8")))
    return _reference


def reference_time(op, ranks, mode, size):
    numbers = reference()
    row = numbers["times"].get(str(ranks), {}).get(op)
    if mode != numbers["mode"] or row is None or size not in numbers["sizes"]:
        return None
    return row[numbers["sizes"].index(size)][0]
