"""Keys that nobody will look at: said at start, with what was probably meant."""

from __future__ import annotations

import pytest

from signalbox.wiring.config_warnings import doubtful_keys
from signalbox.wiring.configuration import NODE_CONFIG
from signalbox.wiring.without_effect import WITHOUT_EFFECT
from tests.wiring.settings import config_of


@pytest.mark.spec("L5")
@pytest.mark.parametrize(
    ("key", "doubt"),
    [
        ("num.partitions", None),
        ("num.partition", "is not a known key (did you mean num.partitions?)"),
        ("zzzz", "is not a known key"),
        ("listener.name.client.ssl.keystore.location", None),
        ("listener.name.client.plain.sasl.jaas.config", None),
        ("listener.name.client.scram-sha-256.sasl.jaas.config", None),
        (
            "listener.name.client.ssl.keystore.locatio",
            "is not a known key (did you mean ssl.keystore.location?)",
        ),
        (
            "listener.name.clint.ssl.keystore.location",
            "is about a listener that is not in listeners (did you mean client?)",
        ),
        ("listener.name.client.num.partitions", "cannot be set for one listener: it holds for the whole broker"),
        ("listener.name.client.principal.builder.class", "has no effect: the default builder is used"),
        ("log.preallocate", "has no effect: a segment's file grows as it is written"),
        ("delete.retention.ms", "is not a known key (did you mean log.retention.ms?)"),
        ("listener.name.", "is about a listener that is not in listeners"),
    ],
)
def test_keys(key: str, doubt: str | None) -> None:
    found = dict(doubtful_keys([key], ["CLIENT", "REPLICATION"], NODE_CONFIG))
    assert found == ({} if doubt is None else {key: doubt})


def test_known_keys_without_effect_say_so() -> None:
    told = dict(doubtful_keys([row.name for row in NODE_CONFIG], [], NODE_CONFIG))
    assert told == {key: f"has no effect: {why}" for key, why in WITHOUT_EFFECT.items() if key in NODE_CONFIG}
    config = config_of(principal__builder__class="org.example.Builder")
    assert any("principal.builder.class has no effect" in warning for warning in config.warnings)
