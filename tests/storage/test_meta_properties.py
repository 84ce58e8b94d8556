from pathlib import Path

import pytest

from signalbox.common.ids import new_uuid
from signalbox.storage.file_system import RealFileSystem
from signalbox.storage.meta_properties import (
    MetaProperties,
    MetaPropertiesFault,
    check_owner,
    read_meta_properties,
    write_meta_properties,
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    meta = MetaProperties("q1Sh-9_ISia_zwGINzRvyQ", 3, new_uuid())
    write_meta_properties(RealFileSystem(), str(tmp_path), meta)
    assert read_meta_properties(str(tmp_path)) == meta
    assert "version=1\n" in (tmp_path / "meta.properties").read_text()


def test_a_new_directory_says_nothing(tmp_path: Path) -> None:
    assert read_meta_properties(str(tmp_path)) is None


def test_version_0_of_zookeeper_brokers_is_read(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("#\n#Sat Nov 21 2026\ncluster.id=abc\nversion=0\nbroker.id=7\n")
    assert read_meta_properties(str(tmp_path)) == MetaProperties("abc", 7)


@pytest.mark.parametrize(
    "text", ["version=1\ncluster.id=a\n", "version=1\nnode.id=x\n", "broker.id=1\ndirectory.id=!\n"]
)
def test_a_damaged_file_is_a_fault(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(MetaPropertiesFault, match=r"meta\.properties"):
        read_meta_properties(str(tmp_path))


def test_the_wrong_owner_is_told_which_key_to_change() -> None:
    found = MetaProperties("abc", 7)
    check_owner("/data", found, "abc", 7)
    with pytest.raises(MetaPropertiesFault, match="cluster abc"):
        check_owner("/data", found, "other", 7)
    with pytest.raises(MetaPropertiesFault, match=r"node\.id"):
        check_owner("/data", found, "abc", 8)
