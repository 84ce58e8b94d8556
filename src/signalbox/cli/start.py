"""`signalbox start server.properties`: one broker in the foreground, under this process id.

The process is replaced by a plain Python process that runs the broker: the broker does not need the libraries of the
command line, and saves their memory.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import pairs


def start(
    properties: Annotated[Path, typer.Argument(help="The broker's server.properties (Kafka's keys).")],
    override: Annotated[list[str] | None, typer.Option(help="key=value, overrides the file; can be repeated.")] = None,
) -> None:
    """Start one broker in the foreground. Ctrl-C or SIGTERM is a controlled shutdown."""
    pairs(override, "--override")
    arguments = [sys.executable, "-m", "signalbox.wiring.serve", str(properties)]
    for text in override or []:
        arguments += ["--override", text]
    sys.stdout.flush()
    os.execv(sys.executable, arguments)
