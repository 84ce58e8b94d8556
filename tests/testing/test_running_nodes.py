"""The sentence about nodes of a folder that run."""

from __future__ import annotations

import os
from pathlib import Path

from signalbox.testing.locked_file import lock_file
from signalbox.testing.running_nodes import already_run, running_nodes


def test_nodes_and_processes_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    log = tmp_path / "log"
    with log.open("w") as file:
        lock_file(file)
        running = running_nodes({"broker 1": [tmp_path / "none", log], "broker 2": [tmp_path / "none"]})
        text = already_run(folder, running)
    stop = f"`signalbox down --data '{folder}'` stops"
    assert text == f"broker 1 of {folder} already runs (process {os.getpid()}): {stop} it, or take another folder"


def test_several_have_the_plural(tmp_path: Path) -> None:
    nodes = dict.fromkeys(("broker 1", "broker 2", "broker 3", "controller 101"), ())
    text = already_run(tmp_path, nodes)
    assert text.startswith(f"brokers 1, 2 and 3 and controller 101 of {tmp_path} already run: ")
    assert text.endswith("stops them, or take another folder")
