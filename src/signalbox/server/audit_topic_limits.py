"""The size limit of an audit topic that was created without one, by an older version or by hand.

A new audit topic is created with `retention.bytes` and small segments. An existing one would grow without limit, so a
broker sets what is missing, through the active controller, when it has delivered its first events. A topic that has
`retention.bytes`, -1 included, is left as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from signalbox.client.admin_apis.config_admin import ConfigAdmin, ConfigChange, ConfigResource
from signalbox.client.failures import ClientFailure
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import KafkaError

log = logging.getLogger(__name__)

_SIZE_LIMIT = "retention.bytes"
_TOPIC_CONFIG = 1  # a config source: set on the topic itself
_RESOURCE = ConfigResource(ConfigResourceType.TOPIC, AUDIT_TOPIC)


async def set_missing_limits(admin: ConfigAdmin, configs: Mapping[str, str], timeout_ms: float | None = None) -> None:
    """Set the size limit of `configs`, the configs of a new audit topic, unless the topic has one. Failures are
    logged: the topic stays as it is until a broker starts again."""
    limits = {name: value for name, value in configs.items() if name in (_SIZE_LIMIT, "segment.bytes")}
    if _SIZE_LIMIT not in limits:
        return  # signalbox.audit.topic.retention.bytes=-1
    try:
        current = await admin.describe_configs(_RESOURCE, list(limits), timeout_ms=timeout_ms)
        missing = {name: limits[name] for name, entry in current.items() if entry.source != _TOPIC_CONFIG}
        if _SIZE_LIMIT not in missing:
            return
        changes = [ConfigChange(name, value) for name, value in missing.items()]
        (result,) = (await admin.alter_configs({_RESOURCE: changes}, timeout_ms=timeout_ms)).values()
        result.raise_for_error()
    except (ClientFailure, KafkaError) as error:
        log.warning("Size limit of the audit topic cannot be set (topic=%s): %s", AUDIT_TOPIC, error)
    else:
        text = ", ".join(f"{name}={value}" for name, value in missing.items())
        log.info("Size limit of the audit topic set, it had none (topic=%s): %s", AUDIT_TOPIC, text)
