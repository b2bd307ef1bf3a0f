# SPDX-License-Identifier: Apache-2.0
"""Results as one HTML page with charts as SVG; it refers to nothing outside."""

import html
import math

from contenders import NAMES
from tables import (RIVAL_NAMES, cell_text, facts_lines, fault_lines, mode_title,
                    ratio_text, size_text, time_text)

COLOURS = {"weft": "#2f6fed", "openmpi": "#d9730d", "mpich": "#1a9367", "gloo": "#a346c9",
           "reference": "#808893"}
WIDTH, HEIGHT = 380, 270
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 26, 44

STYLE = """
:root { --ink: #1c2330; --paper: #ffffff; --soft: #68707d; --line: #d8dde5; --good: 46, 160, 90;
  --bad: 214, 84, 64; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --paper: #14181f; --soft: #98a2b1;
  --line: #343c49; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1240px; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; } h3 { margin-bottom: .3rem; }
p.facts, figcaption { color: var(--soft); margin: .2rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td small { color: var(--soft); } td.fault { color: rgb(var(--bad)); font-weight: 600; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg text.title { fill: var(--ink); font-size: 13px; font-weight: 600; }
svg line { stroke: var(--line); } svg polyline { fill: none; stroke-width: 2; }
.key { display: inline-flex; align-items: center; margin-right: 1.2rem; }
.key i { width: 1.6rem; height: 3px; margin-right: .4rem; }
"""


def escape(text):
    return html.escape(str(text), quote=True)


class Axes:
    """Both logarithmic: sizes to the right, times upwards."""

    def __init__(self, sizes, times):
        self.sizes = (math.log2(min(sizes)), math.log2(max(sizes)))
        self.times = (math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))))

    def x(self, size):
        low, high = self.sizes
        share = (math.log2(size) - low) / (high - low) if high > low else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, time):
        low, high = self.times
        share = (math.log10(time) - low) / (high - low) if high > low else 0.5
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def decade_text(power):
    """10^power microseconds with its unit."""
    unit, shift = (("µs", 0) if power < 3 else ("ms", 3) if power < 6 else ("s", 6))
    return f"{10.0 ** (power - shift):g} {unit}"


def grid(axes, sizes, title):
    parts = [f'<text class="title" x="{LEFT}" y="16">{escape(title)}</text>']
    for power in range(axes.times[0], axes.times[1] + 1):
        y = axes.y(10.0**power)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
                     f"{decade_text(power)}</text>")
    for size in sizes:
        x = axes.x(size)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="end" '
                     f'transform="rotate(-35 {x:.1f} {HEIGHT - BOTTOM + 14})">'
                     f"{size_text(size)}</text>")
    return parts


def curve(axes, name, points):
    """`points` are (size, time)."""
    colour = COLOURS[name]
    dash = ' stroke-dasharray="4 4"' if name == "reference" else ""
    where = [(axes.x(size), axes.y(time), size, time) for size, time in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in where)
    parts = [f'<polyline points="{path}" stroke="{colour}"{dash}/>']
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"><title>'
              f"{escape(RIVAL_NAMES[name])}, {size_text(size)}: {time_text(time)} µs"
              "</title></circle>" for x, y, size, time in where]
    return parts


def chart(results, op, mode, ranks):
    cases = [case for case in results.cases(op, mode) if case[1] == ranks]
    names = [*(name for name in results.rivals(mode) if name != "best"), "weft"]
    curves = {}
    for name in names:
        times = [(case[3], results.rival_time(name, *case)) for case in cases]
        curves[name] = [(size, time) for size, time in times if time]
    times = [time for points in curves.values() for _, time in points]
    if not times:
        return ""
    sizes = [case[3] for case in cases]
    axes = Axes(sizes, times)
    parts = grid(axes, sizes, f"{ranks} ranks")
    for name, points in curves.items():
        if points:
            parts += curve(axes, name, points)
    label = escape(f"{op}, {ranks} ranks: time of a call over size")
    return (f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'role="img" aria-label="{label}">{"".join(parts)}</svg></figure>')


def ratio_cell(ratio):
    """Green where weft is faster, red where it is slower, stronger with the factor."""
    if ratio is None:
        return "<td>-</td>"
    strength = min(0.55, abs(math.log2(ratio)) * 0.18)
    colour = "--good" if ratio >= 1 else "--bad"
    return (f'<td style="background: rgba(var({colour}), {strength:.2f})">'
            f"{ratio_text(ratio)}</td>")


def time_cell(cell):
    if cell is None:
        return "<td>-</td>"
    if cell.fault:
        return f'<td class="fault" title="{escape(cell.fault)}">{cell_text(cell, False)}</td>'
    about = escape(f"{cell.launches} launches, settings: {cell.variant}, {cell.way}")
    spread = f"{time_text(cell.least)}–{time_text(cell.most)}"
    return f'<td title="{about}">{time_text(cell.median)} <small>{spread}</small></td>'


def table(results, op, mode):
    peers, rivals = results.peers(), results.rivals(mode)
    heads = ["ranks", "size", "weft"]
    for peer in peers:
        heads += [NAMES[peer], "×"]
    heads += ["best peer", "×"]
    if "reference" in rivals:
        heads += ["reference", "×"]
    rows = []
    for case in results.cases(op, mode):
        best = results.best_peer(*case)
        row = [f"<td>{case[1]}</td><td>{size_text(case[3])}</td>",
               time_cell(results.cell("weft", *case))]
        for peer in peers:
            row.append(time_cell(results.cell(peer, *case)))
            row.append(ratio_cell(results.ratio(peer, *case)))
        row.append(f"<td>{NAMES[best[0]] if best else '-'}</td>")
        row.append(ratio_cell(results.ratio("best", *case)))
        if "reference" in rivals:
            row.append(f"<td>{time_text(results.rival_time('reference', *case))}</td>")
            row.append(ratio_cell(results.ratio("reference", *case)))
        rows.append(f"<tr>{''.join(row)}</tr>")
    head = "".join(f"<th>{text}</th>" for text in heads)
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def means(results):
    rivals = [*results.peers(), "best", "reference"]
    head = "".join(f"<th>{RIVAL_NAMES[rival]}</th>" for rival in rivals)
    rows = []
    for mode in results.modes():
        for op in results.operators():
            cells = [ratio_cell(results.mean_ratio(rival, op, mode)[0]) for rival in rivals]
            rows.append(f"<tr><td>{op}</td><td>{escape(mode_title(results, mode))}</td>"
                        f"{''.join(cells)}</tr>")
    return f"<table><tr><th>operator</th><th>calls</th>{head}</tr>{''.join(rows)}</table>"


def key(results):
    names = ["weft", *results.peers(), "reference"]
    return "<p>" + "".join(f'<span class="key"><i style="background: {COLOURS[name]}"></i>'
                           f"{RIVAL_NAMES[name]}</span>" for name in names) + "</p>"


def html_report(results):
    parts = ["<h1>weft and its peers, side by side</h1>"]
    parts += [f'<p class="facts">{escape(line)}</p>' for line in facts_lines(results)]
    parts.append("<p>× is the time of the other / the time of weft: above 1, weft is faster. Small "
                 "figures are the minimum and the maximum over all batches of all launches.</p>")
    if results.facts.get("stopped"):
        parts.append(f"<p><strong>{escape(results.facts['stopped'])}</strong></p>")
    parts += ["<h2>Geometric means over ranks and sizes</h2>", means(results)]
    for op in results.operators():
        parts += [f"<h2>{op}</h2>", key(results)]
        for mode in results.modes():
            ranks = sorted({case[1] for case in results.cases(op, mode)})
            if not ranks:
                continue
            charts = "".join(chart(results, op, mode, each) for each in ranks)
            parts.append(f"<h3>{escape(mode_title(results, mode))}</h3>")
            parts += [f'<div class="charts">{charts}</div>', table(results, op, mode)]
    faults = fault_lines(results)
    if faults:
        items = "".join(f"<li>{escape(line)}</li>" for line in faults)
        parts.append(f"<h2>Faults</h2><ul>{items}</ul>")
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>weft and its peers</title><style>{STYLE}</style></head>"
            f"<body>{''.join(parts)}</body></html>\n")
