from pathlib import Path

import pytest

from signalbox.common.ids import new_uuid
from signalbox.storage.directories.meta_properties import (
    OF_ZOOKEEPER,
    MetaProperties,
    MetaPropertiesFault,
    check_owner,
    read_meta_properties,
    write_meta_properties,
)
from signalbox.storage.files.file_system import RealFileSystem


def test_written_values_are_read_back(tmp_path: Path) -> None:
    meta = MetaProperties("q1Sh-9_ISia_zwGINzRvyQ", 3, new_uuid())
    write_meta_properties(RealFileSystem(), str(tmp_path), meta)
    assert read_meta_properties(str(tmp_path)) == meta
    assert "version=1\n" in (tmp_path / "meta.properties").read_text()


def test_a_new_directory_has_no_properties(tmp_path: Path) -> None:
    assert read_meta_properties(str(tmp_path)) is None


@pytest.mark.spec("D2")
def test_version_0_of_zookeeper_brokers_is_kept(tmp_path: Path) -> None:
    meta = MetaProperties("q1Sh-9_ISia_zwGINzRvyQ", 3, new_uuid(), OF_ZOOKEEPER)
    write_meta_properties(RealFileSystem(), str(tmp_path), meta)
    assert read_meta_properties(str(tmp_path)) == meta
    assert "broker.id=3\nversion=0\n" in (tmp_path / "meta.properties").read_text()


def test_version_0_of_zookeeper_brokers_is_read(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("#\n#Sat Nov 21 2026\ncluster.id=abc\nversion=0\nbroker.id=7\n")
    assert read_meta_properties(str(tmp_path)) == MetaProperties("abc", 7, version=OF_ZOOKEEPER)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "meta.properties: broker.id is missing"),
        (b"no such thing as a line of ours\n", "meta.properties: broker.id is missing"),
        (b"version=1\ncluster.id=a\n", "meta.properties: node.id is missing"),
        (b"version=1\nnode.id=x\n", "meta.properties: node.id=x is not a whole number"),
        (b"version=9\nnode.id=1\n", "meta.properties: version=9 is not one of 0, 1"),
        (b"broker.id=1\ndirectory.id=!\n", "meta.properties: directory.id=! is no id"),
        (b"node.id=\\uZZZZ\n", "meta.properties:1: \\uZZZZ is not a character"),
        (b"version=1\nnode.id=\xff\n", "meta.properties is not text in UTF-8"),
    ],
)
def test_a_corrupt_file_is_an_error(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "meta.properties").write_bytes(content)
    with pytest.raises(MetaPropertiesFault) as rejected:
        read_meta_properties(str(tmp_path))
    text = str(rejected.value)
    assert text.startswith(f"log.dirs ({tmp_path}): {tmp_path}/{problem}")
    assert text.endswith(". Restore the file, or give the broker a folder of its own that is empty")


def test_a_wrong_owner_error_names_the_key_to_change() -> None:
    found = MetaProperties("abc", 7)
    check_owner("/data", found, "abc", 7)
    with pytest.raises(MetaPropertiesFault) as rejected:
        check_owner("/data", found, "other", 7)
    assert str(rejected.value) == (
        "log.dirs (/data): /data/meta.properties has cluster.id=abc, but signalbox.metadata.store is of cluster other. "
        "Give the broker its own folder, or point signalbox.metadata.store at the cluster the data came from"
    )
    with pytest.raises(MetaPropertiesFault) as rejected:
        check_owner("/data", found, "abc", 8)
    assert str(rejected.value) == (
        "log.dirs (/data): /data/meta.properties has node id 7, but node.id is 8. Correct node.id or log.dirs"
    )
