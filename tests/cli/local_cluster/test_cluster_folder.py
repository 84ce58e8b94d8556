"""The folder of a cluster of `signalbox up`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from signalbox.cli.local_cluster.cluster_folder import (
    AlreadyRuns,
    ForeignFolder,
    chosen_folder,
    claim,
    default_folder,
    left_nodes,
    make_folder,
    rotate_logs,
    running_process,
)
from signalbox.testing.locked_file import lock_file


def process_of(folder: Path) -> int | None:
    found = running_process(folder)
    if found is None:
        return None
    found.close()
    return found.pid


def test_a_folder_is_claimed_once(tmp_path: Path) -> None:
    folder = tmp_path / "a cluster"
    assert process_of(folder) is None
    make_folder(folder)
    with claim(folder):
        assert process_of(folder) == os.getpid()
        command = re.escape(f"the cluster of {folder} already runs: `signalbox down --data '{folder}'`")
        with pytest.raises(AlreadyRuns, match=command), claim(folder):
            pass
    assert process_of(folder) is None
    assert (folder / "up.pid").read_text() == ""
    assert (folder / "up.pid").stat().st_mode & 0o777 == 0o600
    with claim(folder):
        pass


def test_a_lock_of_another_process_does_not_make_the_cluster_run(tmp_path: Path) -> None:
    """The file of an older version, with the id of a process that was killed: every user could lock it."""
    file = tmp_path / "up.pid"
    file.write_text(f"{os.getppid()}\n")
    file.chmod(0o644)
    with file.open() as lock:
        lock_file(lock)
        assert process_of(tmp_path) is None
        message = rf"up.pid is locked by a process that does not run the cluster \({os.getpid()}\)"
        with pytest.raises(AlreadyRuns, match=message), claim(tmp_path):
            pass
    with claim(tmp_path):
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "x", "-1", "0", "999999", "99999999999", "1 2", "\u0663", "9" * 200])
def test_what_is_no_process_runs_no_cluster(text: str, tmp_path: Path) -> None:
    (tmp_path / "up.pid").write_text(text)
    assert process_of(tmp_path) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("1")
    (tmp_path / "up.pid").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"), claim(tmp_path):
        pass
    with pytest.raises(OSError, match="symbolic links"):
        running_process(tmp_path)
    assert (tmp_path / "other").read_text() == "1"


def test_the_folder_of_another_user_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(ForeignFolder, match=rf"^{tmp_path} belongs to another user \(id {user}\).* --data$"):
        make_folder(tmp_path)
    (tmp_path / "broker-1").mkdir()
    with (tmp_path / "broker-1" / "broker.log").open("w") as log:
        lock_file(log)
        assert left_nodes(tmp_path) == {"broker": [], "controller": []}


def test_nodes_that_were_left_are_found_by_role(tmp_path: Path) -> None:
    assert left_nodes(tmp_path / "none") == {"broker": [], "controller": []}
    for name in ("broker-1", "controller-101", "other-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "broker.log").touch()
    with (
        (tmp_path / "controller-101" / "broker.log").open("r+") as log,
        (tmp_path / "other-1" / "broker.log").open() as other,
    ):
        lock_file(log)
        lock_file(other)
        found = left_nodes(tmp_path)
    assert found["broker"] == []
    [holder] = found["controller"]
    holder.close()
    assert holder.pid == os.getpid()


@pytest.mark.parametrize("name", ["a\nnode.id=7", "a,b", "d7\udcff", "\x1b[1m"])
def test_names_that_a_folder_cannot_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^--data takes a folder [ -~]*$"):
        chosen_folder(tmp_path / name)
    assert chosen_folder(tmp_path / "a b\\c") == tmp_path / "a b\\c"


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
