"""docs/authentication.md: a broker starts with each of its examples."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.properties_file import parse_properties
from signalbox.configuration.configuration import read_node_config
from signalbox.network.listeners.listener_security import read_jaas_file
from signalbox.network.listeners.network_settings import read_network_settings
from signalbox.security.oauth.claims import TokenRules
from signalbox.security.oauth.key_set import KeySet, parse_key_set
from signalbox.security.oauth.signed import SignedTokenValidator
from tests.security.certificates import Authority

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "authentication.md").read_text()
BLOCKS = re.findall(r"^```properties\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
pytestmark = pytest.mark.spec("L5", "L6", "L7")


class DirectoryPasswords:
    def __init__(self, settings: object) -> None:
        """The signature that the page shows."""

    def check_password(self, user: str, password: str) -> bool:
        return False


def test_every_mechanism_has_an_example() -> None:
    together = "\n".join(BLOCKS)
    for name in ("CLIENT:SSL", "PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"):
        assert name in together
    assert len(BLOCKS) == 6


@pytest.mark.parametrize("block", BLOCKS)
def test_a_broker_takes_each_example(block: str, tmp_path: Path) -> None:
    authority = Authority()
    broker = authority.identity("broker")
    (tmp_path / "broker.pem").write_text(broker.key_pem() + broker.certificate_pem)
    (tmp_path / "ca.pem").write_text(authority.pem)
    text = block.replace("/etc/signalbox", str(tmp_path)).replace("directory_passwords:", f"{__name__}:")
    text += f"node.id=1\nmetadata.store=sqlite:{tmp_path}/metadata.db\nlog.dirs={tmp_path}/data\n"
    if "inter.broker.listener.name" not in text:
        text += "inter.broker.listener.name=INSIDE\n"
        text = text.replace("127.0.0.1:19092", "127.0.0.1:19092,INSIDE://127.0.0.1:19093", 1)
        text = text.replace("protocol.map=", "protocol.map=INSIDE:PLAINTEXT,", 1)
    config, faults = read_node_config(parse_properties(text, "the page"))
    assert faults == []
    assert config is not None
    unknown = [warning for warning in config.warnings if "not a known key" in warning or "no effect" in warning]
    assert unknown == []


def test_the_jaas_file(tmp_path: Path) -> None:
    (section,) = re.findall(r"^```text\n(client\.KafkaServer.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    path = tmp_path / "jaas.conf"
    path.write_text(section)
    settings, faults = read_network_settings({"signalbox.sasl.jaas.file": str(path)}, [])
    jaas_file, more = read_jaas_file(settings.everywhere)
    none: list[ConfigFault] = []
    assert faults + more == none
    plain = jaas_file.server_module("CLIENT", "PLAIN")
    assert plain is not None
    assert plain.users == {"alice": "alice-secret"}
    other = jaas_file.server_module("REPLICATION", "SCRAM-SHA-256")
    assert other is not None
    assert other.options["username"] == "broker"


def test_the_example_issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["oauthbearer_issuer.py", str(tmp_path / "issuer"), "alice"])
    runpy.run_path(str(ROOT / "examples" / "oauthbearer_issuer.py"))

    class Keys:
        keys: KeySet = parse_key_set((tmp_path / "issuer" / "jwks.json").read_bytes())

        def missing(self, key_id: str) -> None:
            raise AssertionError(key_id)

    rules = TokenRules(audience=("kafka",), issuer="https://issuer.example")
    token = (tmp_path / "issuer" / "token").read_text()
    assert SignedTokenValidator(Keys(), rules).validate(token).principal_name == "alice"
