"""The registration that a broker stores for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.clock import SystemClock
from signalbox.metadata.entries.feature_levels import SUPPORTED_FEATURES
from signalbox.server.node_registration import broker_registration, controller_registration
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_manager import LogManager
from tests.configuration.settings import VALUES, config_of, controller_config_of


@pytest.mark.spec("L8", "C2")
@pytest.mark.parametrize(("forced", "privileged"), [("true", None), ("false", "CONTROL")])
def test_endpoints_and_roles(forced: str, privileged: str | None) -> None:
    config = config_of(control__plane__force__controller__requests__enable=forced, broker__rack="r1")
    registration = broker_registration(config, config.listeners, 1234)
    assert [endpoint.listener_name for endpoint in registration.endpoints] == [row.name for row in config.listeners]
    assert (registration.broker_id, registration.rack, registration.timestamp_ms) == (1, "r1", 1234)
    assert (registration.inter_broker_listener, registration.control_plane_listener) == ("REPLICATION", "CONTROL")
    assert registration.privileged_listener == privileged


@pytest.mark.spec("F15")
def test_a_controller_and_a_broker_register_their_own_listeners() -> None:
    config = controller_config_of(
        listeners="CONTROLLER://127.0.0.1:1,SPARE://127.0.0.1:2",
        controller__listener__names="controller,spare",
        listener__security__protocol__map="CONTROLLER:PLAINTEXT,SPARE:PLAINTEXT,REPLICATION:PLAINTEXT",
    )
    registration = controller_registration(config, config.listeners, 1234)
    assert (registration.broker_id, registration.timestamp_ms) == (101, 1234)
    assert [endpoint.listener_name for endpoint in registration.endpoints] == ["CONTROLLER", "SPARE"]
    assert registration.features == dict(SUPPORTED_FEATURES)
    endpoint = registration.privileged_endpoint("REPLICATION")
    assert endpoint is not None
    assert endpoint.listener_name == "CONTROLLER"
    combined = config_of(
        process__roles="broker,controller",
        controller__listener__names="CONTROLLER",
        listeners=f"{VALUES['listeners']},CONTROLLER://127.0.0.1:0",
        listener__security__protocol__map=f"{VALUES['listener.security.protocol.map']},CONTROLLER:PLAINTEXT",
    )
    as_broker = broker_registration(combined, combined.listeners, 0)
    assert [each.listener_name for each in as_broker.endpoints] == ["CLIENT", "REPLICATION", "CONTROL"]
    assert as_broker.privileged_listener is None


@pytest.mark.spec("D3")
def test_log_directories_as_they_were_found(tmp_path: Path) -> None:
    """A new directory, one after a clean shutdown, and one after a kill."""
    config = config_of()
    clean, killed, new = (str(tmp_path / name) for name in ("clean", "killed", "new"))

    def opened(*folders: str) -> LogManager:
        logs = LogManager(folders, RealFileSystem(), SystemClock())
        logs.start("cluster", 1)
        return logs

    opened(clean).close(broker_epoch=77)
    for directory in opened(killed).directories:
        directory.unlock()  # as the kernel does when a process ends
    logs = opened(clean, killed, new)
    registration = broker_registration(config, config.listeners, 0, logs.directories)
    assert [each.previous_broker_epoch for each in registration.log_dirs] == [77, -1, -1]
    assert [each.directory_id for each in registration.log_dirs] == [each.directory_id for each in logs.directories]
    logs.directories[0].fail(OSError("gone"), "reading")
    assert len(broker_registration(config, config.listeners, 0, logs.directories).log_dirs) == 2
    logs.close()
