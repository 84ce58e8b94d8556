"""Three nodes of Apache Kafka (KRaft) with a listener of each security protocol; PLAINTEXT is behind a switchboard."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Self

from signalbox.testing.free_ports import free_ports
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.security.certificates import Authority
from tests.system.provision import jars, java
from tests.waiting import until

NODES = (1, 2, 3)
PROTOCOLS = {
    "CLIENT": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",  # clients need a certificate
    "SASL": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
    "SCRAM": "SASL_PLAINTEXT",
    "TOKEN": "SASL_SSL",
}
MECHANISMS = {"SASL": "PLAIN", "BOTH": "PLAIN", "SCRAM": "SCRAM-SHA-512", "TOKEN": "OAUTHBEARER"}
PASSWORD = "alice-has-a-secret"
_CLUSTER_ID = "xtzWWN4bTjitpL3kfd9s5g"
_SECURITY = "org.apache.kafka.common.security."
_MODULE = f"{_SECURITY}plain.PlainLoginModule required"
_SCRAM = f"{_SECURITY}scram.ScramLoginModule required"
_TOKEN = f"{_SECURITY}oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="
_START_S, _STOP_S = 90.0, 20.0
_PROPERTIES = """process.roles={roles}
node.id={node_id}
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners={listeners}
advertised.listeners={advertised}
listener.security.protocol.map={protocols}
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENT
ssl.keystore.location={keystore}
ssl.keystore.type=PEM
listener.name.mutual.ssl.client.auth=required
listener.name.mutual.ssl.truststore.location={authority}
listener.name.mutual.ssl.truststore.type=PEM
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config={jaas}
listener.name.both.plain.sasl.jaas.config={jaas}
listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.scram.scram-sha-512.sasl.jaas.config={scram};
listener.name.token.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.token.oauthbearer.sasl.jaas.config={token}"broker";
log.dirs={folder}/logs
offsets.topic.replication.factor=1
offsets.topic.num.partitions=3
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
"""


class ApacheCluster:
    """`project` is the folder of the version's pom.xml in tests/system/java. The advertised CLIENT address of node n is
    the line "n" of `board`; the line "balancer" leads to all of them in rotation."""

    def __init__(self, project: str, folder: Path) -> None:
        self._class_path = jars(project)
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.authority = Authority()
        self.alice = ""  # the PEM file of a client's certificate
        self._authority_file = folder / "authority.pem"
        self.board = SwitchboardThread()
        self.ports: dict[int, dict[str, int]] = {}

    def __enter__(self) -> Self:
        self.board.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(_STOP_S)
        self.board.__exit__()

    def _start(self) -> None:
        # In one call: the first ports are bound seconds later, a second call might choose them again.
        controller_port, *ports = free_ports(1 + len(NODES) * len(PROTOCOLS))
        keystore = self.authority.identity("broker").pem_file(self._folder / "broker.pem")
        self._authority_file.write_text(self.authority.pem)
        self.alice = self.authority.identity("alice").pem_file(self._folder / "alice.pem")
        for slot, node_id in enumerate(NODES):
            self.ports[node_id] = dict(zip(PROTOCOLS, ports[slot * len(PROTOCOLS) :], strict=False))
            properties = self._configure(node_id, controller_port, keystore)
            storage = [*java(), "-cp", self._class_path, "kafka.tools.StorageTool", "format"]
            storage += ["-t", _CLUSTER_ID, "-c", str(properties)]
            storage += ["--add-scram", f"SCRAM-SHA-512=[name=alice,password={PASSWORD}]"]
            subprocess.run(storage, check=True, capture_output=True, timeout=120)
            with (properties.parent / "kafka.log").open("wb") as log:
                command = [*java(heap="300m"), "-cp", self._class_path, "kafka.Kafka", str(properties)]
                self._processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        self.board.add_line("balancer")
        self.board.rewire("balancer", *(("127.0.0.1", self.ports[node_id]["CLIENT"]) for node_id in NODES))
        for node_id, process in zip(NODES, self._processes, strict=True):
            for port in self.ports[node_id].values():
                until(partial(self._listens, port, process), f"node {node_id} listens on {port}", _START_S)

    def _configure(self, node_id: int, controller_port: int, keystore: str) -> Path:
        folder = self._folder / f"node-{node_id}"
        folder.mkdir()
        ports = self.ports[node_id]
        line_host, line_port = self.board.add_line(str(node_id), ("127.0.0.1", ports["CLIENT"]))
        bound = [f"{name}://127.0.0.1:{port}" for name, port in ports.items()]
        advertised = [f"CLIENT://{line_host}:{line_port}", *bound[1:]]
        roles = "broker"
        if node_id == 1:
            roles = "broker,controller"
            bound.append(f"CONTROLLER://127.0.0.1:{controller_port}")
        properties = folder / "server.properties"
        properties.write_text(
            _PROPERTIES.format(
                roles=roles,
                node_id=node_id,
                controller_port=controller_port,
                listeners=",".join(bound),
                advertised=",".join(advertised),
                protocols=",".join(f"{name}:{one}" for name, one in {**PROTOCOLS, "CONTROLLER": "PLAINTEXT"}.items()),
                keystore=keystore,
                authority=self._authority_file,
                scram=_SCRAM,
                token=_TOKEN,
                jaas=f'{_MODULE} user_alice="{PASSWORD}";',
                folder=folder,
            )
        )
        return properties

    def _listens(self, port: int, process: subprocess.Popen[bytes]) -> bool:
        if process.poll() is not None:
            logs = sorted(self._folder.glob("node-*/kafka.log"))
            raise RuntimeError("Apache Kafka did not start: " + "\n".join(log.read_text()[-1500:] for log in logs))
        try:
            socket.create_connection(("127.0.0.1", port), timeout=30).close()
        except OSError:
            return False
        return True

    def entry(self, listener: str, node_id: int = 1) -> str:
        """A bootstrap entry: the advertised address of a node on a listener."""
        if listener == "CLIENT":
            return self.line(str(node_id))
        return f"127.0.0.1:{self.ports[node_id][listener]}"

    def line(self, name: str) -> str:
        """The address of a line of the switchboard."""
        host, port = self.board.line(name).address
        return f"{host}:{port}"

    def properties(self, listener: str) -> Mapping[str, str]:
        """The client properties for a listener."""
        protocol = PROTOCOLS[listener]
        values = {"security.protocol": protocol}
        if protocol.endswith("SSL"):
            values["ssl.truststore.certificates"] = self.authority.pem
        if listener == "MUTUAL":
            values["ssl.keystore.location"] = self.alice
        if protocol.startswith("SASL"):
            values["sasl.mechanism"] = MECHANISMS[listener]
            values["sasl.jaas.config"] = login(MECHANISMS[listener])
        return values


def login(mechanism: str, password: str = PASSWORD) -> str:
    """The login module of alice."""
    if mechanism == "OAUTHBEARER":
        return f'{_TOKEN}"alice";'
    return f'{_MODULE if mechanism == "PLAIN" else _SCRAM} username="alice" password="{password}";'
