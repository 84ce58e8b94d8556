"""`.kafka_cleanshutdown`: written last, removed first. Without it the next start reads the logs through."""

from __future__ import annotations

import json
import os

from signalbox.storage.file_names import CLEAN_SHUTDOWN_FILE
from signalbox.storage.file_system import FileSystem, replace_file


def take_marker(file_system: FileSystem, log_dir: str) -> bool:
    """Whether the last run ended cleanly; the marker is gone afterwards."""
    path = os.path.join(log_dir, CLEAN_SHUTDOWN_FILE)
    if not os.path.exists(path):
        return False
    file_system.remove(path)
    return True


def write_marker(file_system: FileSystem, log_dir: str, broker_epoch: int) -> None:
    """Says that everything in the directory is complete."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    replace_file(file_system, os.path.join(log_dir, CLEAN_SHUTDOWN_FILE), content.encode(), sync=True)
