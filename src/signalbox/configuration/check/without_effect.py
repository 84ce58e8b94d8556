"""Keys that have an effect in other versions but not in this release: start-up warns of them and the reference page
says so.

A test compares every config row with the sources: a row that is read nowhere is listed here, and a row that is read is
not.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.config.topic_config import TOPIC_CONFIG

_NO_TIERS = "there is no tiered storage"

_NO_JAVA = "TLS is OpenSSL's here, there is no Java to choose it from"

_OF_BROKERS: Mapping[str, str] = {
    "security.providers": _NO_JAVA,
    "ssl.engine.factory.class": _NO_JAVA,
    "ssl.keymanager.algorithm": _NO_JAVA,
    "ssl.provider": _NO_JAVA,
    "ssl.secure.random.implementation": _NO_JAVA,
    "ssl.trustmanager.algorithm": _NO_JAVA,
    "log.dir.failure.timeout.ms": "a broker without a working log directory ends at once",
    "log.flush.start.offset.checkpoint.interval.ms": "log start offsets are saved together with the recovery points",
}
_OF_TOPICS: Mapping[str, str] = {
    "local.retention.bytes": _NO_TIERS,
    "local.retention.ms": _NO_TIERS,
    "remote.log.copy.disable": _NO_TIERS,
    "remote.log.delete.on.disable": _NO_TIERS,
    "remote.storage.enable": _NO_TIERS,
}

WITHOUT_EFFECT: Mapping[str, str] = {
    **_OF_BROKERS,
    **_OF_TOPICS,
    **{row.synonym: _OF_TOPICS[row.name] for row in TOPIC_CONFIG if row.synonym and row.name in _OF_TOPICS},
}
"""Why a key has no effect: keys of brokers, keys of topics, and the brokers' defaults of those keys of topics."""
