#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the HCCL headers equal to the golden table, the library, an object file and docs/api.md.

Every subcommand prints what differs, one finding a line, and fails if there is any.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HEADERS = ("hccl.h", "hccl_comm.h", "hccl_sym_win.h", "hcom.h")
ALLOWED_EXPORT = re.compile(r"Hccl\w+|Hcom\w+|weft_\w+")
# Strong by the documented API, beside all of hccl.h and hcom.h.
STRONG = {
    "HcclCommGetHandleWithName", "HcclCommRegCommStateCallback", "HcclCommGetStatus",
    "HcclGroupStart", "HcclGroupEnd", "HcclGroupStatusGet", "HcclCommSymWinRegister",
    "HcclCommSymWinDeregister", "HcclCommSymWinGet", "HcclConfigGetInfo",
    "HcclSymWinGetPeerPointer",
}


def source_of(path):
    return re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)


def declared(include):
    """Functions of each header that the library must export."""
    return {h: set(re.findall(r"^extern\b[^;(]*?\b(\w+)\(", source_of(include / h), re.M))
            for h in HEADERS}


def all_declared(include):
    return set().union(*declared(include).values())


def inline(include):
    return {h: set(re.findall(r"^static inline\b[^;(]*?\b(\w+)\(", source_of(include / h), re.M))
            for h in HEADERS}


def symbols(nm, arguments):
    """Name -> type letter, as nm shows it."""
    text = subprocess.run([nm, "-P", *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout
    return dict(line.split()[:2] for line in text.splitlines() if len(line.split()) > 1)


def differences(left, right, left_name, right_name):
    return ([f"{name}: in {left_name}, not in {right_name}" for name in sorted(left - right)] +
            [f"{name}: in {right_name}, not in {left_name}" for name in sorted(right - left)])


def check_golden(args):
    """The golden table lists every enumerator, constant, member and function, and nothing else."""
    golden = source_of(args.golden)

    def listed(kind, pattern):
        return set(re.findall(rf"{kind}\({pattern}", golden))

    text = "\n".join(source_of(args.include / h) for h in ("hccl_types.h", *HEADERS))
    structs = re.findall(r"(?:typedef struct|union) \w+ \{(.*?)\}", text, re.S)
    members = {m for body in structs for m in re.findall(r"(\w+)(?:\[\w+\])?;", body)}
    bodies = re.findall(r"typedef enum \{(.*?)\}", text, re.S)
    values = {v for body in bodies for v in re.findall(r"(\w+) = ", body)}
    constants = set(re.findall(r"^HCCL_DEFINE_\w+_\((?:\w+, )?(\w+), [^,]*\);", text, re.M))
    types = set(re.findall(r"^typedef \w+\*? (\w+);", text, re.M))
    types |= set(re.findall(r"^typedef \w+ \(\*(\w+)\)", text, re.M))
    types |= set(re.findall(r"^(?:typedef [^;]*?)?\} (\w+);", text, re.M))
    types |= {f"union {u}" for u in re.findall(r"^union (\w+) \{", text, re.M)}
    header, table = "the headers", "the golden table"
    return (differences(values, listed("VALUE", r"(\w+)"), header, table) +
            differences(constants, listed("CONSTANT", r"\w+, (\w+)"), header, table) +
            differences(members, listed("FIELD", r"[\w ]+, (\w+)"), header, table) +
            differences(types, listed("TYPE", r"([\w ]+)"), header, table) +
            differences(all_declared(args.include), listed("FUNCTION", r"[\w *]+, (\w+)"),
                        header, table))


def check_weak(args):
    """References are weak by the rule of the API, or all strong if the caller asked for that."""
    functions = declared(args.include)
    found = {n: t for n, t in symbols(args.nm, ["-u", args.object]).items()
             if n.startswith("Hc")}
    strong = STRONG | functions["hccl.h"] | functions["hcom.h"]
    if args.all_strong:
        strong = all_declared(args.include)
    return (differences(all_declared(args.include), set(found), "the headers", "the object") +
            differences(strong, {n for n, t in found.items() if t == "U"},
                        "the strong ones by rule", "the strong ones of the object"))


def check_exports(args):
    """The library exports every declared function, strongly, and nothing outside the API."""
    found = symbols(args.nm, ["-D", "--defined-only", args.library])
    findings = [f"{n}: declared but not exported"
                for n in sorted(all_declared(args.include) - set(found))]
    findings += [f"{n}: exported but not of the API"
                 for n in sorted(found) if not ALLOWED_EXPORT.fullmatch(n)]
    return findings + [f"{n}: exported as '{t}', not as a strong function"
                       for n, t in sorted(found.items())
                       if ALLOWED_EXPORT.fullmatch(n) and t != "T"]


def documented(page):
    """Header -> function -> state, from the tables under the headings of the page."""
    tables = {}
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            table = tables.setdefault(line[3:].strip(), {})
        row = re.fullmatch(r"\| `(\w+)` \| ([^|]+) \|.*\|", line)
        if row:
            table[row[1]] = row[2].strip()
    return tables


def check_docs(args):
    """The page lists every function under its header, and just those that the library exports."""
    functions, inlined = declared(args.include), inline(args.include)
    page = documented(args.page)
    findings = []
    for header in HEADERS:
        findings += differences(functions[header] | inlined[header], set(page.get(header, {})),
                                header, f"the page's table of {header}")
    listed = set().union(*page.values()) - set().union(*inlined.values())
    exported = {n for n in symbols(args.nm, ["-D", "--defined-only", args.library])
                if not n.startswith("weft_")}
    findings += differences(exported, listed, "the library", "the page")
    states = {name: state for table in page.values() for name, state in table.items()}
    findings += [f"{n}: unknown state '{s}'" for n, s in sorted(states.items())
                 if s != "implemented"]
    return findings


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=pathlib.Path, required=True, help="folder of hccl.h")
    parser.add_argument("--nm", default="nm")
    commands = parser.add_subparsers(dest="command", required=True)
    golden = commands.add_parser("golden", help=check_golden.__doc__)
    golden.add_argument("golden", type=pathlib.Path)
    golden.set_defaults(check=check_golden)
    weak = commands.add_parser("weak", help=check_weak.__doc__)
    weak.add_argument("object")
    weak.add_argument("--all-strong", action="store_true")
    weak.set_defaults(check=check_weak)
    exports = commands.add_parser("exports", help=check_exports.__doc__)
    exports.add_argument("library")
    exports.set_defaults(check=check_exports)
    docs = commands.add_parser("docs", help=check_docs.__doc__)
    docs.add_argument("page", type=pathlib.Path)
    docs.add_argument("library")
    docs.set_defaults(check=check_docs)
    return parser.parse_args()


def main():
    args = parse_arguments()
    findings = args.check(args)
    print("\n".join(findings) or f"{args.command}: nothing differs")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
