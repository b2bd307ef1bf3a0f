#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build, moves the tree, and uses it as a user does: compiles and runs the examples."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

RANKS = (1, 2, 3, 4, 7, 8, 16)
COUNTS = (1, 17, 1000, 65537)
LONG = 16 << 20
LIMIT = 60  # seconds for each program


def fail(text):
    sys.exit(f"FAILED: {text}")


def run(words, env=None, cwd=None):
    """The standard output of a program that must succeed."""
    words = [str(word) for word in words]
    done = subprocess.run(words, env=env, cwd=cwd, timeout=LIMIT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def sourced(prefix, base):
    """The environment after `source set_env.sh`, and nothing else of this build."""
    script = 'source "$0/set_env.sh" && env -0'
    done = subprocess.run(["bash", "-euc", script, str(prefix)], env=base, timeout=LIMIT,
                          stdout=subprocess.PIPE, check=True)
    pairs = (entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
    return dict(pairs)


def install(build, folder):
    first = folder / "first"
    moved = folder / "a moved tree"
    run(["cmake", "--install", build, "--prefix", first])
    first.rename(moved)
    return moved


def check_layout(prefix):
    for name in ("include/hccl/hccl.h", "include/acl/acl.h", "include/weft/comm.h",
                 "lib64/libhccl.so", "lib64/libhcomm.so", "lib64/libascendcl.so",
                 "lib64/libacl_rt.so", "lib64/weft/plugins/algo-mesh.so",
                 "lib64/weft/plugins/algo-ring.so", "lib64/weft/plugins/algo-tree.so",
                 "lib64/weft/plugins/mem-symwin.so", "lib64/weft/plugins/mem-zerocopy.so",
                 "lib64/weft/plugins/transport-hccs-sdma.so",
                 "etc/weft/policy.toml", "etc/weft/host.toml", "etc/weft/a3-supernode.toml",
                 "etc/weft/two-level.toml", "bin/weft", "include/weft/sdk.hpp",
                 "share/cmake/weft/weftConfig.cmake",
                 "share/weft/examples/my_algorithm/my_algorithm.cc",
                 "share/weft/examples/my_transport/CMakeLists.txt",
                 "share/weft/examples/my_memory/my_memory.cc", "share/doc/weft/policy.md", "python/hccl/manage/api.py",
                 "python/hccl/split/api.py", "set_env.sh"):
        if not (prefix / name).exists():
            fail(f"{name} is not installed")


def check_independence(prefix, env, build):
    libraries = run(["ldd", prefix / "lib64/libhccl.so"], env)
    for part in ("ascendcl", "acl_rt", "algo-", "mem-", "transport-"):
        if part in libraries:
            fail(f"libhccl.so depends on {part}:\n{libraries}")
    for file in prefix.rglob("*.so"):
        dynamic = run(["readelf", "-d", file], env)
        if str(build) in dynamic:
            fail(f"{file.name} looks for libraries in the build tree:\n{dynamic}")
        if "not found" in run(["ldd", file], env):
            fail(f"{file.name} does not find its libraries")


def compile_example(source, folder, env, strict):
    program = folder / (source.stem + ("_strict" if strict else ""))
    flags = "-std=c++14 -Wall -Wextra -Werror " if strict else ""
    command = (f'g++ "$0" {flags}-I"$ASCEND_HOME_PATH/include" '
               f'-L"$ASCEND_HOME_PATH/lib64" -lhccl -lascendcl -o "$1"')
    run(["bash", "-euc", command, source, program], env)
    return program


def check_output(text, ranks, count, what):
    lines = sorted(line.split("] ", 1)[-1] for line in text.splitlines())
    wanted = sorted(f"rank {rank} of {ranks}: {count} sums, 0 wrong" for rank in range(ranks))
    if lines != wanted:
        fail(f"{what} of {ranks} ranks wrote\n{text}")


def run_examples(threads, processes, env, cases):
    for ranks, count in cases:
        text = run([threads, ranks, count], env)
        check_output(text, ranks, count, threads.name)
        text = run(["weft", "run", "-n", ranks, "--", processes, count], env)
        check_output(text, ranks, count, processes.name)


def run_memory_examples(programs, env):
    for program in programs:
        for ranks in (1, 2, 5):
            text = run([program, ranks], env)
            wanted = sorted(f"rank {rank} of {ranks}: 0 wrong" for rank in range(ranks))
            if sorted(text.splitlines()) != wanted:
                fail(f"{program.name} of {ranks} ranks wrote\n{text}")


def run_tools(env):
    plugins = run(["weft", "plugins"], env)
    for name in ("mesh", "ring", "symwin", "zerocopy", "hccs-sdma"):
        if name not in plugins:
            fail(f"weft plugins does not list {name}:\n{plugins}")
    bench = run(["weft", "bench", "all_reduce", "-n", "2", "-b", "8", "-e", "64K"], env)
    if "mesh." not in bench:
        fail(f"weft bench names no algorithm:\n{bench}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--examples", required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    base = {name: value for name, value in os.environ.items()
            if not name.startswith(("WEFT_", "HCCL_", "ASCEND_")) and name != "LD_LIBRARY_PATH"}
    base["WEFT_DEVICE_MEMORY"] = "4G"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-test-"))
    try:
        prefix = install(arguments.build, folder)
        check_layout(prefix)
        env = sourced(prefix, base)
        check_independence(prefix, env, arguments.build)
        sources = [arguments.examples / name for name in ("all_reduce.cc", "all_reduce_ranks.cc")]
        plain = [compile_example(source, folder, env, False) for source in sources]
        strict = [compile_example(source, folder, env, True) for source in sources]
        cases = [(ranks, COUNTS[index % len(COUNTS)]) for index, ranks in enumerate(RANKS)]
        run_examples(*plain, env, cases + [(4, count) for count in COUNTS] + [(2, LONG)])
        run_examples(*strict, env, [(3, 1000)])
        memory = [arguments.examples / name for name in ("symmetric_window.cc", "zero_copy.cc")]
        run_memory_examples([compile_example(each, folder, env, True) for each in memory], env)
        run_tools(env)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("the moved tree works")


if __name__ == "__main__":
    main()
