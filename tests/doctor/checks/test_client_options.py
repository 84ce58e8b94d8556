from __future__ import annotations

import pytest

from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.checks.client_options import check_identity, check_pinned_cluster, check_recovery
from signalbox.doctor.finding import exit_status
from signalbox.doctor.observations import ClientOptions
from tests.doctor.samples import CLUSTER, advertised, codes_of, connection, examination, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_a_client_that_is_pinned_to_another_cluster() -> None:
    rows = listener(seed(1), advertised(1, 1), client=ClientOptions(pinned_cluster_id="OTHER"))
    (finding,) = check_pinned_cluster(rows)
    assert (finding.code, finding.key) == ("PINNED_OTHER_CLUSTER", "bootstrap.servers")
    assert finding.text == f"kafka:9092 belongs to cluster {CLUSTER}, the client is pinned to cluster OTHER"
    assert exit_status(find(examination(rows))) == 1
    pinned = ClientOptions(pinned_cluster_id=CLUSTER)
    assert codes_of(check_pinned_cluster(listener(seed(1), client=pinned))) == []
    without = seed(connections=(connection(cluster_id=""),))
    assert codes_of(check_pinned_cluster(listener(without, client=ClientOptions(pinned_cluster_id="OTHER")))) == []


@pytest.mark.parametrize(
    ("client", "codes", "value"),
    [
        (ClientOptions(), [], ""),
        (ClientOptions(recovery_strategy="none"), ["RECOVERY_DISABLED"], "rebootstrap"),
        (ClientOptions(cluster_check=False), ["CHECK_DISABLED"], "true"),
        (ClientOptions(recovery_strategy="none", cluster_check=False), ["RECOVERY_DISABLED"], "rebootstrap"),
    ],
)
def test_a_client_that_would_not_notice_a_wrong_route(client: ClientOptions, codes: list[str], value: str) -> None:
    rows = listener(seed(1), advertised(1, 1), client=client)
    found = [*check_recovery(rows), *check_identity(rows)]
    assert [(row.code, row.value) for row in found] == [(code, value) for code in codes]
    assert exit_status(find(examination(rows))) == 0, "the routes themselves are right"
