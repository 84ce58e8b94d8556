"""The folder of a cluster of `signalbox up`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.cli.local_cluster.cluster_folder import (
    AlreadyRuns,
    claim,
    default_folder,
    rotate_logs,
    running_process,
)


def test_a_folder_is_claimed_once(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    assert running_process(folder) is None
    with claim(folder):
        assert running_process(folder) == os.getpid()
        with pytest.raises(
            AlreadyRuns, match=f"the cluster of {folder} already runs: `signalbox down --data {folder}`"
        ):
            claim(folder)
    assert running_process(folder) is None, "the file stays, its lock does not"
    claim(folder).close()


def test_logs_have_one_run_only(tmp_path: Path) -> None:
    log, missing = tmp_path / "broker.log", tmp_path / "other.log"
    for text in ("first", "second"):
        log.write_text(text)
        rotate_logs([log, missing])
    assert sorted(tmp_path.iterdir()) == [tmp_path / "broker.log.1"]
    assert (tmp_path / "broker.log.1").read_text() == "second"


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "signalbox" / "up"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert default_folder() == Path("/home/x/.local/share/signalbox/up")
