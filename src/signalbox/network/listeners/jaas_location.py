"""The location of the static JAAS file: a configuration key, Java's property as a key, or Kafka's environment variable.

| place | origin |
|---|---|
| `signalbox.sasl.jaas.file` | a key that Kafka does not have |
| `java.security.auth.login.config` | Java's system property, as a key of the configuration |
| `KAFKA_OPTS=-Djava.security.auth.login.config=...` | the environment variable that Kafka's scripts pass to Java |

The first one that is set is used.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from signalbox.network.listeners.network_settings import ListenerSettings

OPTIONS = "KAFKA_OPTS"
JAAS_FILE_KEY = "signalbox.sasl.jaas.file"
JAVA_PROPERTY = "java.security.auth.login.config"


def jaas_file_location(everywhere: ListenerSettings, environment: Mapping[str, str] | None = None) -> tuple[str, str]:
    """(path, the place where it is set); both "" without a JAAS file."""
    for key in (JAAS_FILE_KEY, JAVA_PROPERTY):
        if everywhere.text(key):
            return _path(everywhere.text(key)), key
    property_text = java_property(JAVA_PROPERTY, environment)
    return (_path(property_text), f"{OPTIONS} -D{JAVA_PROPERTY}=") if property_text is not None else ("", "")


def _path(text: str) -> str:
    """The path in the value. Java accepts a path or a URL, with a second `=` before it to use only this file."""
    text = text.removeprefix("=").strip()
    try:
        return unquote(urlsplit(text).path) if text.startswith("file:") else text
    except ValueError:  # not a valid URL: used as a path, and reading it then fails
        return text


def java_property(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The value of a Java system property, in the form that Kafka's start scripts accept
    (`KAFKA_OPTS="-Dname=value ..."`): the last one if there are several; None if there is none."""
    options = (os.environ if environment is None else environment).get(OPTIONS, "")
    prefix = f"-D{name}="
    try:
        words = shlex.split(options)
    except ValueError:  # an unclosed quote
        words = options.split()
    given = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    return given[-1] if given else None
