"""SCRAM users created and deleted while the cluster runs; the first user was stored before the first start."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from tests.system.clusters import BROKERS
from tests.system.console_tools import tool
from tests.system.guarded import Guarded, admin_of, described, let_in, set_user, tools_login
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(240)


@pytest.mark.spec("L7", "F1", "F2")
@pytest.mark.parametrize("bits", [256, 512])
def test_a_user_made_while_the_cluster_runs_logs_in_on_another_broker(guarded: Guarded, bits: int) -> None:
    user, mechanism = f"erin-{bits}", {256: ScramMechanism.SCRAM_SHA_256, 512: ScramMechanism.SCRAM_SHA_512}[bits]
    for node_id in BROKERS:
        assert not let_in(guarded, user, "erin-s3cret", node_id, bits)
    set_user(guarded, user, "erin-s3cret", guarded.follower, bits)
    admin = admin_of(guarded)
    description = described(admin, user)[user].result(30)
    assert [(info.mechanism, info.iterations) for info in description.scram_credential_infos] == [(mechanism, 4096)]
    changed = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 8192), b"another-s3cret")
    admin.alter_user_scram_credentials([changed])[user].result(30)
    for node_id in BROKERS:
        until(partial(let_in, guarded, user, "another-s3cret", node_id, bits), "the new password")
        assert not let_in(guarded, user, "erin-s3cret", node_id, bits)
    admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, mechanism)])[user].result(30)
    for node_id in BROKERS:
        until(partial(_is_kept_out, guarded, user, "another-s3cret", node_id, bits), f"{user}'s end")
    with pytest.raises(KafkaException, match="RESOURCE_NOT_FOUND"):
        described(admin, user)[user].result(30)


@pytest.mark.slow
@pytest.mark.spec("F2", "L7")
def test_kafka_configs_makes_and_removes_users(guarded: Guarded, tmp_path: Path) -> None:
    entity = [*tools_login(guarded, tmp_path), "--entity-type", "users", "--entity-name", "grace"]
    user = [*entity, "--alter"]
    credential = "SCRAM-SHA-512=[iterations=8192,password=grace-s3cret]"
    assert "Completed updating config for user grace" in tool("kafka-configs", *user, "--add-config", credential)
    description = described(admin_of(guarded), "grace")["grace"].result(30)
    assert [(info.mechanism, info.iterations) for info in description.scram_credential_infos] == [
        (ScramMechanism.SCRAM_SHA_512, 8192)
    ]
    for node_id in BROKERS:
        until(partial(let_in, guarded, "grace", "grace-s3cret", node_id, 512), f"grace on broker {node_id}")
    shown = "SCRAM credential configs for user-principal 'grace' are SCRAM-SHA-512=iterations=8192"
    assert shown in tool("kafka-configs", *entity, "--describe")
    tool("kafka-configs", *user, "--delete-config", "SCRAM-SHA-512")
    for node_id in BROKERS:
        until(partial(_is_kept_out, guarded, "grace", "grace-s3cret", node_id, 512), "grace's end")


def _is_kept_out(guarded: Guarded, user: str, password: str, node_id: int, bits: int) -> bool:
    return not let_in(guarded, user, password, node_id, bits)
