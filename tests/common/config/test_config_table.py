from __future__ import annotations

import pytest

from signalbox.common.config.config_table import (
    ConfigFault,
    ConfigRow,
    ConfigTable,
    ConfigType,
    at_least,
    between,
    describe_type,
    format_value,
    one_of,
    read_listener_key,
)
from signalbox.network.config_rows import NETWORK_CONFIG

TABLE = ConfigTable(
    [
        ConfigRow("size.bytes", ConfigType.INT, 10, "A size.", at_least(0)),
        ConfigRow("on", ConfigType.BOOLEAN, False, "A switch."),
        ConfigRow("names", ConfigType.LIST, [], "Names.", one_of("a", "b")),
        ConfigRow("share", ConfigType.DOUBLE, 0.5, "A share.", between(0, 1)),
    ]
)


def test_reads_what_is_given_over_the_defaults() -> None:
    values, faults = TABLE.read({"size.bytes": " 42 ", "names": "a, b,", "unknown": "x"})
    assert values == {"size.bytes": 42, "on": False, "names": ["a", "b"], "share": 0.5}
    assert faults == []


def test_all_faults_come_at_once_and_name_key_and_entry() -> None:
    _, faults = TABLE.read({"size.bytes": "-1", "on": "maybe", "names": "a,c", "share": "2"})
    assert [(fault.key, fault.entry) for fault in faults] == [
        ("size.bytes", "-1"),
        ("on", "maybe"),
        ("names", "a,c"),
        ("share", "2"),
    ]
    assert "below 0" in faults[0].problem
    assert "'c' is not one of a, b" in faults[2].problem


@pytest.mark.parametrize("text", ["x", "", "3000000000", "1_000", "\u0661", "\u00a01", "1.0", "0x1", "9" * 5000])
def test_an_int_is_a_32_bit_number(text: str) -> None:
    with pytest.raises(ValueError):
        TABLE["size.bytes"].parse(text)


@pytest.mark.parametrize(("text", "value"), [("+7", 7), ("-0", 0), ("007", 7), ("\t\x0042\r\n", 42)])
def test_numbers_as_java_reads_them(text: str, value: int) -> None:
    assert TABLE["size.bytes"].parse(text) == value


@pytest.mark.parametrize("text", ["nan", "0_1", "infinity", "\u0661", ".", "1e", ""])
def test_numbers_that_only_python_accepts_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        TABLE["share"].parse(text)


@pytest.mark.parametrize(("text", "value"), [(" .5 ", 0.5), ("1.", 1.0), ("+5e-1", 0.5)])
def test_decimals(text: str, value: float) -> None:
    assert TABLE["share"].parse(text) == value


def test_two_rows_of_one_name_are_rejected() -> None:
    row = ConfigRow("a", ConfigType.STRING, None, "")
    with pytest.raises(ValueError, match="two rows"):
        ConfigTable([row, row])


def test_values_are_shown_as_kafka_shows_them() -> None:
    assert [format_value(value) for value in (True, ["a", "b"], None, 3)] == ["true", "a,b", None, "3"]
    assert [format_value(value) for value in (0.5, 1.7976931348623157e308)] == ["0.5", "1.7976931348623157E308"]


def test_a_fault_reads_as_a_sentence() -> None:
    fault = ConfigFault("listeners", "X://", "has no port", "Write X://host:9092", "server.properties:3")
    assert str(fault) == "server.properties:3: listeners (X://): has no port. Write X://host:9092"


def test_a_fault_shows_no_password() -> None:
    fault = ConfigFault("zookeeper.connect", "u:S3cret@h", "'u:S3cret@h': 'S3cret@h' is no port", "Expected host:port")
    assert str(fault) == "zookeeper.connect (u:****@h): 'u:****@h': '****@h' is no port. Expected host:port"


def test_a_fault_is_one_line_whatever_was_written() -> None:
    fault = ConfigFault("a\x1b[2J", "x" * 300, "'\ud800\n' " + "y" * 1000, "Write 1")
    assert str(fault) == (
        f"a\\x1b[2J ({'x' * 200}... (300 characters)): '\\ud800\\n' {'y' * 595}... (1005 characters). Write 1"
    )


@pytest.mark.spec("L5")
@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("listener.name.client.max.connections", ("client", "", "max.connections")),
        ("listener.name.client.ssl.keystore.location", ("client", "", "ssl.keystore.location")),
        ("listener.name.client.plain.sasl.jaas.config", ("client", "plain", "sasl.jaas.config")),
        ("listener.name.in_side.scram-sha-256.sasl.jaas.config", ("in_side", "scram-sha-256", "sasl.jaas.config")),
        ("listener.name.client.listeners", None),
        ("listener.name.client.no.such", None),
        ("listener.name.client", None),
        ("listener.name..max.connections", None),
        ("max.connections", None),
    ],
)
def test_reading(key: str, found: tuple[str, str, str] | None) -> None:
    read = read_listener_key(key, NETWORK_CONFIG)
    assert (read and (read.listener, read.mechanism, read.row.name)) == found


def test_a_type_in_words() -> None:
    assert describe_type(ConfigRow("k", ConfigType.INT, 3, "")) == "a value of type int, by default '3'"
    assert describe_type(ConfigRow("k", ConfigType.STRING, None, "")) == "a value of type string"
