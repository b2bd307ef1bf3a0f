# SPDX-License-Identifier: Apache-2.0
"""Results as text for a terminal and as Markdown."""

from contenders import NAMES
from results import reference

MODE_TITLES = {"sync": "result needed after each call", "queued": "{queue} calls queued"}
RIVAL_NAMES = {**NAMES, "best": "best peer", "reference": "reference"}
RATIO_NOTE = ("x = time of the other / time of weft: above 1, weft is faster. Times in "
              "microseconds a call.")


def size_text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(value):
    """Three digits, or more if it is larger."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_text(value):
    if value is None:
        return "-"
    return f"{value:.0f}x" if value >= 100 else f"{value:.3g}x" if value >= 10 else f"{value:.2f}x"


def mode_title(results, mode):
    return MODE_TITLES[mode].format(queue=results.facts["queue"])


def short_fault(fault):
    if fault.startswith("not tried"):
        return "not tried"
    if "wrong" in fault:
        return "WRONG"
    return "timed out" if fault == "timed out" else "FAILED"


def cell_text(cell, spread):
    """`spread`: with minimum and maximum."""
    if cell is None:
        return "-"
    if cell.fault:
        return short_fault(cell.fault)
    text = time_text(cell.median)
    return f"{text} ({time_text(cell.least)}-{time_text(cell.most)})" if spread else text


def rows_of(results, op, mode, spread):
    """A heading and the rows of one table, as lists of texts."""
    peers, rivals = results.peers(), results.rivals(mode)
    heading = ["ranks", "size", "weft"]
    for peer in peers:
        heading += [NAMES[peer], "x"]
    for rival in rivals[len(peers):]:
        heading += [RIVAL_NAMES[rival], "x"]
    rows = []
    for case in results.cases(op, mode):
        row = [str(case[1]), size_text(case[3]), cell_text(results.cell("weft", *case), spread)]
        for peer in peers:
            row.append(cell_text(results.cell(peer, *case), spread))
            row.append(ratio_text(results.ratio(peer, *case)))
        best = results.best_peer(*case)
        row += [NAMES[best[0]] if best else "-", ratio_text(results.ratio("best", *case))]
        if "reference" in rivals:
            row.append(time_text(results.rival_time("reference", *case)))
            row.append(ratio_text(results.ratio("reference", *case)))
        rows.append(row)
    return heading, rows


def mean_rows(results):
    """Geometric means per operator and mode."""
    rivals = [*results.peers(), "best", "reference"]
    heading = ["operator", "calls", *(RIVAL_NAMES[rival] for rival in rivals)]
    rows = []
    for mode in results.modes():
        for op in results.operators():
            means = [results.mean_ratio(rival, op, mode)[0] for rival in rivals]
            rows.append([op, mode, *map(ratio_text, means)])
    return heading, rows


def aligned(heading, rows):
    """Columns of text, the first to the left and the others to the right."""
    lines = [heading, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heading))]
    return "\n".join("  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                               for i, (text, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)


def pipes(heading, rows):
    lines = [heading, ["---"] + ["---:"] * (len(heading) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def facts_lines(results):
    facts = results.facts
    machine = facts["machine"]
    names = ", ".join(facts["versions"].values())
    rounds = "1 round" if facts["rounds"] == 1 else f"{facts['rounds']} rounds"
    return [f"{names}.",
            f"{machine['cores']} cores ({machine['model']}), {machine['system']}; "
            f"{rounds}, {facts['started']}; load average {machine['load']}.",
            f"Reference: {reference()['source']}; another machine, so only a hint."]


def fault_lines(results):
    return [f"{NAMES[contender]} ({variant}), {case[0]}, {case[1]} ranks, {size_text(case[3])}, "
            f"{mode_title(results, case[2])}: {fault}"
            for contender, variant, case, fault in results.faults()]


def text_report(results):
    parts = ["\n".join(f"# {line}" for line in [*facts_lines(results), RATIO_NOTE])]
    for mode in results.modes():
        for op in results.operators():
            title = f"{op}, {mode_title(results, mode)}: median (minimum-maximum)"
            parts.append(f"{title}\n{aligned(*rows_of(results, op, mode, True))}")
    parts.append(f"Geometric means over ranks and sizes\n{aligned(*mean_rows(results))}")
    faults = fault_lines(results)
    if faults:
        parts.append("Faults\n" + "\n".join(faults))
    if results.facts.get("stopped"):
        parts.append(results.facts["stopped"])
    return "\n\n".join(parts) + "\n"


def markdown_report(results):
    parts = ["\n".join(f"- {line}" for line in [*facts_lines(results), RATIO_NOTE]),
             "Geometric means over ranks and sizes:", pipes(*mean_rows(results))]
    for mode in results.modes():
        for op in results.operators():
            parts.append(f"### {op}, {mode_title(results, mode)}")
            parts.append(pipes(*rows_of(results, op, mode, False)))
    faults = fault_lines(results)
    if faults:
        parts += ["### Faults", "\n".join(f"- {line}" for line in faults)]
    return "\n\n".join(parts) + "\n"
