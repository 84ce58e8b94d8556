"""Fetching the pinned jars without Maven: through the Ivy that every pyspark wheel carries.

`spark.jars.packages` would resolve transitively and so insist on the token provider's version that no registry may
have; `ADD JAR 'ivy://…?transitive=false'` takes each jar alone. A short-lived plain session does it, in a process of
its own so that the caller's Java is not started with the wrong settings.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from signalbox.pipeline.jars import FETCH_TIMEOUT_SECONDS, JarError, JarManifest

_SCRIPT = """
import sys
from signalbox.pipeline.session import SessionSettings, build_session
spark = build_session(SessionSettings(app_name="signalbox-fetch-jars", master="local[1]"))
for coordinates in sys.argv[1:]:
    spark.sql(f"ADD JAR 'ivy://{coordinates}?transitive=false'")
for path in spark.sparkContext._jsc.sc().listJars().mkString("\\n").splitlines():
    print("JAR", path)
for row in spark.sql("LIST JARS").collect():
    print("JAR", row[0])
spark.stop()
"""


def fetched_files(output: str) -> list[str]:
    """The file names that the resolver reported (`spark://host:port/jars/group_name.jar` or a path)."""
    return [line.removeprefix("JAR ").strip() for line in output.splitlines() if line.startswith("JAR ")]


def fetch_by_ivy(manifest: JarManifest, directory: Path) -> None:
    """Copies the jars to `directory`. Raises JarError with the resolver's words when it cannot."""
    command = [sys.executable, "-c", _SCRIPT, *(jar.coordinates for jar in manifest.jars)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_SECONDS, check=False)
    if answer.returncode != 0:
        raise JarError("Spark's resolver could not fetch the jars: " + answer.stderr.strip()[-500:])
    print(answer.stdout)
    for name in fetched_files(answer.stdout):
        shutil.copy(name, directory)
