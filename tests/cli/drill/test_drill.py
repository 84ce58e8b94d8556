"""`signalbox drill`, with relays that lead nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.drill.drill import FAULT_COMMANDS
from signalbox.cli.main import app
from signalbox.testing.control.drill_relays import DrillRelays, RelayedPorts
from signalbox.testing.faults import FAULTS
from signalbox.testing.free_ports import free_ports

pytestmark = pytest.mark.spec("R7")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    ports = {node: RelayedPorts(port, port + 1, port + 2) for node, port in zip((1, 2), free_ports(2), strict=True)}
    with DrillRelays(tmp_path, ports):
        yield tmp_path


def drill(folder: Path, command: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["drill", command, "--data", str(folder), *arguments])


def listed(folder: Path) -> list[str]:
    return [row["fault"] for row in json.loads(drill(folder, "list", "--json").stdout)["faults"]]


def test_faults_are_applied_listed_and_cleared(folder: Path) -> None:
    assert "no faults" in drill(folder, "list").stdout
    assert drill(folder, "swap", "1", "2").stdout == "1: SwapAddresses one=1 other=2\n"
    assert json.loads(drill(folder, "delay", "1", "50", "--json").stdout)["number"] == 2
    assert listed(folder) == ["SwapAddresses one=1 other=2", "Delay node=1 delay_ms=50"]
    table = drill(folder, "list").stdout
    assert "SwapAddresses one=1 other=2" in table
    assert drill(folder, "clear", "2").stdout == "cleared: 2\n"
    assert drill(folder, "clear").stdout == "cleared: 1\n"
    assert drill(folder, "clear").stdout == "cleared: none\n"
    assert listed(folder) == []


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["send-elsewhere", "1", "127.0.0.1:9"], "SendElsewhere node=1 to=127.0.0.1:9"),
        (["send-elsewhere", "1", "2", "--keep-connections"], "SendElsewhere node=1 to=2 cut=false"),
        (["balance", "1", "1,2"], "BalanceAddress node=1 over=1,2"),
        (["close-port", "1"], "RefuseConnections node=1"),
        (["blackhole", "1"], "Stall node=1"),
        (["mute", "1"], "DropResponses node=1"),
        (["half-open", "1"], "HalfOpen node=1"),
        (["reset", "1", "--once"], "ResetConnections node=1 once=true"),
        (["cut-after", "1", "100", "--of-requests"], "CutAfterBytes node=1 size_bytes=100 of_responses=false"),
        (
            ["answer", "Produce", "NOT_LEADER_OR_FOLLOWER", "--times", "all", "--client-id", "app", "--node", "2"],
            "AnswerWithError api=Produce node=2 times=null client_id=app error=NOT_LEADER_OR_FOLLOWER",
        ),
        (["delay-response", "Fetch", "20", "--first", "2"], "DelayResponse api=Fetch first=2 delay_ms=20"),
        (["drop-response", "Fetch"], "StallResponse api=Fetch"),
        (["swap", "1", "2", "--listener", "CLIENT"], "SwapAddresses one=1 other=2 listener=CLIENT"),
        (["answer-as-node", "1", "7", "--client-id", "app"], "WrongNode node=1 is_node=7 client_id=app"),
        (["answer-as-node", "1", "7"], "WrongNode node=1 is_node=7"),
        (["answer-as-cluster", "1", "other"], "WrongCluster node=1 cluster_id=other"),
        (["cap-api-versions", "1", "3"], "CapApiVersions node=1 version=3"),
        (["cap-versions", "1", "Fetch", "11"], "CapVersions node=1 api=Fetch highest=11"),
        (["throttle", "Fetch", "500", "--topic", "t"], "Throttle api=Fetch topic=t throttle_ms=500"),
        (["rewrite-metadata", "1,2", "--hidden", "3"], "RewriteMetadata nodes=1,2 hidden=3"),
    ],
)
def test_each_command_is_a_fault(folder: Path, arguments: list[str], fault: str) -> None:
    result = drill(folder, *arguments)
    assert (result.exit_code, result.stdout) == (0, f"1: {fault}\n"), result.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["swap", "1", "9"], "there is no broker 9; there are 1, 2"),
        (["swap", "1", "1"], "two brokers are swapped: one and other are both 1"),
        (["send-elsewhere", "1", "127.0.0.1:99999"], "the port of to is 1 to 65535, not 99999"),
        (["send-elsewhere", "1", "1"], "the address of broker 1 leads to it already"),
        (["balance", "2", ""], "over has at least one node id"),
        (["balance", "2", "1,x"], "over is a list of numbers, as 1,2, not '1,x'"),
        (["cut-after", "1", "0"], "size_bytes is 1 to 2147483647, not 0"),
        (["cut-after", "--", "1", "-1"], "size_bytes is 1 to 2147483647, not -1"),
        (["delay", "--", "1", "-5"], "delay_ms is 0 to 86400000, not -5"),
        (["delay", "2", "1e400"], "delay_ms is 0 to 86400000, not inf"),
        (["delay", "2", "NaN"], "delay_ms is 0 to 86400000, not nan"),
        (["delay-response", "--", "Fetch", "-5"], "delay_ms is 0 to 86400000, not -5"),
        (["answer", "Fetch", "NONE", "--delay-ms", "-5"], "delay_ms is 0 to 86400000, not -5"),
        (["throttle", "--", "Produce", "-5"], "throttle_ms is 0 to 2147483647, not -5"),
        (["answer-as-node", "--", "1", "-5"], "is_node is 0 to 2147483647, not -5"),
        (["cap-api-versions", "1", "9"], "version is 3 to 4, not 9"),
        (["cap-versions", "1", "Fetch", "11", "--lowest", "14"], "lowest is 0 to 11, not 14"),
        (["cap-versions", "1", "Fetch", "999"], "highest is -1 to 1"),
        (["rewrite-metadata", "1", "--addresses", "nonsense"], "addresses is addresses by node id, as {"),
        (["rewrite-metadata", "1", "--addresses", '{"1":"x"}'], "addresses is addresses by node id, as {"),
        (["rewrite-metadata", "1", "--addresses", '{"one":["h",1]}'], "addresses is addresses by node id, as {"),
        (["rewrite-metadata", "1"], "nothing is rewritten: give addresses or hidden"),
        (["rewrite-metadata", "", "--hidden", "2"], "nodes has at least one node id"),
        (["swap", "one", "2"], "one is a whole number, not 'one'"),
        (["answer", "Produced", "NONE"], "there is no API 'Produced'; names are those of Kafka"),
        (["answer", "Produce", "NOPE"], "there is no error 'NOPE'; names are those of Kafka"),
        (["answer", "Heartbeat", "NONE", "--topic", "t"], "Heartbeat requests have no topics: leave out topic=t"),
        (["throttle", "SaslHandshake", "5"], "SaslHandshake responses have no throttle time"),
        (["move-coordinator"], "a coordinator has a group or a transactional_id: give one of them"),
        (["swap", "1", "2", "--listener", "EXTERNAL"], "broker 1 has no listener 'EXTERNAL'; there are CLIENT"),
        (["answer-as-node", "1", "7", "--listener", "X"], "broker 1 has no listener 'X'; there are CLIENT"),
        (["clear", "5"], "there is no fault 5; applied are: none"),
        (["swap", "1"], "OTHER"),
    ],
)
def test_errors_name_what_is_wrong(folder: Path, arguments: list[str], error: str) -> None:
    result = drill(folder, *arguments)
    assert result.exit_code == 2
    assert error in result.stderr
    assert result.stdout == ""


def test_a_broker_that_is_not_there_is_named_whatever_is_applied(folder: Path) -> None:
    drill(folder, "swap", "1", "2")
    assert drill(folder, "swap", "1", "9").stderr == "there is no broker 9; there are 1, 2\n"
    conflict = "SwapAddresses one=2 other=1 and SwapAddresses one=1 other=2, which is applied, both change broker-1"
    assert drill(folder, "swap", "2", "1").stderr.startswith(conflict)


def test_without_a_drill_the_folder_is_named(tmp_path: Path) -> None:
    result = drill(tmp_path, "swap", "1", "2")
    assert (result.exit_code, result.stderr) == (1, f"no cluster of `signalbox up --drill` runs in {tmp_path}\n")


def test_every_fault_has_a_command_and_both_are_in_the_documentation() -> None:
    assert {row.fault for row in FAULT_COMMANDS} == set(FAULTS)
    page = (Path(__file__).parents[3] / "docs" / "testing-your-client.md").read_text(encoding="utf-8")
    assert [name for name in FAULTS if f"`{name}" not in page] == []
    assert [row.name for row in FAULT_COMMANDS if f"`{row.name} " not in page] == []
