"""`meta.properties` of a log directory: the cluster and node that own it. A file keeps its version: Apache Kafka on
ZooKeeper reads version 0 only (`broker.id`), with KRaft version 1 (`node.id`).

A broker rejects a directory of another cluster or node: mounting the wrong disk must not mix data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.properties_file import parse_properties
from signalbox.common.config.start_error import StartError
from signalbox.common.ids import new_uuid, uuid_bytes, uuid_text
from signalbox.storage.files.file_names import META_PROPERTIES_FILE
from signalbox.storage.files.file_system import FileSystem, replace_file

_NODE_ID_KEYS = {"0": "broker.id", "1": "node.id"}  # the key of the node's id, by the version of the file
OF_ZOOKEEPER, OF_KRAFT = "0", "1"  # the versions
_RESTORE = "Restore the file, or give the broker a folder of its own that is empty"


class MetaPropertiesFault(StartError):
    """The file cannot be parsed, or the directory belongs to another node or cluster. The message has log.dirs, the
    folder and the reason."""

    def __init__(self, log_dir: str, problem: str, remedy: str) -> None:
        super().__init__([ConfigFault("log.dirs", log_dir, problem, remedy)])


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """`cluster_id` as text, `directory_id` as 16 bytes; "" and b"" if the file does not have them."""

    cluster_id: str
    node_id: int
    directory_id: bytes = b""
    version: str = OF_KRAFT


def read_meta_properties(log_dir: str) -> MetaProperties | None:
    """The properties of a log directory; None if it is new. MetaPropertiesFault if the file cannot be parsed, OSError
    if it cannot be read."""
    path = os.path.join(log_dir, META_PROPERTIES_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            values = parse_properties(file.read(), path).values
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise MetaPropertiesFault(log_dir, f"{path} is not text in UTF-8", _RESTORE) from error
    except ValueError as error:  # the message has the file and the line
        raise MetaPropertiesFault(log_dir, str(error), _RESTORE) from error
    try:
        return _meta_properties(values)
    except ValueError as error:
        raise MetaPropertiesFault(log_dir, f"{path}: {error}", _RESTORE) from error


def _meta_properties(values: Mapping[str, str]) -> MetaProperties:
    """ValueError names the key that is missing or wrong."""
    version = values.get("version", "0")
    if version not in _NODE_ID_KEYS:
        raise ValueError(f"version={version} is not one of {', '.join(_NODE_ID_KEYS)}")
    key = _NODE_ID_KEYS[version]
    if key not in values:
        raise ValueError(f"{key} is missing")
    try:
        node_id = int(values[key])
    except ValueError:
        raise ValueError(f"{key}={values[key]} is not a whole number") from None
    try:
        directory_id = uuid_bytes(values["directory.id"]) if "directory.id" in values else b""
    except ValueError as error:
        raise ValueError(f"directory.id={values['directory.id']} is no id: {error}") from None
    return MetaProperties(values.get("cluster.id", ""), node_id, directory_id, version)


def write_meta_properties(file_system: FileSystem, log_dir: str, meta: MetaProperties) -> None:
    """Replaces the file."""
    text = (
        f"#\ncluster.id={meta.cluster_id}\ndirectory.id={uuid_text(meta.directory_id)}\n"
        f"{_NODE_ID_KEYS[meta.version]}={meta.node_id}\nversion={meta.version}\n"
    )
    replace_file(file_system, os.path.join(log_dir, META_PROPERTIES_FILE), text.encode())


def claim_directory(file_system: FileSystem, log_dir: str, owner: MetaProperties) -> MetaProperties:
    """The properties of a log directory, which belongs to `owner` from now on if it is new. MetaPropertiesFault if it
    belongs to another node or cluster. `owner.version` is that of a new file."""
    meta = read_meta_properties(log_dir)
    if meta is not None:
        check_owner(log_dir, meta, owner.cluster_id, owner.node_id)
        if meta.directory_id:
            return meta
    version = owner.version if meta is None else meta.version
    claimed = replace(owner, directory_id=new_uuid(), version=version)
    write_meta_properties(file_system, log_dir, claimed)
    return claimed


def check_owner(log_dir: str, meta: MetaProperties, cluster_id: str, node_id: int) -> None:
    """MetaPropertiesFault if `log_dir` belongs to another node or cluster."""
    path = os.path.join(log_dir, META_PROPERTIES_FILE)
    if meta.cluster_id and meta.cluster_id != cluster_id:
        raise MetaPropertiesFault(
            log_dir,
            f"{path} has cluster.id={meta.cluster_id}, but signalbox.metadata.store is of cluster {cluster_id}",
            "Give the broker its own folder, or point signalbox.metadata.store at the cluster the data came from",
        )
    if meta.node_id != node_id:
        raise MetaPropertiesFault(
            log_dir,
            f"{path} has node id {meta.node_id}, but node.id is {node_id}",
            "Correct node.id or log.dirs",
        )
