"""`metadata-store.properties` of a log directory: the position of the metadata store when this broker last saw it.

A store with a lower position, or with another history, is older than the logs in this directory (decision 0028). Apache
Kafka's brokers ignore the file and do not change it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.properties_file import parse_properties
from signalbox.common.config.start_error import StartError
from signalbox.common.ids import StorePosition
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.file_names import STORE_POSITION_FILE
from signalbox.storage.files.file_system import FileSystem, replace_file


def read_store_position(log_dir: str) -> StorePosition | None:
    """The position in a log directory; None if the directory is new, or older than this file. StartError if the file
    cannot be parsed, OSError if it cannot be read."""
    path = os.path.join(log_dir, STORE_POSITION_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            values = parse_properties(file.read(), path).values
        return StorePosition(values["incarnation"], int(values["generation"]), int(values["controller.epoch"]))
    except FileNotFoundError:
        return None
    except (KeyError, ValueError) as error:
        remedy = "Remove the file if signalbox.metadata.store is the newest copy there is"
        raise StartError([ConfigFault("log.dirs", log_dir, f"{path} cannot be read: {error!r}", remedy)]) from error


def write_store_position(file_system: FileSystem, log_dir: str, position: StorePosition) -> None:
    """Replaces the file durably."""
    text = (
        f"#\ncontroller.epoch={position.controller_epoch}\ngeneration={position.generation}\n"
        f"incarnation={position.incarnation}\nversion=1\n"
    )
    replace_file(file_system, os.path.join(log_dir, STORE_POSITION_FILE), text.encode(), sync=True)


def remember_store_position(directories: Iterable[LogDirectory], position: StorePosition) -> None:
    """Writes the position into every directory that is online, in the background; a directory that cannot be written
    goes offline."""
    for directory in directories:
        if directory.online:
            _remember(directory, position)


def _remember(directory: LogDirectory, position: StorePosition) -> None:
    def done(error: BaseException | None) -> None:
        if isinstance(error, OSError):
            directory.fail(error, f"writing {STORE_POSITION_FILE}")

    file_system = directory.disk.file_system
    directory.background.run(lambda: write_store_position(file_system, directory.path, position), done)
