"""The staged source: pages keep their paths, links lead to staged files, folders have pages, navigation is complete."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tools.site.staging import stage

from tools.site import staging

_ROOT = Path(__file__).parents[3]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "docs" / "notes").mkdir(parents=True)
    (root / "examples").mkdir()
    (root / "examples" / "server.properties").write_text("node.id=1\n")
    (root / "README.md").write_text("# R\n\n[a](docs/a.md) [examples](examples/)\n")
    (root / "CONTRIBUTING.md").write_text("# C\n")
    (root / "CHANGELOG.md").write_text("# L\n")
    (root / "docs" / "a.md").write_text(
        "# A\n\n[up](../README.md#x) [file](../examples/server.properties) [out](https://example.org/x)\n\n"
        '```\n[no link](nowhere.md)\n```\n\n## <a id="l5-limits"></a>Limits\n'
    )
    (root / "docs" / "notes" / "README.md").write_text("# Notes\n")
    return root


def _stage(root: Path, contents: str = '[[part]]\ncaption = "Use"\npages = ["docs/a"]\n') -> Path:
    file = root / "contents.toml"
    file.write_text(contents)
    stage(root, root / "site", file)
    return root / "site"


def test_a_page_keeps_its_path_and_its_links_lead_to_staged_files(repository: Path) -> None:
    site = _stage(repository)
    text = (site / "docs" / "a.md").read_text()
    assert "[up](../index.md#x) [file](../examples/server.properties) [out](https://example.org/x)" in text
    assert (site / "examples" / "server.properties").read_text() == "node.id=1\n"


def test_code_blocks_are_left_as_they_are(repository: Path) -> None:
    assert "```\n[no link](nowhere.md)\n```" in (_stage(repository) / "docs" / "a.md").read_text()


def test_named_headings_become_targets(repository: Path) -> None:
    assert "(l5-limits)=\n\n## Limits\n" in (_stage(repository) / "docs" / "a.md").read_text()


def test_the_first_page_has_the_contents_and_a_folder_lists_its_pages(repository: Path) -> None:
    site = _stage(repository)
    first = (site / "index.md").read_text()
    assert ":caption: Use\n\n/docs/a\n```" in first
    assert "[examples](examples/index.md)" in first
    assert "- [server.properties](server.properties)" in (site / "examples" / "index.md").read_text()
    assert ":glob:\n\n*\n```" in (site / "docs" / "notes" / "README.md").read_text()


def test_a_link_without_target_is_an_error_that_names_the_page(repository: Path) -> None:
    (repository / "CONTRIBUTING.md").write_text("[gone](docs/gone.md)\n")
    with pytest.raises(FileNotFoundError, match=r"CONTRIBUTING\.md links to docs/gone\.md"):
        _stage(repository)


def test_what_an_earlier_run_staged_is_removed(repository: Path) -> None:
    (repository / "site").mkdir()
    (repository / "site" / "old.md").touch()
    assert not (_stage(repository) / "old.md").exists()


def test_each_page_of_the_repository_is_in_the_navigation_once() -> None:
    parts = tomllib.loads(Path(staging.__file__).with_name("contents.toml").read_text())["part"]
    listed = [f"{page}.md" for part in parts for page in part["pages"]]
    pages = [file.relative_to(_ROOT).as_posix() for file in (_ROOT / "docs").glob("*.md")]
    folders = [file.relative_to(_ROOT).as_posix() for file in (_ROOT / "docs").glob("*/README.md")]
    assert sorted(listed) == sorted(["CONTRIBUTING.md", "CHANGELOG.md", *pages, *folders])
