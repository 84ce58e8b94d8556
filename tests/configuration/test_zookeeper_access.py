"""The settings with which a broker connects to ZooKeeper: the JAAS file's section, and the faults that stop the
start."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.config.config_table import Value
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.zookeeper_access import access_faults, zookeeper_access

DIGEST = 'org.apache.zookeeper.server.auth.DigestLoginModule required username="kafka" password="hush";'
HALF = DIGEST.partition(" password")[0]


def values(tmp_path: Path, sections: str = "", **given: str) -> dict[str, Value]:
    """Values of a configuration with a JAAS file of these sections; two underscores in a name in `given` are a dot."""
    (tmp_path / "jaas.conf").write_text(sections or "Other { x.Y required; };")
    changes = {key.replace("__", "."): value for key, value in given.items()}
    asked = {"zookeeper.connect": "zk", "signalbox.sasl.jaas.file": str(tmp_path / "jaas.conf"), **changes}
    read, faults = NODE_CONFIG.read(asked)
    assert faults == []
    return read


def test_without_credentials_every_login_is_rejected(tmp_path: Path) -> None:
    access = zookeeper_access(values(tmp_path, zookeeper__session__timeout__ms="7000"))
    assert (access.tls, access.login, access.only_creators_write) == (None, None, False)
    assert (access.session_timeout_ms, access.connection_timeout_ms) == (7000, 7000)


@pytest.mark.spec("L6")
@pytest.mark.parametrize(("section", "given"), [("Client", {}), ("Zk", {"zookeeper__sasl__clientconfig": "Zk"})])
def test_the_section_is_the_login(tmp_path: Path, section: str, given: dict[str, str]) -> None:
    read = values(tmp_path, f"{section} {{ {DIGEST} }};", zookeeper__set__acl="true", **given)
    assert list(access_faults(read)) == []
    access = zookeeper_access(read)
    assert access.login is not None
    assert (access.login.username, access.login.password) == ("kafka", "hush")
    assert access.only_creators_write


@pytest.mark.parametrize(
    ("sections", "given", "key", "gist"),
    [
        ("Client { x.Krb5 required; };", {}, "zookeeper.sasl.clientconfig", "has no login by DIGEST-MD5"),
        (f"Client {{ {HALF}; }};", {}, "zookeeper.sasl.clientconfig", "no username and password"),
        (f"Client {{ {DIGEST} }};", {"zookeeper__sasl__client": "false"}, "zookeeper.sasl.client", "switches off"),
        ("", {"zookeeper__set__acl": "true"}, "zookeeper.set.acl", "needs an identity"),
    ],
)  # fmt: skip
def test_what_is_rejected_names_its_key_and_no_password(
    tmp_path: Path, sections: str, given: dict[str, str], key: str, gist: str
) -> None:
    [fault] = access_faults(values(tmp_path, sections, **given))
    assert fault.key == key
    assert gist in fault.problem
    assert "hush" not in f"{fault.entry}{fault.problem}{fault.remedy}"
