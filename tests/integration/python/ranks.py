# SPDX-License-Identifier: Apache-2.0
"""Runs a function as the ranks of a world: as what `weft run` has started, or, with "--threads N",
as N threads of this process, each with a device of its own."""
import contextlib
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading
import traceback

from hccl import _library


@contextlib.contextmanager
def refused(text):
    """A ValueError with just this text. What the library said comes in .cause after it."""
    said = type("Said", (), {"cause": ""})()
    try:
        yield said
    except ValueError as error:
        assert str(error) == text, f"{error!r} is not {text!r}"
        said.cause = str(error.__cause__)
    else:
        raise AssertionError(f"nobody refused with {text!r}")


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def rank_table(servers):
    """The text of a table: for each server how many ranks it has, of one device each."""
    ports = _free_ports(sum(servers))
    ranks = iter(range(sum(servers)))
    entries = []
    for server, count in enumerate(servers):
        devices = [{"device_id": str(rank), "rank_id": str(rank), "device_ip": f"10.0.0.{rank + 1}",
                    "host_port": str(ports[rank])} for rank in (next(ranks) for _ in range(count))]
        entries.append({"server_id": f"server{server}", "host_ip": "127.0.0.1", "device": devices})
    return json.dumps({"status": "completed", "version": "1.0",
                       "server_count": str(len(servers)), "server_list": entries})


def _run_threads(count, body):
    failures = []
    _library.acl().aclInit(None)
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "ranks.json"
        table.write_text(rank_table([count]))
        barrier = threading.Barrier(count)

        def run(rank):
            try:
                body({"rank_table_file": table, "rank_id": rank, "device_id": rank}, rank, count,
                     lambda: barrier.wait(60))
            except BaseException:  # pylint: disable=broad-except
                failures.append(f"rank {rank}: {traceback.format_exc()}")
                barrier.abort()

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        sys.exit("\n".join(failures))


def run(body):
    """body(arguments of world.init, rank, ranks, wait): wait() holds threads until all are there;
    processes it cannot hold."""
    if sys.argv[1:2] == ["--threads"]:
        _run_threads(int(sys.argv[2]), body)
    else:
        body({}, int(os.environ["RANK_ID"]), int(os.environ["RANK_SIZE"]), lambda: None)
