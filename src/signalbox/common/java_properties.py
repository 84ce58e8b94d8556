"""Java's system properties as Kafka's start scripts are given them: `KAFKA_OPTS="-Dname=value ..."`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

OPTIONS = "KAFKA_OPTS"


def java_property(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The value of a property, the last where it is given twice; None when it is not given."""
    options = (os.environ if environment is None else environment).get(OPTIONS, "")
    prefix = f"-D{name}="
    try:
        words = shlex.split(options)
    except ValueError:  # a quote that is not closed
        words = options.split()
    given = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    return given[-1] if given else None
