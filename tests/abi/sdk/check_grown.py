# SPDX-License-Identifier: Apache-2.0
"""Checks that the layout in the file NEW differs from that of an older minor, OLD, only by what was
appended (P3 of docs/abi.md)."""
import pathlib
import re
import sys

# What may become larger.
COUNTS = {"WEFT_ABI_MINOR", "WEFT_OP_COUNT"}


def parse(text):
    """Structs: name to size, alignment and members (name to offset and size). Values: name to number."""
    structs, values, last = {}, {}, None
    for line in text.splitlines():
        words = line.split()
        if line.startswith("  "):
            last["members"][words[0]] = (int(words[1]), int(words[2]))
        elif "align" in words:
            last = {"size": int(words[1]), "align": int(words[3]), "members": {}}
            structs[words[0]] = last
        else:
            values[words[0]] = int(words[1])
    return structs, values


def complaints(old_text, new_text):
    old, old_values = parse(old_text)
    new, new_values = parse(new_text)
    for name, struct in old.items():
        now = new.get(name)
        if now is None:
            yield f"{name} is gone"
            continue
        if now["align"] != struct["align"] or now["size"] < struct["size"]:
            yield f"{name} has another alignment or is smaller"
        for member, place in struct["members"].items():
            if now["members"].get(member) != place:
                yield f"{name}.{member} was at {place}, is at {now['members'].get(member)}"
        end = max(offset + size for offset, size in struct["members"].values())
        for member, (offset, _) in now["members"].items():
            if member not in struct["members"] and offset < end:
                yield f"{name}.{member} is not appended"
    for name, value in old_values.items():
        now = new_values.get(name)
        if now != value and not (name in COUNTS and now is not None and now > value):
            yield f"{name} was {value}, is {now}"


def check_self(text):
    """What must not be done is found; what may be done is not."""
    for pattern, instead in ((r"^  min 32 8$", "  min 40 8"), (r"^  rank 8 4\n", ""),
                             (r"^  reach 12 4$", "  reach 12 2\n  more 14 2"),
                             (r"^weft_step 48 ", "weft_step 40 "), (r"^WEFT_OK 0$", "WEFT_OK 1"),
                             (r"^WEFT_OP_COUNT 12$", "WEFT_OP_COUNT 11")):
        changed = re.sub(pattern, instead, text, count=1, flags=re.MULTILINE)
        if changed == text or not list(complaints(text, changed)):
            sys.exit(f"this would not be found: {instead!r} for {pattern!r}")
    grown = text.replace("weft_host 48 align 8", "weft_host 56 align 8")
    grown = grown.replace("  forget 40 8", "  forget 40 8\n  appended 48 8")
    grown = grown.replace("WEFT_ABI_MINOR 0", "WEFT_ABI_MINOR 1")
    if grown == text or list(complaints(text, grown)):
        sys.exit("what was appended is not allowed")


def main():
    old, new = (pathlib.Path(name).read_text() for name in sys.argv[1:])
    found = list(complaints(old, new))
    if found:
        sys.exit("\n".join(found))
    check_self(old)


if __name__ == "__main__":
    main()
