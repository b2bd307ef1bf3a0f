# SPDX-License-Identifier: Apache-2.0
"""Does what a Markdown document tells its reader, in an empty folder.

A fenced block "```<language> <file>" is written to that file. A block "```sh" is run. Every line of
a block "```text" must be in the output of the commands before it.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys


def blocks(text):
    """Pairs of info string and content of all fenced blocks."""
    return re.findall(r"^```(.*?)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(script, folder, environment):
    """The output of a script that must succeed."""
    result = subprocess.run(["sh", "-e", "-c", script], cwd=folder, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                            check=False)
    print(script + result.stdout, flush=True)
    if result.returncode != 0:
        sys.exit(f"exit code {result.returncode} of:\n{script}")
    return result.stdout


def follow(text, folder, environment):
    output = ""
    commands = 0
    for info, content in blocks(text):
        language, _, file = info.partition(" ")
        if file:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(content)
        elif language == "sh":
            output = run(content, folder, environment)
            commands += 1
        elif language == "text":
            missing = [line for line in content.splitlines() if line not in output]
            if missing:
                sys.exit("not printed: " + "\n".join(missing))
    if commands == 0:
        sys.exit("the document has no commands")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="empty folder to work in")
    parser.add_argument("weft", type=pathlib.Path, help="where weft is installed")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    follow(arguments.document.read_text(), arguments.folder,
           {**os.environ, "WEFT": str(arguments.weft)})


if __name__ == "__main__":
    main()
