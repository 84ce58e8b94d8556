from __future__ import annotations

import pytest

from signalbox.network.listeners.jaas_location import jaas_file_location, java_property
from tests.network.serving import configured

PROPERTY = "java.security.auth.login.config"


@pytest.mark.spec("L6")
@pytest.mark.parametrize(
    ("property_text", "options", "location"),
    [
        ({}, "", ("", "")),
        ({}, "-Xmx1g -Dother=x", ("", "")),
        ({}, f"-Xmx1g -D{PROPERTY}=/etc/a.conf -Dx=y", ("/etc/a.conf", f"KAFKA_OPTS -D{PROPERTY}=")),
        ({}, f"'-D{PROPERTY}=/etc/a b.conf'", ("/etc/a b.conf", f"KAFKA_OPTS -D{PROPERTY}=")),
        ({}, f"-D{PROPERTY}==file:/etc/a%20b.conf", ("/etc/a b.conf", f"KAFKA_OPTS -D{PROPERTY}=")),
        ({}, f"-D{PROPERTY}=/first -D{PROPERTY}=/last 'open", ("/last", f"KAFKA_OPTS -D{PROPERTY}=")),
        ({PROPERTY: "file://[::1"}, "", ("file://[::1", PROPERTY)),
        ({PROPERTY: "/java"}, f"-D{PROPERTY}=/environment", ("/java", PROPERTY)),
        ({PROPERTY: "/java", "signalbox.sasl.jaas.file": "/ours"}, "", ("/ours", "signalbox.sasl.jaas.file")),
    ],
)
def test_the_first_place_counts(property_text: dict[str, str], options: str, location: tuple[str, str]) -> None:
    _, settings = configured({"listeners": "PLAINTEXT://127.0.0.1:0"} | property_text)
    assert jaas_file_location(settings.everywhere, {"KAFKA_OPTS": options}) == location


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ("", None),
        ("-Dzookeeper.sasl.clients=false", None),
        ("-Xmx1g -Dzookeeper.sasl.client=false", "false"),
        ("-Dzookeeper.sasl.client=a '-Dzookeeper.sasl.client=b c'", "b c"),
        ("-Dzookeeper.sasl.client=a 'open", "a"),
    ],
)
def test_the_last_one_counts(options: str, value: str | None) -> None:
    assert java_property("zookeeper.sasl.client", {"KAFKA_OPTS": options}) == value
