"""What client commands share: key=value texts, errors on standard error, one exit code for each."""

from __future__ import annotations

import pytest
import typer

from signalbox.cli.connect import ask, pairs, report
from signalbox.client.admin_call import Outcome
from signalbox.protocol.error_table import Error


def test_pairs() -> None:
    assert pairs(["a=1", "b=", "c=x=y"], "--config") == {"a": "1", "b": "", "c": "x=y"}
    assert pairs(None, "--config") == {}


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_what_is_no_pair(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        pairs([text], "--config")
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err == f"--config takes key=value, not {text!r}\n"


def test_one_refusal_among_many_is_said_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = {
        "a": Outcome(name="a"),
        "[b]": Outcome(name="[b]", error=Error.TOPIC_ALREADY_EXISTS, message="it is there"),
    }
    with pytest.raises(typer.Exit) as ended:
        report(outcomes, "created")
    told = capsys.readouterr()
    assert (ended.value.exit_code, told.out) == (1, "a: created\n")
    assert "[b]: it is there" in told.err


@pytest.mark.parametrize("bootstrap", ["127.0.0.1:1", "nonsense", "", "127.0.0.1:port"])
def test_nobody_there(bootstrap: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        ask(bootstrap, lambda admin: admin.describe_cluster(), timeout_ms=200)
    told = capsys.readouterr()
    assert (ended.value.exit_code, told.out) == (1, "")
    assert told.err.strip()
