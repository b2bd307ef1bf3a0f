# SPDX-License-Identifier: Apache-2.0
"""Checks the C headers of the SDK against P2 and P7 (docs/abi.md): every struct begins with a head,
and only fixed-width types cross."""
import pathlib
import re
import sys

# Closed for ever, or a part of a struct of weft's own.
WITHOUT_HEAD = {"weft_head", "weft_chunk", "weft_peer_view", "weft_task"}
FORBIDDEN = {
    "a type whose size depends on the compiler":
        r"\b(bool|_Bool|long|short|int|unsigned|signed|size_t|ssize_t|wchar_t|float|double)\b",
    "a char that is no text": r"\bchar\b(?!\s*\*)",
    "a variable argument list": r"\.\.\.|\bva_list\b",
    "an enum with a name": r"\benum\s+\w+",
    "a bit field": r"\w\s*:\s*\d",
    "C++": r"\b(class|template|namespace|std::\w+)\b",
}


def declarations(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    return re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.MULTILINE)


def complaints(text):
    code = declarations(text)
    for what, pattern in FORBIDDEN.items():
        for found in re.finditer(pattern, code):
            yield f"P7: {what}: {code[found.start():].splitlines()[0]}"
    for name, first in re.findall(r"typedef struct (\w+) \{\s*([^;]*);", code):
        if name not in WITHOUT_HEAD and first != "weft_head head":
            yield f"P2: {name} begins with {first}"


def check_self(text):
    """Every kind of mistake must be found."""
    for wrong in ("long x;", "int f(void);", "bool b;", "char c;", "void f(const char*, ...);",
                  "enum kind { A };", "uint32_t x : 3;", "class x;",
                  "typedef struct weft_new {\n  uint32_t x;\n} weft_new;"):
        if not list(complaints(text + wrong)):
            sys.exit(f"this would not be found: {wrong}")


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    if len(files) < 5:
        sys.exit("which headers?")
    found = [f"{file.name}: {text}" for file in files for text in complaints(file.read_text())]
    if found:
        sys.exit("\n".join(found))
    check_self(files[0].read_text())


if __name__ == "__main__":
    main()
