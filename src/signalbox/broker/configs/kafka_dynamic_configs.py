"""Broker keys that are dynamic in Kafka and have no effect here: threads, tiered storage.

They are accepted and stored as in Kafka and described with Kafka's types and defaults; a warning is logged.
"""

from __future__ import annotations

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic

_I, _L, _LIST = ConfigType.INT, ConfigType.LONG, ConfigType.LIST
_ALL, _ONE = Dynamic.CLUSTER_WIDE, Dynamic.PER_BROKER
_DOC = "A key of Apache Kafka that has no effect here."

KAFKA_DYNAMIC_CONFIGS = ConfigTable(
    ConfigRow(name, kind, default, _DOC, dynamic=dynamic)
    for name, kind, default, dynamic in (
        ("background.threads", _I, 10, _ALL),
        ("num.io.threads", _I, 8, _ALL),
        ("num.network.threads", _I, 3, _ALL),
        ("num.recovery.threads.per.data.dir", _I, 2, _ALL),
        ("metric.reporters", _LIST, [], _ALL),
        ("remote.fetch.max.wait.ms", _I, 500, _ALL),
        ("remote.list.offsets.request.timeout.ms", _L, 30_000, _ALL),
        ("remote.log.index.file.cache.total.size.bytes", _L, 1_073_741_824, _ALL),
        ("remote.log.manager.copier.thread.pool.size", _I, 10, _ALL),
        ("remote.log.manager.expiration.thread.pool.size", _I, 10, _ALL),
        ("remote.log.manager.copy.max.bytes.per.second", _L, 2**63 - 1, _ALL),
        ("remote.log.manager.fetch.max.bytes.per.second", _L, 2**63 - 1, _ALL),
        ("remote.log.reader.threads", _I, 10, _ALL),
        ("cordoned.log.dirs", _LIST, [], _ONE),
    )
)
