from __future__ import annotations

import pytest

from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.common.config.config_table import ConfigRow


@pytest.mark.parametrize("row", list(CLIENT_CONFIG), ids=lambda row: row.name)
def test_every_key_is_explained_and_its_default_is_allowed(row: ConfigRow) -> None:
    assert row.doc.endswith((".", ")"))
    assert row.default is None or row.validator is None or row.validator(row.default) is None


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("bootstrap.servers", "h", "is not host:port"),
        ("signalbox.cluster.id.policy", "stay", "none of follow"),
        ("metadata.recovery.strategy", "hope", "not one of none, rebootstrap"),
        ("security.protocol", "TLS", "not one of"),
        ("request.timeout.ms", "0", "below 1"),
        ("ssl.enabled.protocols", "SSLv3", "not one of"),
    ],
)
def test_a_wrong_value_is_rejected_with_the_reason(key: str, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        CLIENT_CONFIG[key].parse(text)
