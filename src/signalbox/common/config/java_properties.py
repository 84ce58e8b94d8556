"""Java system properties in the form that Kafka's start scripts accept: `KAFKA_OPTS="-Dname=value ..."`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

OPTIONS = "KAFKA_OPTS"


def java_property(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The value of a property, the last one if there are several; None if there is none."""
    options = (os.environ if environment is None else environment).get(OPTIONS, "")
    prefix = f"-D{name}="
    try:
        words = shlex.split(options)
    except ValueError:  # an unclosed quote
        words = options.split()
    given = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    return given[-1] if given else None
