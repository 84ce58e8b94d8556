"""systemd accepts the units and finds them closed; the restart rule matches the exit codes of a node and a pipeline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.system import provision

pytestmark = pytest.mark.timeout(400)
_UNITS = Path(__file__).parents[3] / "deploy" / "systemd"
NODE, PIPELINE = "signalbox@.service", "signalbox-pipeline@.service"
_PROGRAM = "/opt/signalbox/bin/signalbox"


@pytest.fixture(params=[NODE, PIPELINE])
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The unit with a program that is on this machine."""
    text = (_UNITS / request.param).read_text()
    assert text.count(_PROGRAM) >= 1
    file: Path = tmp_path / request.param
    file.write_text(text.replace(_PROGRAM, sys.executable))
    return file


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [provision.command("systemd-analyze"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_systemd_has_nothing_to_say_about_it(unit: Path) -> None:
    done = analyze("verify", str(unit))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_systemd_names_a_key_that_it_does_not_know(unit: Path) -> None:
    """So the test before would fail for a mistyped key."""
    unit.write_text(unit.read_text().replace("KillMode=", "KillMod="))
    assert "Unknown key 'KillMod'" in analyze("verify", str(unit)).stderr


def test_a_service_can_do_little_else_on_its_host(unit: Path) -> None:
    done = analyze("security", "--offline=true", "--threshold=20", "--no-pager", str(unit))
    assert done.returncode == 0, done.stdout


def test_a_wrong_configuration_is_not_started_again(tmp_path: Path) -> None:
    """The exit code that the unit excludes from restarts is the one of `start`."""
    assert "RestartPreventExitStatus=2\n" in (_UNITS / NODE).read_text()
    wrong = tmp_path / "server.properties"
    wrong.write_text("listeners=NOWHERE\n")
    done = subprocess.run(
        [sys.executable, "-m", "signalbox.wiring.serve", str(wrong)], capture_output=True, timeout=300
    )
    assert done.returncode == 2


@pytest.mark.spec("P9")
def test_a_pipeline_with_a_wrong_option_is_not_started_again(tmp_path: Path) -> None:
    text = (_UNITS / PIPELINE).read_text()
    assert "RestartPreventExitStatus=2\n" in text
    (line,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    arguments = line.removeprefix(f"ExecStart={_PROGRAM} ").replace(
        "$PIPELINE", f"tables t -b 127.0.0.1:1 --warehouse {tmp_path} --profile nonsense --ending-offsets nonsense"
    )
    done = subprocess.run(
        [Path(sys.executable).with_name("signalbox"), *arguments.split()], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    assert "nonsense" in done.stderr
