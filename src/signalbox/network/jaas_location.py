"""Where the static JAAS file is: our key, Java's name for it as a key, or what Kafka's start scripts are given.

| place | whose |
|---|---|
| `sasl.jaas.file` | ours |
| `java.security.auth.login.config` | Java's system property, as a key of the configuration |
| `KAFKA_OPTS=-Djava.security.auth.login.config=...` | the environment that Kafka's scripts hand to Java |

The first that is set counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from signalbox.common.java_properties import OPTIONS, java_property
from signalbox.network.network_settings import ListenerSettings

JAAS_FILE_KEY = "sasl.jaas.file"
JAVA_PROPERTY = "java.security.auth.login.config"


def jaas_file_location(everywhere: ListenerSettings, environment: Mapping[str, str] | None = None) -> tuple[str, str]:
    """(path, where that is set); "" when there is no such file."""
    for key in (JAAS_FILE_KEY, JAVA_PROPERTY):
        if everywhere.text(key):
            return _path(everywhere.text(key)), key
    given = java_property(JAVA_PROPERTY, environment)
    return (_path(given), f"{OPTIONS} -D{JAVA_PROPERTY}=") if given is not None else ("", "")


def _path(text: str) -> str:
    """Java takes a path or a URL, and a second `=` in front to mean this file and no other."""
    text = text.removeprefix("=").strip()
    try:
        return unquote(urlsplit(text).path) if text.startswith("file:") else text
    except ValueError:  # an address that is none: taken for the path that it will not be
        return text
