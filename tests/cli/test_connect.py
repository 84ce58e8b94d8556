"""The common part of client commands: key=value texts, errors on standard error, one exit code for each kind of
error."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from signalbox.cli.connect import COMMAND_CONFIG, ask, fail, pairs, property_values, report, say, show, tell
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import BOOTSTRAP
from signalbox.client.admin_apis.admin_call import AdminResult
from signalbox.client.application_rows import CONSUMER_CONFIG, PRODUCER_CONFIG
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


def test_one_rejection_among_many_is_printed_and_sets_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    results = {
        "a": AdminResult(name="a"),
        "[b]": AdminResult(name="[b]", error=Error.TOPIC_ALREADY_EXISTS, message="it is there"),
    }
    with pytest.raises(typer.Exit) as ended:
        report(results, "created")
    captured = capsys.readouterr()
    assert (ended.value.exit_code, captured.out) == (1, "a: created\n")
    assert "[b]: it is there" in captured.err


def test_lines_have_no_escape_sequences_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    listing = Listing("name", title="of \x1b[2J\n")
    listing.add("\x1b]0;x\x07")
    say("group a\nb\x1b")
    tell({}, "first\x00", "second\u202e")
    show(listing)
    rejected = AdminResult(name="a", error=Error.INVALID_TOPIC_EXCEPTION, message="a\nforged\x1b")
    with pytest.raises(typer.Exit):
        report({"a": rejected}, "created")
    with pytest.raises(typer.Exit):
        fail("ours\nours, too: \x1b[31m s3://u:S3cret@h")
    captured = capsys.readouterr()
    assert all(line.isprintable() for line in captured.out.splitlines())
    assert captured.out.splitlines()[:4] == [r"group a\nb\x1b", r"first\x00", r"second\u202e", r"of \x1b[2J\n"]
    assert r"\x1b]0;x\x07" in captured.out
    assert r"a\nforged\x1b" in captured.err
    assert captured.err.endswith("ours\nours, too: \\x1b[31m s3://u:****@h\n")


def test_no_address_is_one_fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(BOOTSTRAP, "")
    with pytest.raises(typer.Exit):
        ask(lambda admin: admin.describe_cluster(), timeout_ms=200)
    assert capsys.readouterr().err == "bootstrap.servers: is missing. Name one broker as host:port\n"


@pytest.mark.parametrize(("bootstrap", "code"), [("127.0.0.1:1", 1), ("nonsense", 2), ("", 2), ("127.0.0.1:port", 2)])
def test_a_refused_connection_and_a_wrong_address(
    bootstrap: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(BOOTSTRAP, bootstrap)
    with pytest.raises(typer.Exit) as ended:
        ask(lambda admin: admin.describe_cluster(), timeout_ms=200)
    captured = capsys.readouterr()
    assert (ended.value.exit_code, captured.out) == (code, "")
    assert captured.err.strip()


@pytest.mark.parametrize("colors", [None, "1"])
def test_a_table_that_is_piped_is_as_wide_as_it_needs_to_be(
    colors: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if colors:
        monkeypatch.setenv("FORCE_COLOR", colors)
    table = Listing("name", "value")
    table.add("n" * 150, "v" * 150)
    show(table)
    [row] = [line for line in capsys.readouterr().out.splitlines() if "nnn" in line]
    assert row == f"│ {'n' * 150} │ {'v' * 150} │"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (None, 2, "client.properties cannot be read"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n", 2, "sasl.jaas.config"),
        ("security.protocol=NOTHING\n", 2, "client.properties:1: security.protocol"),
    ],
)
def test_how_to_log_in_is_read_from_a_file(
    text: str | None,
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "client.properties"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv(COMMAND_CONFIG, str(file))
    monkeypatch.setenv(BOOTSTRAP, "127.0.0.1:1")
    with pytest.raises(typer.Exit) as ended:
        ask(lambda admin: admin.describe_cluster(), timeout_ms=200)
    assert ended.value.exit_code == code
    assert says in capsys.readouterr().err


def test_known_keys_of_clients() -> None:
    texts = ["linger.ms=50", "acks=all"]
    assert property_values(texts, PRODUCER_CONFIG, "acks") == {"linger.ms": "50", "acks": "all"}
    assert property_values(None, CONSUMER_CONFIG) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fetch.min.byts=1", "--property fetch.min.byts: no such key: did you mean fetch.min.bytes? --command-config"),
        ("security.protocol=SSL", "no such key: expected one of auto.commit.interval.ms, auto.offset.reset,"),
        ("acks=1", "no such key"),
    ],
)
def test_unknown_keys_of_clients(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        property_values([text], CONSUMER_CONFIG)
    assert ended.value.exit_code == 2
    assert message in capsys.readouterr().err
