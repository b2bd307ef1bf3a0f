#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures weft and its peers in turns and writes tables and a report. See docs/performance.md;
scripts/compare builds what is needed first."""

import argparse
import datetime
import os
import pathlib
import platform
import signal
import sys
import time

from contenders import NAMES, Case, Launcher, VARIANTS, parse_size
from html_report import html_report
from results import MODES, OPERATORS, Results, load
from tables import cell_text, markdown_report, size_text, text_report

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- comparison: begin -->", "<!-- comparison: end -->"

FULL = {"ranks": [2, 4, 8], "sizes": "8,1K,8K,64K,1M,16M,64M", "rounds": 3, "min_time": 0.2,
        "timeout": 60, "queued_up_to": "1M", "time": 0, "settings": "all"}
QUICK = {"ranks": [2, 4], "sizes": "8,8K,64K,1M,16M", "rounds": 2, "min_time": 0.03, "timeout": 10,
         "queued_up_to": "8K", "time": 150, "settings": "first"}
SLOW_BATCH_US = 500_000  # calls that take as long are measured in the first round only


def words(text):
    return [word.strip() for word in text.split(",") if word.strip()]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="scripts/compare", description=(
        "Measures weft and other libraries side by side, in turns, and checks their results. "
        "Writes table.txt, table.md, report.html and results.json."))
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer sizes and ranks: under 3 minutes")
    add("--out", default=str(ROOT / "build" / "compare"), help="folder to write to (%(default)s)")
    add("--ops", type=words, default=list(OPERATORS), help="a,b,... (all)")
    add("--ranks", type=lambda text: [int(each) for each in words(text)], help="a,b,... (2,4,8)")
    add("--sizes", type=words, help=f"a,b,... ({FULL['sizes']})")
    add("--modes", type=words, default=list(MODES), help="sync,queued (both)")
    add("--contenders", type=words, default=list(VARIANTS), help=f"{','.join(VARIANTS)} (all)")
    add("--rounds", type=int, help=f"launches of each case ({FULL['rounds']})")
    add("--queue", type=int, default=20, help="calls that are queued (%(default)s)")
    add("--queued-up-to", help=f"largest size of queued calls ({FULL['queued_up_to']})")
    add("--min-time", type=float, help=f"seconds of calls of a size ({FULL['min_time']})")
    add("--timeout", type=int, help=f"seconds for a size ({FULL['timeout']})")
    add("--time", type=float, help="start no launches after so many seconds (no limit)")
    add("--settings", choices=("all", "first"),
        help="try all settings of each library, or its most promising ones (all)")
    add("--from", dest="source", help="a results.json of before: measure nothing")
    add("--write-docs", action="store_true", help=f"put the table into {DOCS.relative_to(ROOT)}")
    add("--weft", default=str(ROOT / "build/release/prefix/bin/weft"), help="program (%(default)s)")
    add("--peers", default=str(ROOT / "build/peers"), help="folder of programs (%(default)s)")
    args = parser.parse_args(arguments)
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name) is None:
            setattr(args, name, words(value) if name == "sizes" else value)
    check_arguments(parser, args)
    args.sizes = sorted({parse_size(size) for size in args.sizes})
    args.queued_up_to = parse_size(args.queued_up_to)
    return args


def check_arguments(parser, args):
    known = {"ops": OPERATORS, "modes": MODES, "contenders": VARIANTS}
    for name, allowed in known.items():
        for word in getattr(args, name):
            if word not in allowed:
                parser.error(f"--{name}: '{word}' is none of {', '.join(allowed)}")
    for size in [*args.sizes, args.queued_up_to]:
        try:
            parse_size(size)
        except ValueError:
            parser.error(f"'{size}' is no size; 8, 64K and 1M are")
    if min(args.rounds, args.queue, *args.ranks) < 1 or max(args.ranks) > 64:
        parser.error("--rounds and --queue are 1 or more, --ranks 1 to 64")


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cores": len(os.sched_getaffinity(0)), "model": model,
            "system": f"{platform.system()} {platform.release()}",
            "load": " ".join(f"{each:.1f}" for each in os.getloadavg())}


class Comparison:
    """One run: rounds over all cases; in each, every contender is launched once in turn."""

    def __init__(self, args, launcher):
        self.args = args
        self.launcher = launcher
        self.contenders = []
        for name in args.contenders:
            missing = launcher.missing(name)
            if missing:
                print(f"{name} is left out: {missing}", file=sys.stderr)
            else:
                self.contenders.append(name)
        self.started = time.monotonic()
        self.results = Results({
            "contenders": self.contenders, "queue": args.queue, "rounds": args.rounds,
            "versions": {name: launcher.version(name) for name in self.contenders},
            "machine": machine(),
            "started": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
            "arguments": sys.argv[1:]}, [])

    def cases(self):
        for op in self.args.ops:
            for ranks in self.args.ranks:
                for mode in self.args.modes:
                    yield Case(op, ranks, mode, self.args.queue if mode == "queued" else 1)

    def sizes(self, case):
        limit = self.args.queued_up_to if case.mode == "queued" else max(self.args.sizes)
        return [size for size in self.args.sizes if size <= limit]

    def plan(self, contender, case, round_number):
        """(variant, sizes) to launch: all in the first round, then the best for each size."""
        variants = self.launcher.variants(contender, case)
        if self.args.settings == "first":
            variants = variants[:1]
        if round_number == 1:
            return [(variant, self.sizes(case)) for variant in variants]
        chosen = {variant.name: [] for variant in variants}
        for size in self.sizes(case):
            cell = self.results.cell(contender, case.op, case.ranks, case.mode, size)
            slow = cell and cell.median and cell.median * case.queue > SLOW_BATCH_US
            if cell and not cell.fault and not slow:
                chosen[cell.variant].append(size)
        return [(variant, chosen[variant.name]) for variant in variants if chosen[variant.name]]

    def measure(self, contender, case, round_number):
        for variant, sizes in self.plan(contender, case, round_number):
            for sample in self.launcher.run(contender, variant, case, sizes):
                self.results.add({"contender": contender, "variant": variant.name, "op": case.op,
                                  "ranks": case.ranks, "mode": case.mode, "round": round_number,
                                  **sample})

    def out_of_time(self):
        return self.args.time and time.monotonic() - self.started > self.args.time

    def run(self):
        """Stops early, with what there is, when the time is over, at Ctrl-C and at SIGTERM."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        cases = [case for case in self.cases() if self.sizes(case)]
        try:
            for round_number in range(1, self.args.rounds + 1):
                for place, case in enumerate(cases):
                    if self.out_of_time():
                        self.stop(f"--time is over in round {round_number}, at {case.op}")
                        return
                    self.turn(case, round_number, place)
                    self.results.save(pathlib.Path(self.args.out) / "results.json")
        except KeyboardInterrupt:
            self.stop("interrupted")

    def stop(self, why):
        self.results.facts["stopped"] = f"Stopped early: {why}."
        print(self.results.facts["stopped"], file=sys.stderr)

    def turn(self, case, round_number, place):
        shift = (round_number + place) % max(1, len(self.contenders))  # nobody is always first
        for contender in self.contenders[shift:] + self.contenders[:shift]:
            self.measure(contender, case, round_number)
        size = self.sizes(case)[0]
        where = (case.op, case.ranks, case.mode, size)
        times = [f"{NAMES[name]} {cell_text(self.results.cell(name, *where), False)}"
                 for name in self.contenders]
        seconds = time.monotonic() - self.started
        print(f"[{seconds:5.0f} s] round {round_number}: {case.op}, {case.ranks} ranks, "
              f"{case.mode}; {size_text(size)}: {', '.join(times)}", file=sys.stderr, flush=True)


def with_table(text, results):
    """A document with the table between its marks."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{markdown_report(results)}\n{END}{after}"


def write_docs(results):
    DOCS.write_text(with_table(DOCS.read_text(encoding="utf-8"), results), encoding="utf-8")
    print(f"wrote {DOCS}")


def write_reports(results, out):
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.txt").write_text(text_report(results), encoding="utf-8")
    (out / "table.md").write_text(markdown_report(results), encoding="utf-8")
    (out / "report.html").write_text(html_report(results), encoding="utf-8")
    print(f"wrote {out}/table.txt, table.md and report.html")


def main(arguments):
    args = parse_arguments(arguments)
    out = pathlib.Path(args.out)
    if args.source:
        results = load(args.source)
    else:
        comparison = Comparison(args, Launcher(args.weft, args.peers, args.min_time, args.timeout))
        if not comparison.contenders:
            return 1
        out.mkdir(parents=True, exist_ok=True)
        comparison.run()
        results = comparison.results
        results.save(out / "results.json")
    print(text_report(results))
    write_reports(results, out)
    if args.write_docs:
        write_docs(results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
