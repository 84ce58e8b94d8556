"""The settings of one client: bootstrap servers, timeouts, recovery, security. From properties or by keyword."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from signalbox.client.cluster.rebootstrap import RecoveryPolicy
from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.client.connection.connection_settings import PLAINTEXT, ConnectionSecurity, ConnectionSettings
from signalbox.client.connection.node import Address, parse_bootstrap_servers
from signalbox.client.failures import ConfigRejected
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.old_keys import current_name
from signalbox.common.endpoint import SecurityProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Every field has the default of its Kafka key (`config_rows.py`)."""

    bootstrap: list[Address]
    client_id: str = "signalbox"
    request_timeout_ms: int = 30_000
    api_timeout_ms: int = 60_000
    connect_timeout_ms: int = 10_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    cluster_id_policy: str = "follow"
    allow_auto_create_topics: bool = False
    topic_propagation_max_ms: int = 5_000
    recovery: RecoveryPolicy = field(default_factory=RecoveryPolicy)
    security: ConnectionSecurity = PLAINTEXT

    @classmethod
    def of(cls, bootstrap_servers: str, **fields: Any) -> ClientSettings:
        """Settings for `host:port,…` with defaults for the rest; ValueError names a wrong server entry."""
        return cls(bootstrap=parse_bootstrap_servers(bootstrap_servers), **fields)

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, str], origin: Callable[[str], str] = lambda key: ""
    ) -> ClientSettings:
        """Settings from Kafka's keys. ConfigRejected lists every fault at once, each with the place that `origin` gives
        for its key; unknown keys are ignored, old names of keys are read (`common/config/old_keys.py`)."""
        properties = {current_name(key): value for key, value in properties.items()}
        values, faults = CLIENT_CONFIG.read(properties)
        if not properties.get("bootstrap.servers"):
            faults = [fault for fault in faults if fault.key != "bootstrap.servers"]  # one sentence for one fault
            faults.append(ConfigFault("bootstrap.servers", "", "is missing", "Name one broker as host:port"))
        security = PLAINTEXT
        if values["security.protocol"] != SecurityProtocol.PLAINTEXT.name:
            from signalbox.client.connection.client_security import security_of  # short commands start sooner without

            security, security_faults = security_of(values)
            faults += security_faults
        if faults:
            raise ConfigRejected("\n".join(str(replace(fault, origin=origin(fault.key))) for fault in faults))
        number = {name: int(value) for name, value in values.items() if isinstance(value, int)}
        return cls(
            bootstrap=parse_bootstrap_servers(str(values["bootstrap.servers"])),
            client_id=str(values["client.id"]),
            request_timeout_ms=number["request.timeout.ms"],
            api_timeout_ms=number["default.api.timeout.ms"],
            connect_timeout_ms=number["socket.connection.setup.timeout.ms"],
            reconnect_backoff_ms=number["reconnect.backoff.ms"],
            reconnect_backoff_max_ms=number["reconnect.backoff.max.ms"],
            retry_backoff_ms=number["retry.backoff.ms"],
            retry_backoff_max_ms=number["retry.backoff.max.ms"],
            metadata_max_age_ms=number["metadata.max.age.ms"],
            cluster_id_policy=str(values["signalbox.cluster.id.policy"]),
            allow_auto_create_topics=bool(values["allow.auto.create.topics"]),
            topic_propagation_max_ms=number["topic.metadata.propagation.max.ms"],
            recovery=RecoveryPolicy(
                metadata_recovery_strategy=str(values["metadata.recovery.strategy"]),
                rebootstrap_trigger_ms=number["metadata.recovery.rebootstrap.trigger.ms"],
                cluster_check_enabled=bool(values["metadata.cluster.check.enable"]),
                seed_pause_ms=number["reconnect.backoff.ms"],
                seed_pause_max_ms=number["reconnect.backoff.max.ms"],
            ),
            security=security,
        )

    def connections(self) -> ConnectionSettings:
        """The settings of this client's connections."""
        return ConnectionSettings(
            client_id=self.client_id,
            connect_timeout_ms=self.connect_timeout_ms,
            request_timeout_ms=self.request_timeout_ms,
            identity_enabled=self.recovery.sends_identity,
            security=self.security,
        )
