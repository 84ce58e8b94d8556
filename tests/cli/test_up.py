"""The options of `signalbox up`; what they do is in `local_cluster/test_cluster_run.py`."""

from __future__ import annotations

from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.testing.process_cluster import FIRST_CONTROLLER_ID


def test_the_ids_of_brokers_end_below_those_of_controllers() -> None:
    result = CliRunner().invoke(app, ["up", "--brokers", str(FIRST_CONTROLLER_ID)])
    assert (result.exit_code, f"not between 1 and {FIRST_CONTROLLER_ID - 1}" in result.stderr) == (2, True)


def test_the_help_names_every_option() -> None:
    text = CliRunner().invoke(app, ["up", "-h"]).stdout
    options = ("--data", "--brokers", "--controllers", "--port", "--topic", "--advertised-host", "--detach", "--drill")
    assert [option for option in (*options, "--override", "--json") if option not in text] == []
