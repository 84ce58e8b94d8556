"""`python -m tools.chaos.writers.observed_broker server.properties`: the unchanged broker, but its writes
to a SQLite store are recorded there with its session (`file_history.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

from signalbox.metadata.store.sqlite.database import Database
from signalbox.wiring.serve import main
from tools.chaos.writers.file_history import OBSERVE

_open = Database.__init__


def _open_observed(self: Database, path: Path) -> None:
    _open(self, path)
    self._connection.execute(OBSERVE)


if __name__ == "__main__":
    Database.__init__ = _open_observed  # type: ignore[method-assign]  # every connection is opened by this method
    sys.exit(main(sys.argv[1:]))
