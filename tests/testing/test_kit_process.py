"""The test kit as a process: `python -m signalbox.testing`."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.testing.__main__ import main
from tests.testing.faults.probes import metadata_of

pytestmark = pytest.mark.spec("R7")

_CARELESS = """
import sys
for line in sys.stdin:
    print(line.split()[0], "ok", flush=True)
"""


@pytest.fixture(autouse=True)
def _logging_stays() -> Iterator[None]:
    yield
    logging.disable(logging.NOTSET)


def answers(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_faults_are_lines_and_every_line_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    swap = "SwapAddresses one=1 other=2"
    lines = [swap, "", "Delay node=1 delay_ms=5", "Stall node=7", "Nothing", swap, "heal", "stop", "not read"]
    assert main(["cluster", "--brokers", "2"], io.StringIO("\n".join(lines))) == 0
    addresses, *rest = answers(capsys.readouterr().out)
    assert addresses["properties"] == {
        "bootstrap.servers": addresses["bootstrap.servers"], "security.protocol": "PLAINTEXT"
    }  # fmt: skip
    assert rest[0] == {"applied": "SwapAddresses one=1 other=2"}
    assert rest[1] == {"applied": "Delay node=1 delay_ms=5"}
    assert rest[2] == {"error": "there is no broker 7; there are 1, 2"}
    assert "there is no fault 'Nothing'" in rest[3]["error"]
    assert "both change" in rest[4]["error"]
    assert rest[5:] == [{"healed": True}]


def test_the_topics_are_there_while_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    def lines() -> Iterator[str]:
        [addresses] = answers(capsys.readouterr().out)
        host, _, port = addresses["bootstrap.servers"].partition(":")
        topics = {topic.name: len(topic.partitions) for topic in metadata_of((host, int(port))).topics}
        assert topics == {"orders": 3, "other": 1}
        yield "stop\n"

    commands: Any = lines()
    assert main(["cluster", "--brokers", "1", "--topic", "orders=3", "--topic", "other"], commands) == 0


def test_more_listeners(capsys: pytest.CaptureFixture[str]) -> None:
    swap = "SwapAddresses one=1 other=2 listener=EXTERNAL"
    options = ["cluster", "--brokers", "2", "--listener", "EXTERNAL=SASL_PLAINTEXT"]
    assert main(options, io.StringIO(f"{swap}\nstop\n")) == 0
    addresses, applied = answers(capsys.readouterr().out)
    external = addresses["listeners"]["EXTERNAL"]
    assert external["security.protocol"] == "SASL_PLAINTEXT"
    assert external["bootstrap.servers"] != addresses["bootstrap.servers"]
    assert applied == {"applied": swap}


def test_options_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "--brokers", "0"], io.StringIO()) == 2
    assert "at least one broker" in capsys.readouterr().err
    assert main(["drill", "--story", "99"]) == 2
    assert "there are 1 to 12" in capsys.readouterr().err


def test_a_drill_of_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "careless.py").write_text(_CARELESS)
    client = ["--", sys.executable, str(tmp_path / "careless.py")]
    assert main(["drill", "--story", "12", "--window", "0.2", "--json", *client]) == 1
    [result] = json.loads(capsys.readouterr().out)
    assert (result["lost"], result["passed"]) == (12, False)


def test_a_drill_of_our_own_client(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", "--story", "4", "--window", "1.5"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"
