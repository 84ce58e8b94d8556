"""`.kafka_cleanshutdown`: written last, removed first. Without it the next start reads all logs.

The marker has the broker epoch of the run that ended with it. The controller regards a log directory as intact only if
that is the last epoch that it had for the broker (a directory restored from an older copy has an older epoch).
"""

from __future__ import annotations

import json
import os

from signalbox.storage.files.file_names import CLEAN_SHUTDOWN_FILE
from signalbox.storage.files.file_system import FileSystem, replace_file

UNKNOWN_BROKER_EPOCH = -1


def read_and_remove_marker(file_system: FileSystem, log_dir: str) -> int | None:
    """The broker epoch that ended cleanly; UNKNOWN_BROKER_EPOCH if the marker has none; None if the last run did not
    end cleanly. The marker is removed."""
    path = os.path.join(log_dir, CLEAN_SHUTDOWN_FILE)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    file_system.remove(path)
    try:
        broker_epoch = json.loads(content)["brokerEpoch"]
    except (ValueError, TypeError, KeyError):  # Apache Kafka before 3.7 leaves it empty
        return UNKNOWN_BROKER_EPOCH
    return broker_epoch if isinstance(broker_epoch, int) else UNKNOWN_BROKER_EPOCH


def write_marker(file_system: FileSystem, log_dir: str, broker_epoch: int) -> None:
    """Writes the marker: everything in the directory is complete."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    replace_file(file_system, os.path.join(log_dir, CLEAN_SHUTDOWN_FILE), content.encode(), sync=True)
