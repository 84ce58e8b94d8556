"""The formats of a table are stored beside its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.registry import RegistrySettings
from signalbox.pipeline.formats.schema_text import SchemaText, array, column
from signalbox.pipeline.formats.stored_formats import read_formats, write_formats
from tests.pipeline.synced_names import note_synced


@pytest.mark.spec("P4", "P5")
def test_formats_are_read_back_without_secrets(tmp_path: Path) -> None:
    registry = RegistrySettings("http://r", {"basic.auth.user.info": "user:secret", "timeout": "3"})
    specs = (
        PartSpec(part="value", format="avro", columns=(column("a", array("long")),), registry=registry, subject="s"),
        PartSpec(part="key", format="protobuf", schema=SchemaText("text", (("r", "t"),), "M")),
    )
    assert read_formats(tmp_path) is None
    write_formats(tmp_path, specs)
    read = read_formats(tmp_path)
    assert read is not None
    assert read[0].registry == RegistrySettings("http://r", {"timeout": "3"})
    assert (read[0].columns, read[1]) == (specs[0].columns, specs[1])
    assert "secret" not in (tmp_path / "formats.json").read_text()


def test_formats_survive_a_loss_of_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = note_synced(monkeypatch)
    write_formats(tmp_path, (PartSpec(part="key", format="csv"),))
    assert synced == [".formats.json", tmp_path.name]


@pytest.mark.spec("P9")
def test_a_login_in_a_url_is_not_stored(tmp_path: Path) -> None:
    options = {"proxy": "http://user:secret@proxy", "timeout": "3"}
    for registry in (
        RegistrySettings("http://user:secret@r", options),
        RegistrySettings.of("http://u:secret@r", options),
    ):
        write_formats(tmp_path, (PartSpec(part="value", format="avro", registry=registry),))
        read = read_formats(tmp_path)
        assert read is not None
        assert read[0].registry == RegistrySettings("http://r", {"timeout": "3"})
        assert "secret" not in (tmp_path / "formats.json").read_text()


@pytest.mark.parametrize("text", ["{", '{"version": 9}', '{"version": 1, "parts": [{}]}'])
def test_a_corrupt_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "formats.json").write_text(text)
    with pytest.raises(ValueError, match=r"formats.json cannot be read"):
        read_formats(tmp_path)
