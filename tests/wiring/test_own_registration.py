"""What a broker tells the cluster about itself."""

from __future__ import annotations

import pytest

from signalbox.wiring.own_registration import own_registration
from tests.wiring.settings import config_of


@pytest.mark.spec("L8", "C2")
@pytest.mark.parametrize(("forced", "privileged"), [("true", None), ("false", "CONTROL")])
def test_endpoints_and_roles(forced: str, privileged: str | None) -> None:
    config = config_of(control__plane__force__controller__requests__enable=forced, broker__rack="r1")
    told = own_registration(config, config.listeners, 1234)
    assert [endpoint.listener_name for endpoint in told.endpoints] == [row.name for row in config.listeners]
    assert (told.broker_id, told.rack, told.timestamp_ms) == (1, "r1", 1234)
    assert (told.inter_broker_listener, told.control_plane_listener) == ("REPLICATION", "CONTROL")
    assert told.privileged_listener == privileged
