"""`signalbox down`: a controlled shutdown of the cluster that `signalbox up` runs in a folder, or of the nodes that a
killed `up` left there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import fail, tell
from signalbox.cli.local_cluster.cluster_folder import PID_FILE, chosen_folder, left_nodes, running_process
from signalbox.testing.locked_file import LockHolder

_TIMEOUT_S = 150  # two rounds of shutdowns (brokers, controllers) of at most a minute each


def down(
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The folder of `up` (default: the same).")] = None,
) -> None:
    """Stop the cluster that `up` runs, with a controlled shutdown of all nodes.

    Example: signalbox down
    """
    try:
        folder = chosen_folder(data)
    except ValueError as error:
        fail(str(error), code=2)
    try:
        process = running_process(folder)
        left = {} if process else left_nodes(folder)
        if process is not None:
            _stop(folder, [process])
        for nodes in left.values():  # controllers after brokers: they move leadership away while brokers stop
            _stop(folder, nodes)
    except PermissionError:
        fail(f"the cluster of {folder} belongs to another user, who alone can stop it")
    except OSError as error:
        fail(f"{folder / PID_FILE} cannot be read: {error.strerror}")
    pids = [node.pid for nodes in left.values() for node in nodes]
    if process is None and not pids:
        fail(f"no cluster runs in {folder}")
    tell({"folder": str(folder), "process": process and process.pid, "left_nodes": pids}, "stopped")


def _stop(folder: Path, processes: Sequence[LockHolder]) -> None:
    """Signal all, then wait for all. A process that does not end ends the command."""
    deadline = time.monotonic() + _TIMEOUT_S
    try:
        for process in processes:
            process.terminate()
        for process in processes:
            if not process.ended_within(max(0.0, deadline - time.monotonic())):
                fail(f"the cluster of {folder} (process {process.pid}) has not stopped within {_TIMEOUT_S} s")
    finally:
        for process in processes:
            process.close()
