"""The modules that Spark's Python workers import: the installed pyspark in local sessions, our own package as a `.zip`
in a Spark cluster.

Spark puts `$SPARK_HOME/python/lib/pyspark.zip` first on the path of its workers. Python does not store compiled modules
of a zip file, so each worker would compile pyspark again: 1.6 s of CPU time instead of 0.4 s (pyspark 4.2.0). On a busy
machine that takes longer than the 10 s in which a worker of a streaming source must connect, and the query fails. The
SPARK_HOME of local sessions has links to the installed pyspark and no zip file.

A `.whl` among Spark's Python files is ignored by the workers: only `.zip`, `.egg` and `.jar` are put on their path.
Third-party packages with native code (confluent-kafka) cannot be shipped this way: profile `pypi` needs them installed
on the nodes, profile `jars` does not need them there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from pathlib import Path

import pyspark

import signalbox

_ENTRIES = ("bin", "jars")  # all that a local session uses
# The packages that a worker of the data source imports; no others are shipped.
SHIPPED_PACKAGES = ("common", "pipeline", "security")


def spark_home(cache: Path) -> Path:
    """The path of this environment's SPARK_HOME below `cache`; its content is `make_spark_home`'s."""
    installed = Path(pyspark.__file__).parent
    place = hashlib.sha256(str(installed).encode()).hexdigest()[:8]
    return cache / f"spark-home-pyspark{pyspark.__version__}-{place}"


def make_spark_home(cache: Path) -> Path:
    """Makes that directory of links to the installed pyspark if it does not exist, and returns its path."""
    home = spark_home(cache)
    if home.exists():
        return home
    partial = home.with_name(f"{home.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    for name in _ENTRIES:
        (partial / name).symlink_to(Path(pyspark.__file__).parent / name)
    try:
        partial.rename(home)
    except OSError:  # another process was first
        shutil.rmtree(partial)
    return home


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
