"""Values of Java's client properties that librdkafka would not accept: those that mean the same, or the nearest.

The files of `--command-config` are written for Java's clients, which know no upper limits and write "the system's
default" and "never" as -1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# What librdkafka accepts. Its 0 is "the system's default" for buffers and "never" for idle connections, Java's -1.
# fetch.max.bytes must reach message.max.bytes, which Java's consumer does not have.
_RANGES: Mapping[str, tuple[int, int]] = {
    "request.timeout.ms": (10, 300_000),
    "socket.connection.setup.timeout.ms": (1000, 2**31 - 1),
    "connections.max.idle.ms": (0, 2**31 - 1),
    "reconnect.backoff.ms": (0, 3_600_000),
    "reconnect.backoff.max.ms": (0, 3_600_000),
    "retry.backoff.ms": (1, 300_000),
    "retry.backoff.max.ms": (1, 300_000),
    "metadata.max.age.ms": (1, 86_400_000),
    "send.buffer.bytes": (0, 100_000_000),
    "receive.buffer.bytes": (0, 100_000_000),
    "fetch.min.bytes": (1, 100_000_000),
    "fetch.max.bytes": (1_000_000, 2**31 - 1 - 512),
    "fetch.max.wait.ms": (0, 300_000),
    "max.partition.fetch.bytes": (1, 1_000_000_000),
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "metadata.recovery.strategy": ("none", "rebootstrap"),
    "check.crcs": ("true", "false"),
    "ssl.endpoint.identification.algorithm": ("https", "none"),
}
_LEFT_OUT = {("client.dns.lookup", "default"), ("ssl.cipher.suites", "")}  # both mean the default of librdkafka
_BACKOFF, _BACKOFF_MAX = "reconnect.backoff.ms", "reconnect.backoff.max.ms"
_DEFAULT_BACKOFFS = (100, 10_000)  # librdkafka's
_SUITES, _PROTOCOLS = "ssl.cipher.suites", "ssl.enabled.protocols"
_SUITE_OF_TLS_1_3 = re.compile(r"TLS_(?!.*_WITH_)\w+")


def accepted_values(java: Mapping[str, str]) -> dict[str, str]:
    """The properties with values that librdkafka accepts. Raises ValueError that names the key, for a value that has no
    counterpart."""
    values = {key: _accepted(key, value.strip()) for key, value in java.items() if (key, value) not in _LEFT_OUT}
    _order_backoffs(values)
    if "SSL" in java.get("security.protocol", "").upper():
        _check_tls(values)
    return values


def _accepted(key: str, value: str) -> str:
    if key in _RANGES:
        if not re.fullmatch(r"[+-]?[0-9]+", value):
            raise ValueError(f"{key} is {value!r}: expected an integer")
        low, high = _RANGES[key]
        return str(min(max(int(value), low), high))
    if key == "ssl.endpoint.identification.algorithm" and not value:
        return "none"
    if key in _WORDS and value.lower() not in _WORDS[key]:
        raise ValueError(f"{key} is {value!r}: librdkafka knows {', '.join(_WORDS[key])}")
    return value


def _order_backoffs(values: dict[str, str]) -> None:
    """Java's client takes the first backoff as the longest one where it is above it."""
    first = int(values.get(_BACKOFF, _DEFAULT_BACKOFFS[0]))
    longest = int(values.get(_BACKOFF_MAX, _DEFAULT_BACKOFFS[1]))
    if first > longest and _BACKOFF in values:
        values[_BACKOFF_MAX] = str(first)
    elif first > longest:
        values[_BACKOFF] = str(longest)


def _check_tls(values: Mapping[str, str]) -> None:
    """librdkafka has no switch for the suites of TLS 1.3, which are always allowed, nor for protocols."""
    suites = [suite.strip() for suite in values.get(_SUITES, "").split(",") if suite.strip()]
    if suites and all(_SUITE_OF_TLS_1_3.fullmatch(suite) for suite in suites):
        raise ValueError(
            f"{_SUITES} has suites of TLS 1.3 only, which librdkafka always allows and cannot be limited to: leave it "
            "out, or add suites of TLS 1.2"
        )
    protocols = {name.strip() for name in values.get(_PROTOCOLS, "").split(",") if name.strip()}
    if protocols and not protocols & {"TLSv1.2", "TLSv1.3"}:
        raise ValueError(f"{_PROTOCOLS} is {values[_PROTOCOLS]!r}: librdkafka uses TLSv1.2 and TLSv1.3")
