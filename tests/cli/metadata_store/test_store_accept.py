"""`signalbox store accept-older`: each broker of the command in its turn, none if a configuration is wrong. What is
accepted: `tests/server/store/test_older_store.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.metadata.store.sqlite.database import Database
from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stopped cluster of two brokers."""
    folder = tmp_path_factory.mktemp("stopped")
    with Cluster(brokers=2, folder=folder):
        pass
    return folder


def properties(folder: Path, broker_id: int, store: str = "metadata.db") -> Path:
    file = folder / f"broker-{broker_id}.properties"
    file.write_text(
        f"node.id={broker_id}\nlisteners=PLAINTEXT://127.0.0.1:0\n"
        f"signalbox.metadata.store=sqlite:{folder / store}\nlog.dirs={folder / f'broker-{broker_id}'}\n"
    )
    return file


def accept_older(files: list[Path], *options: str) -> Result:
    configs = [argument for file in files for argument in ("--config", str(file))]
    return CliRunner().invoke(app, ["store", "accept-older", *configs, *options])


def test_each_broker_has_its_line_in_the_order_of_the_command(folder: Path) -> None:
    done = accept_older([properties(folder, 2), properties(folder, 1)])
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["broker 2", "broker 1"]
    assert all("nothing to accept" in line for line in lines)


def test_json_has_the_lines_of_all_brokers(folder: Path) -> None:
    done = accept_older([properties(folder, 2), properties(folder, 1)], "--json")
    document = json.loads(done.stdout)
    assert [note.partition(":")[0] for note in document["notes"]] == ["broker 2", "broker 1"]


def test_an_override_replaces_the_key_of_every_file(folder: Path, tmp_path: Path) -> None:
    Database(tmp_path / "empty.db").close()
    files = [properties(folder, 1, "no-such.db"), properties(folder, 2, "no-such.db")]
    done = accept_older(files, "--override", f"signalbox.metadata.store=sqlite:{folder / 'metadata.db'}")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("nothing to accept") == 2
    other = accept_older(files, "--override", f"signalbox.metadata.store=sqlite:{tmp_path / 'empty.db'}")
    assert (other.exit_code, other.stdout) == (1, "")
    assert other.stderr == f"sqlite:{tmp_path / 'empty.db'} holds no cluster: it has no /cluster/id\n"


def test_no_broker_is_accepted_if_one_of_the_files_is_wrong(folder: Path) -> None:
    wrong = folder / "wrong.properties"
    wrong.write_text("node.id=x\n")
    done = accept_older([properties(folder, 1), wrong])
    assert (done.exit_code, done.stdout) == (2, "")
    assert accept_older([properties(folder, 1), folder / "none.properties"]).exit_code == 2
