# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of README.md in a folder that looks like a checkout whose release build is BUILD."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

# What scripts/test and the machine that calls it do; here the build is already there.
DONE_ELSEWHERE = ("scripts/demo", "scripts/test", "cmake --preset ", "cmake --build --preset ",
                  "ctest --preset ")


def commands(text):
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith(DONE_ELSEWHERE):
                yield line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("build", "source", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    shutil.copytree(arguments.source / "examples", arguments.work / "examples")
    shutil.copytree(arguments.source / "sdk" / "examples", arguments.work / "sdk" / "examples")

    lines = list(commands((arguments.source / "README.md").read_text()))
    if len(lines) < 8:
        sys.exit("README.md has lost its commands")
    script = "\n".join(lines).replace("build/release", str(arguments.build))
    print(script, flush=True)
    done = subprocess.run(["bash", "-ex", "-c", script], cwd=arguments.work, text=True, timeout=170,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}")
    for promise in ("mesh.one_shot", "null.all_reduce", "hccs-sdma"):
        if promise not in done.stdout:
            sys.exit(f"the commands never printed {promise}")


if __name__ == "__main__":
    main()
