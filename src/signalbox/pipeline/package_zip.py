"""Our own package as a `.zip`, for a Spark cluster's Python workers.

A `.whl` among Spark's Python files is ignored by the workers: only `.zip`, `.egg` and `.jar` are put on their path.
Third-party packages with native code (confluent-kafka) cannot be shipped this way: profile `pypi` needs them installed
on the nodes, profile `jars` does not need them there.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import signalbox

# The packages that a worker of the data source imports; no others are shipped.
SHIPPED_PACKAGES = ("common", "pipeline")


def shipped_files() -> list[tuple[str, bytes]]:
    """The (name in the archive, content) pairs, sorted."""
    root = Path(signalbox.__file__).parent
    files = [(Path("signalbox") / "__init__.py", root / "__init__.py")]
    for package in SHIPPED_PACKAGES:
        files += [(Path("signalbox") / path.relative_to(root), path) for path in (root / package).rglob("*.py")]
    return sorted((str(name), path.read_bytes()) for name, path in files)


def write_package_zip(directory: Path) -> Path:
    """Writes `signalbox-<digest>.zip` into `directory` if it does not exist, and returns its path."""
    files = shipped_files()
    digest = hashlib.sha256(b"".join(name.encode() + content for name, content in files)).hexdigest()[:12]
    path = directory / f"signalbox-{digest}.zip"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files:
                archive.writestr(name, content)
        fresh.replace(path)
    return path
