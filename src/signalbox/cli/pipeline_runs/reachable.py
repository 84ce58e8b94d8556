"""Whether a run can reach its cluster, before Spark and librdkafka are loaded.

librdkafka retries for half a minute at a port that will never serve it, and its errors name keys that are not those of
the file of `--command-config`. The client of all other commands connects first: what is wrong is reported at once, with
the key that is likely wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signalbox.cli.connect import run_client
from signalbox.client.failures import ConfigRejected

if TYPE_CHECKING:
    from signalbox.client.cluster_client import ClusterClient
    from signalbox.pipeline.options import RunOptions


def reject_unreachable(options: RunOptions) -> None:
    """End the command if no broker serves it. Options with faults are left to the run, which reports all of them; so
    are properties that only the run's clients can use, such as Kerberos."""
    if options.faults() or not _is_usable(options):
        return
    run_client(_first_request)


def _is_usable(options: RunOptions) -> bool:
    from signalbox.client.client_settings import ClientSettings

    try:
        ClientSettings.from_properties({**options.client_options, "bootstrap.servers": options.bootstrap_servers})
    except ConfigRejected:
        return False
    return True


async def _first_request(client: ClusterClient) -> None:
    from signalbox.client.admin_apis.cluster_admin import ClusterAdmin

    await ClusterAdmin(client).describe_cluster()
