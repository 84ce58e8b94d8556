"""`signalbox down`: a controlled shutdown of the cluster that `signalbox up` runs in a folder."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import fail, tell
from signalbox.cli.local_cluster.cluster_folder import default_folder, running_process

_TIMEOUT_S = 150  # two rounds of shutdowns (brokers, controllers) of at most a minute each


def down(
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The folder of `up` (default: the same).")] = None,
) -> None:
    """Stop the cluster that `up` runs, with a controlled shutdown of all nodes.

    Example: signalbox down
    """
    folder = (data or default_folder()).absolute()
    process = running_process(folder)
    if process is None:
        fail(f"no cluster runs in {folder}")
    handle = os.pidfd_open(process)
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        end = select.poll()
        end.register(handle, select.POLLIN)
        if not end.poll(_TIMEOUT_S * 1000):
            fail(f"the cluster of {folder} (process {process}) has not stopped within {_TIMEOUT_S} s")
    finally:
        os.close(handle)
    tell({"folder": str(folder), "process": process}, "stopped")
