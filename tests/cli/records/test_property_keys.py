"""Keys of `-X`: a mistyped one ends the command and names the one that may be meant."""

from __future__ import annotations

import pytest
import typer

from signalbox.cli.records.property_keys import property_values
from signalbox.client.application_rows import CONSUMER_CONFIG, PRODUCER_CONFIG


def test_known_keys() -> None:
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
def test_unknown_keys(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        property_values([text], CONSUMER_CONFIG)
    assert ended.value.exit_code == 2
    assert message in capsys.readouterr().err
