"""`signalbox check`: more than twenty invalid configurations, each with its expected faults in a file beside it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.wiring.serve import load_config
from tests.wiring.test_serve import properties

BAD = Path(__file__).parents[1] / "data" / "bad-configs"
SINGLE = sorted(BAD.glob("*.properties"))
SEVERAL = sorted(path for path in BAD.iterdir() if path.is_dir())
ABOUT_PLAINTEXT = "cannot be distinguished from clients there"


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def faults(self) -> list[str]:
        """The faults, without the line at the end that counts them."""
        return self.err.splitlines()[:-1]

    @property
    def warnings(self) -> list[str]:
        lines = [line.removeprefix("warning: ") for line in self.out.splitlines() if line.startswith("warning: ")]
        return [line for line in lines if ABOUT_PLAINTEXT not in line]


def check(folder: Path, *files: str) -> Ended:
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, ["check", *files])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return without_secrets(Ended(done.exit_code, done.stdout, done.stderr))


def start(folder: Path, file: str) -> Ended:
    """The faults of a start, which reads its configuration so; nothing is started if it is accepted."""
    with contextlib.chdir(folder), redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        config = load_config(Path(file), [])
    return without_secrets(Ended(2 if config is None else 0, out.getvalue(), err.getvalue()))


def start_process(folder: Path, file: str) -> Ended:
    """A process: it would serve if the configuration was accepted."""
    arguments = [sys.executable, "-m", "signalbox.wiring.serve", file]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return without_secrets(Ended(done.returncode, done.stdout, done.stderr))


def without_secrets(ended: Ended) -> Ended:
    assert "hunter2" not in ended.out + ended.err
    return ended


def assert_reported(lines: list[str], expected: list[dict[str, Any]]) -> None:
    """Each line matches the file, key and entry of one expected fault, and no line is left."""
    rest = list(lines)
    for each in expected:
        entry = f" ({each['entry']})" if each["entry"] else ""
        matches = [
            line
            for line in rest
            if line.startswith(each["file"]) and f": {each['key']}{entry}: " in line and each["gist"] in line
        ]
        assert matches, f"not reported: {each}\nleft: {rest}"
        rest.remove(matches[0])
    assert rest == []


@pytest.mark.spec("L1")
@pytest.mark.spec("L2")
@pytest.mark.spec("L3")
@pytest.mark.spec("L4")
@pytest.mark.spec("L5")
@pytest.mark.spec("L6")
@pytest.mark.spec("C1")
@pytest.mark.parametrize("file", SINGLE, ids=lambda path: path.stem)
def test_a_bad_configuration(file: Path, tmp_path: Path) -> None:
    expected = tomllib.loads(file.with_suffix(".toml").read_text())
    checked = check(BAD, file.name)
    assert checked.code == expected["exit"]
    assert_reported(checked.faults, expected["fault"])
    # A start reports the same faults and creates no files.
    (tmp_path / file.name).write_text(file.read_text())
    started = start(tmp_path, file.name)
    assert (started.code, started.out) == (2, "")
    assert started.faults == checked.faults
    assert os.listdir(tmp_path) == [file.name]


def test_a_process_ends_with_the_faults_and_exit_code_2(tmp_path: Path) -> None:
    file = SINGLE[0]
    (tmp_path / file.name).write_text(file.read_text())
    assert start_process(tmp_path, file.name) == start(tmp_path, file.name)
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.spec("L4")
@pytest.mark.spec("L12")
@pytest.mark.spec("C1")
@pytest.mark.spec("C6")
@pytest.mark.parametrize("folder", SEVERAL, ids=lambda path: path.stem)
def test_brokers_that_do_not_go_together(folder: Path) -> None:
    expected = tomllib.loads((folder / "expected.toml").read_text())
    checked = check(folder, *sorted(path.name for path in folder.glob("*.properties")))
    assert checked.code == expected["exit"]
    assert_reported(checked.faults if checked.code else checked.err.splitlines(), expected.get("fault", []))
    assert_reported(checked.warnings, expected.get("warning", []))
    assert "expected.toml" in os.listdir(folder)
    assert not any(name.endswith(".db") or name.startswith("data-") for name in os.listdir(folder))


def test_there_are_enough_of_them() -> None:
    assert len(SINGLE) + len(SEVERAL) >= 20


def test_what_is_fine_is_shown(tmp_path: Path) -> None:
    file = properties(
        tmp_path,
        listeners="CLIENT://:19092,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:19094",
        listener__security__protocol__map="CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
        sasl__enabled__mechanisms="PLAIN",
        listener__name__client__max__connections="7",
        **{
            "listener.name.client.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule"
            ' required user_a="hunter2";'
        },
    )
    done = check(tmp_path, file.name)
    assert (done.code, done.err) == (0, "")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.out.splitlines() if "│" in line]
    assert cells == [
        ["CLIENT", "*:19092", "(this machine's name):19092", "SASL_PLAINTEXT", "data", "", "PLAIN", "7 connections"],
        [
            "REPLICATION",
            "127.0.0.1 any free port",
            "127.0.0.1 any free port",
            "PLAINTEXT",
            "data",
            "inter-broker",
            *[""] * 2,
        ],
        ["CONTROL", "127.0.0.1:19094", "127.0.0.1:19094", "PLAINTEXT", "control", "privileged", "", ""],
    ]
    assert done.out.splitlines()[-1] == "1 file, 0 faults, 2 warnings"
    assert os.listdir(tmp_path) == [file.name]


def test_an_override_without_a_value_is_exit_code_2(tmp_path: Path) -> None:
    done = check(tmp_path, properties(tmp_path).name, "--override", "ssl.key.password")
    assert (done.code, done.err) == (2, "--override takes key=value, not 'ssl.key.password'\n")


def test_files_that_cannot_be_read_are_exit_code_2(tmp_path: Path) -> None:
    good = properties(tmp_path)
    (tmp_path / "utf16.properties").write_bytes("node.id=1".encode("utf-16"))
    (tmp_path / "program").write_bytes(os.urandom(4_096))
    done = check(tmp_path, good.name, "nowhere", ".", "utf16.properties", "program")
    assert done.code == 2
    assert [line.partition(" cannot be read: ")[0] for line in done.faults] == [
        "nowhere",
        ".",
        "utf16.properties",
        "program",
    ]
    assert done.err.splitlines()[-1].startswith("5 files, 4 faults, ")
    assert check(tmp_path).code == 2
