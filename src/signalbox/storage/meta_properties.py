"""`meta.properties` of a log directory: whose it is. Version 1 is written (cluster, node and directory id), 0 is read.

A broker refuses a directory of another cluster or node: mounting the wrong disk must not mix data.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from signalbox.common.ids import uuid_bytes, uuid_text
from signalbox.common.properties_file import parse_properties
from signalbox.storage.file_names import META_PROPERTIES_FILE
from signalbox.storage.file_system import FileSystem, replace_file


class MetaPropertiesFault(ValueError):
    """The file cannot be read, or the directory belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """`cluster_id` as text, `directory_id` as 16 bytes; "" and b"" when the file does not say."""

    cluster_id: str
    node_id: int
    directory_id: bytes = b""


def read_meta_properties(log_dir: str) -> MetaProperties | None:
    """What a log directory says of itself; None when it is new."""
    path = os.path.join(log_dir, META_PROPERTIES_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            values = parse_properties(file.read(), path).values
    except FileNotFoundError:
        return None
    try:
        node = values["node.id"] if values.get("version", "0") == "1" else values["broker.id"]
        directory_id = uuid_bytes(values["directory.id"]) if "directory.id" in values else b""
        return MetaProperties(values.get("cluster.id", ""), int(node), directory_id)
    except (KeyError, ValueError) as error:
        raise MetaPropertiesFault(f"{path}: {error}: restore the file or empty the folder") from error


def write_meta_properties(file_system: FileSystem, log_dir: str, meta: MetaProperties) -> None:
    """Replaces the file."""
    text = (
        f"#\ncluster.id={meta.cluster_id}\ndirectory.id={uuid_text(meta.directory_id)}\n"
        f"node.id={meta.node_id}\nversion=1\n"
    )
    replace_file(file_system, os.path.join(log_dir, META_PROPERTIES_FILE), text.encode())


def check_owner(log_dir: str, found: MetaProperties, cluster_id: str, node_id: int) -> None:
    """MetaPropertiesFault when `log_dir` is not this node's."""
    if found.cluster_id and found.cluster_id != cluster_id:
        raise MetaPropertiesFault(
            f"log.dirs: {log_dir} belongs to cluster {found.cluster_id}, this broker to {cluster_id}: "
            f"give it its own folder, or connect it to the cluster the data came from"
        )
    if found.node_id != node_id:
        raise MetaPropertiesFault(
            f"log.dirs: {log_dir} belongs to node {found.node_id}, this is node {node_id}: correct node.id or log.dirs"
        )
