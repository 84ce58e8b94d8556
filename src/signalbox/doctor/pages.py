"""The pages of the codes: for `signalbox doctor --explain CODE`, and as files in docs/doctor.

`python -m signalbox.doctor.pages` writes the files.
"""

from __future__ import annotations

from pathlib import Path

from signalbox.doctor.finding import PAGES, FindingCode, Severity, codes

_SEVERITIES = {
    Severity.ERROR: "error (exit status 1)",
    Severity.UNKNOWN: "the doctor cannot tell (exit status 2)",
    Severity.NOTICE: "notice (exit status 0)",
}


def page_of(row: FindingCode) -> str:
    """The page of one code, in Markdown."""
    key = f"`{row.key}`" if row.key else "none"
    return (
        f"# {row.code}: {row.title}\n\n"
        f"Severity: {_SEVERITIES[row.severity]}. Key to change: {key}.\n\n"
        f"{row.means}\n\n"
        f"**Causes.** {row.causes}\n\n"
        f"**What to do.** {row.remedy}\n"
    )


def index() -> str:
    """The table of all codes, in Markdown."""
    lines = ["| code | severity | what | key |", "|---|---|---|---|"]
    lines += [
        f"| [{row.code}]({row.code}.md) | {row.severity} | {row.title} | {f'`{row.key}`' if row.key else ''} |"
        for row in codes().values()
    ]
    return "\n".join(lines) + "\n"


def write_pages(folder: Path) -> None:
    """Writes one file per code and the list of codes; pages of codes that are gone are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in folder.glob("[A-Z]*.md"):
        if page.stem not in (*codes(), "README"):
            page.unlink()
    for row in codes().values():
        (folder / f"{row.code}.md").write_text(page_of(row), encoding="utf-8")
    (folder / "codes.md").write_text(f"# Codes of findings\n\n{index()}", encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(PAGES))
