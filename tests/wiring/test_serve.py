"""The broker as a process: one line when it is ready, an ordered stop, and a failed start that reports every fault."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError
from signalbox.configuration.configuration import NodeConfig
from signalbox.transport.time_slice import has_short_slices, request_short_slices
from signalbox.wiring.serve import load_config, main
from tests.configuration.settings import VALUES


def properties(folder: Path, **changes: str) -> Path:
    values = {
        **VALUES,
        "signalbox.metadata.store": f"sqlite:{folder / 'metadata.db'}",
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "signalbox.audit.topic.replication.factor": "1",
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return file


def test_overrides_win_and_are_named_as_the_origin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = properties(tmp_path, num__partitions="3")
    config = load_config(file, ["num.partitions=9"])
    assert config is not None
    assert config["num.partitions"] == 9
    assert load_config(file, ["num.partitions=many"]) is None
    assert "num.partitions (many): 'many' is not a whole number" in capsys.readouterr().err


def test_every_fault_at_once_each_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "node.id=one\n# a comment\nlisteners=CLIENT://:9092,CLIENT://:9093\nlog.retention.ms=soon\n"
        "max.connections.per.ip.overrides=nonsense\n"
    )
    assert main([str(file)]) == 2
    lines = capsys.readouterr().err.splitlines()
    for key, line in (("node.id", 1), ("listeners", 3), ("log.retention.ms", 4)):
        assert any(text.startswith(f"{file}:{line}: {key}") for text in lines), lines
    assert any(text.startswith(f"{file}:5: max.connections.per.ip.overrides") for text in lines), lines
    assert any("signalbox.metadata.store" in text and "is missing" in text for text in lines)
    assert lines[-1] == f"not started: {len(lines) - 1} faults in the configuration"
    assert len(set(lines)) == len(lines)


def test_unknown_keys_beside_a_fault_are_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=one\nno.such.key=1\n")
    assert load_config(file, []) is None
    assert capsys.readouterr().err.startswith(f"warning: {file}:2: no.such.key is not a known key\n")


@pytest.mark.parametrize("text", [None, "listener\\uZZZZ=1\n", "\xff"])
def test_files_that_cannot_be_read(tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    assert main([str(file)]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["a", "--override"], ["a", "b=c"], ["a", "--overide", "b=c"], ["a", "--override=b=c"]]
)
def test_arguments_that_are_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage:")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (StartError([ConfigFault("log.dirs", "/a", "is full", "Make room")]), "not started: log.dirs (/a): is full."),
        (KeyError("unforeseen"), "Unexpected error, the node stops"),
    ],
)
def test_whatever_ends_a_start_is_exit_code_1(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    text: str,
) -> None:
    async def failing(config: NodeConfig) -> None:
        raise error

    monkeypatch.setattr("signalbox.wiring.serve.serve", failing)
    monkeypatch.setattr("signalbox.wiring.serve.start_logging", lambda node: None)
    assert main([str(properties(tmp_path))]) == 1
    last = caplog.records[-1]
    assert last.getMessage().startswith(text)
    assert (last.exc_info is not None) == isinstance(error, KeyError)


def test_a_wrong_log_level_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "loud")
    assert main([str(properties(tmp_path))]) == 2
    assert (
        "not started: LOG_LEVEL of the environment is 'loud': expected one of DEBUG, INFO," in capsys.readouterr().err
    )


def start(file: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "signalbox.wiring.serve", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LOG_FORMAT": "json"},
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_line_when_ready_and_an_orderly_end(tmp_path: Path, number: signal.Signals) -> None:
    process = start(properties(tmp_path, num__partitons="3"))
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    assert (ready["event"], ready["node_id"]) == ("ready", 1)
    with ThreadPoolExecutor(1) as thread:
        granted = thread.submit(request_short_slices).result()
    assert has_short_slices(process.pid) == granted
    process.send_signal(number)
    rest, log = process.communicate(timeout=20)
    lines = [json.loads(line) for line in log.splitlines()]
    assert (process.returncode, rest) == (0, "")
    assert "num.partitons is not a known key (did you mean num.partitions?)" in lines[0]["message"]
    assert lines[-1]["message"] == "stopped"


def test_a_broker_that_is_stopped_before_it_is_ready_exits_at_once(tmp_path: Path) -> None:
    # Another process is registered with this node's id: the start waits until its session would have expired.
    first = start(properties(tmp_path, broker__session__timeout__ms="30000"))
    assert first.stdout is not None
    first.stdout.readline()
    second = start(properties(tmp_path, log__dirs=str(tmp_path / "other")))
    assert second.stderr is not None
    for line in second.stderr:
        if "cannot be distinguished" in line:  # warnings are the first lines, signals are handled right after them
            break
    os.set_blocking(second.stderr.fileno(), True)
    second.send_signal(signal.SIGTERM)
    try:
        second.communicate(timeout=15)
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=20)
    assert second.returncode in (0, 1, -signal.SIGTERM)


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    first = start(properties(tmp_path))
    assert first.stdout is not None
    address = json.loads(first.stdout.readline())["bound"]["CLIENT"]
    (tmp_path / "second").mkdir()
    listeners = VALUES["listeners"].replace("CLIENT://127.0.0.1:0", f"CLIENT://{address}")
    second = start(properties(tmp_path / "second", listeners=listeners))
    try:
        _, log = second.communicate(timeout=20)
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=20)
    assert second.returncode == 1
    last = json.loads(log.splitlines()[-1])
    assert last["message"].startswith("not started: ")
    assert "Traceback" not in log
