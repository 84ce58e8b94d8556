"""Every kind of change on a real cluster without faults: all get responses, and the store and all brokers agree with
them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tools.chaos.changes.caller import LOGIN_SETTINGS, USER, AnswerLost, Caller, NotSent
from tools.chaos.changes.final_check import check_until_consistent
from tools.chaos.changes.kind import Kind
from tools.chaos.changes.kinds import all_kinds
from tools.chaos.changes.load import SteadyChanger
from tools.chaos.changes.model import NOT_THERE, Change, State
from tools.chaos.faults.network import LISTENERS
from tools.chaos.state_reader import state_in_file

from signalbox.protocol.error_table import Error
from signalbox.testing.cluster import Cluster
from signalbox.testing.free_ports import consecutive_ports
from tests.waiting import until

ENOUGH = 20
GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:{USER}",
    "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
    "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
    **LOGIN_SETTINGS,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(3, tmp_path_factory.mktemp("changes"), overrides=GUARDED) as running:
        yield running


def addresses(cluster: Cluster) -> dict[int, str]:
    return {node_id: node.describe()["listeners"]["LOGIN"] for node_id, node in cluster.nodes.items()}


def moves(change: Change, state: State) -> bool:
    """True if the change would be acknowledged and lead to another state."""
    made = [after for after, error in change.transitions(state) if error == Error.NONE]
    return bool(made) and state not in made


def store_of(cluster: Cluster) -> Path:
    return Path(str(cluster.nodes[1].config["signalbox.metadata.store"]).removeprefix("sqlite:"))


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.name)
def test_in_peace_every_change_is_made_everywhere(cluster: Cluster, kind: Kind) -> None:
    changer = SteadyChanger(0, kind, lambda: list(addresses(cluster).values()), seed=5)
    changer.start()
    until(lambda: sum(each.acknowledged for each in changer.histories) >= ENOUGH, "changes enough")
    changer.stop()
    with state_in_file(store_of(cluster)) as state:
        [check] = check_until_consistent([changer], state, addresses(cluster), 10)
        assert check.examples == ()
        assert check.acknowledged >= ENOUGH
        assert check.unanswered == 0
        # The check can fail, too: a change that the ledger has as acknowledged, but that was never requested.
        history, unheard = next(
            (history, change)
            for history in changer.histories
            for state in history.possible()
            for change in (kind.draw(history.entity, state, Random(number)) for number in range(100))
            if change is not None and moves(change, state)
        )
        history.answer(unheard, Error.NONE)
        [check] = check_until_consistent([changer], state, addresses(cluster), 0)
        assert check.lost == 1
        assert history.entity in check.examples[0]


def test_an_answer_that_does_not_come_is_lost_and_a_broker_that_is_not_there_was_not_asked(cluster: Cluster) -> None:
    [kind] = [each for each in all_kinds() if each.name == "quota"]
    closed_address = f"127.0.0.1:{consecutive_ports(1, Random())}"
    with pytest.raises(NotSent):
        Caller(closed_address, 1.0)
    with Caller(addresses(cluster)[1], 10.0, logs_in=True) as caller:
        change = kind.draw("changed-user-x", NOT_THERE, Random(1))
        assert change is not None
        assert kind.on_response("changed-user-x", caller.ask(change.request)) == Error.NONE
        caller.close()
        with pytest.raises(AnswerLost):
            caller.ask(change.request)
