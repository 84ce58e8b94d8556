"""Fetching the pinned jars without Maven: through the Ivy that every pyspark wheel carries.

`spark.jars.packages` would resolve transitively and so require the version of the token provider that a registry may
not have. `ADD JAR 'ivy://…?transitive=false'` takes each jar alone. A short-lived plain session does it, in a process
of its own so that the caller's Java is not started with the wrong settings.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from signalbox.pipeline.spark.jars import FETCH_TIMEOUT_SECONDS, JarError, JarManifest, PinnedJar

_SCRIPT = """
import sys
from pathlib import Path
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
ivy, *jars = sys.argv[1:]
spark = build_session(SessionSettings(
    app_name="signalbox-fetch-jars", master="local[1]", scratch_directory=Path(ivy) / "scratch",
    extra={"spark.jars.ivy": ivy},
))
for coordinates in jars:
    spark.sql(f"ADD JAR 'ivy://{coordinates}?transitive=false'")
end_session(spark)
"""


def ivy_file_name(jar: PinnedJar) -> str:
    """The name that Ivy gives to the file of a jar."""
    return f"{jar.group}_{jar.file_name}"


def fetch_by_ivy(manifest: JarManifest, directory: Path) -> None:
    """Writes the jars into `directory`. Raises JarError with the resolver's output if it fails."""
    ivy = directory / "ivy"
    command = [sys.executable, "-c", _SCRIPT, str(ivy), *(jar.coordinates for jar in manifest.jars)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_SECONDS, check=False)
    if answer.returncode != 0:
        raise JarError("Spark's resolver could not fetch the jars: " + answer.stderr.strip()[-500:])
    for jar in manifest.jars:
        shutil.move(ivy / "jars" / ivy_file_name(jar), directory / jar.file_name)
    shutil.rmtree(ivy)
