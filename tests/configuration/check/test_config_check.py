"""Kafka's rules for listeners, one by one (KIP-103, KIP-291): a configuration that breaks one is rejected with the key,
the entry and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.common.config.properties_file import Properties, parse_properties
from signalbox.configuration.check.config_check import check_node_config
from signalbox.configuration.configuration import NODE_CONFIG
from tests.configuration.settings import VALUES
from tests.security.certificates import Authority

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
MAP = "CLIENT:{},REPLICATION:{},CONTROL:PLAINTEXT"
BROKER = Authority().identity("broker")

Given = dict[str, str | None]
Faults = list[tuple[str, str, str]]


def faults_of(changes: Given) -> Faults:
    """The faults of the usual configuration with `changes` (None: without that key) as (key, entry, problem)."""
    values = {key: value for key, value in {**VALUES, **changes}.items() if value is not None}
    config, faults = check_node_config(Properties("f", values))
    assert (config is None) == bool(faults)
    assert all(fault.remedy and fault.origin == "f" for fault in faults)
    return [(fault.key, fault.entry, fault.problem) for fault in faults]


def matches(found: Faults, expected: Faults) -> bool:
    """True if the faults are the same, each with the expected part of its problem's text; the order does not matter."""
    pairs = list(zip(sorted(found), sorted(expected, key=lambda each: each[:2]), strict=False))
    return len(found) == len(expected) and all(one[:2] == other[:2] and other[2] in one[2] for one, other in pairs)


def check(changes: Given, expected: Faults) -> None:
    found = faults_of(changes)
    assert matches(found, expected), found


LISTENERS = "listeners"
ADVERTISED = "advertised.listeners"
PROTOCOL_MAP = "listener.security.protocol.map"
INTER_BROKER = "inter.broker.listener.name"
PROTOCOL = "security.inter.broker.protocol"
CONTROL = "control.plane.listener.name"
FORCED = "control.plane.force.controller.requests.enable"
REST = "REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0"


@pytest.mark.spec("L1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 1.1.1 split on commas; blanks and empty pieces are ignored
        (f" CLIENT://127.0.0.1:0 ,, {REST}, ", []),
        # 1.1.2 the whole entry must match
        (f"CLIENT:127.0.0.1:0,{REST}", [(LISTENERS, "CLIENT:127.0.0.1:0", "is not a listener entry")]),
        (f"CLIENT://127.0.0.1,{REST}", [(LISTENERS, "CLIENT://127.0.0.1", "is not a listener entry")]),
        (f"CLIENT://h_1,{REST}", [(LISTENERS, "CLIENT://h_1", "is not a listener entry")]),
        (f"CLIENT://h!:1,{REST}", [(LISTENERS, "CLIENT://h!:1", "is not a listener entry")]),
        (f"CLIENT://h:\u0661,{REST}", [(LISTENERS, "CLIENT://h:\u0661", "is not a listener entry")]),
        # 1.1.3 names in any case, but not an empty one
        (f"Client://127.0.0.1:0,{REST.lower()}", []),
        (f"CLIENT://127.0.0.1:0,://h:1,{REST}", [(LISTENERS, "://h:1", "the listener has no name")]),
        # 1.1.4 no host means all addresses
        (f"CLIENT://:0,{REST}", []),
        (f"CLIENT://[::1]:0,{REST}", []),
        # 1.1.5 ports; Kafka detects these when it binds
        (f"CLIENT://127.0.0.1:65536,{REST}", [(LISTENERS, "CLIENT://127.0.0.1:65536", "port 65536 is not a port")]),
        (f"CLIENT://127.0.0.1:-1,{REST}", [(LISTENERS, "CLIENT://127.0.0.1:-1", "port -1 is not a port")]),
        (
            f"CLIENT://h:{'9' * 5000},{REST}",
            [(LISTENERS, f"CLIENT://h:{'9' * 5000}", "is not a port")],
        ),
        # 1.1.6 a name without a security protocol
        (f"CLINT://127.0.0.1:0,{REST}", [(LISTENERS, "CLINT://127.0.0.1:0", "no security protocol is defined")]),
        # 1.3 names are unique, in any case, also in a dual-stack pair
        (f"CLIENT://127.0.0.1:1,client://[::1]:1,{REST}", [(LISTENERS, "client://[::1]:1", "is already taken by")]),
        # 1.3 ports are unique, except for one IPv4 and one IPv6 address
        (f"CLIENT://127.0.0.1:7,REPLICATION://[::1]:7,{REST.partition(',')[2]}", []),
        (
            f"CLIENT://127.0.0.1:7,REPLICATION://127.0.0.2:7,{REST.partition(',')[2]}",
            [(LISTENERS, "REPLICATION://127.0.0.2:7", "port 7 is already taken by CLIENT://127.0.0.1:7")],
        ),
        (
            f"CLIENT://:7,REPLICATION://[::1]:7,{REST.partition(',')[2]}",
            [(LISTENERS, "REPLICATION://[::1]:7", "port 7 is already taken")],
        ),
        # no listener at all
        ("", [(LISTENERS, "", "names no listener"), (ADVERTISED, "", "no listener is left"), (CONTROL, "CONTROL", "")]),
    ],
)
def test_listeners(text: str, expected: Faults) -> None:
    check({LISTENERS: text}, expected)


@pytest.mark.spec("L2")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("client:plaintext, Replication:Plaintext ,CONTROL:PLAINTEXT", []),
        ("CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT,ELSEWHERE:SASL_SSL", []),
        (
            "CLIENT:TLS,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
            [(PROTOCOL_MAP, "CLIENT:TLS", "'TLS' is no security protocol")],
        ),
        ("CLIENT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT", [(PROTOCOL_MAP, "CLIENT", "is not a pair"), *[
            (LISTENERS, "CLIENT://127.0.0.1:0", "no security protocol is defined")]]),
        (
            "CLIENT:PLAINTEXT,client:SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
            [(PROTOCOL_MAP, "client:SSL", "listener CLIENT is mapped twice")],
        ),
        # an invalid pair is reported once, not again where its name is used
        (
            "CLIENT:PLAINTEXT,REPLICATION:TLS,CONTROL:TLS",
            [(PROTOCOL_MAP, "REPLICATION:TLS", ""), (PROTOCOL_MAP, "CONTROL:TLS", "")],
        ),
    ],
)  # fmt: skip
def test_the_protocol_map(text: str, expected: Faults) -> None:
    check({PROTOCOL_MAP: text}, expected)


@pytest.mark.spec("L2")
def test_the_map_is_replaced_not_extended() -> None:
    by_name: Given = {CONTROL: None, INTER_BROKER: None, LISTENERS: "PLAINTEXT://127.0.0.1:0", PROTOCOL_MAP: None}
    check(by_name, [])
    check(
        {**by_name, PROTOCOL_MAP: "CLIENT:PLAINTEXT"},
        [(LISTENERS, "PLAINTEXT://127.0.0.1:0", "no security protocol is defined for the listener PLAINTEXT")],
    )


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CLIENT://a:1,REPLICATION://a:1,CONTROL://a:1", []),  # advertised ports are not compared
        ("REPLICATION://a:1,CONTROL://a:1", []),
        ("CLIENT://a:1,REPLICATION://a:0,CONTROL://:0", []),
        (
            "CLIENT://a:1,PUBLIC://a:2,REPLICATION://a:3,CONTROL://a:4",
            [(ADVERTISED, "PUBLIC://a:2", "there is no listener PUBLIC")],
        ),
        (
            "CLIENT://a:1,client://b:1,REPLICATION://a:3,CONTROL://a:4",
            [(ADVERTISED, "client://b:1", "the name CLIENT is already taken")],
        ),
        *[
            (
                f"CLIENT://{host}:1,REPLICATION://a:3,CONTROL://a:4",
                [(ADVERTISED, f"CLIENT://{host}:1", "is no address that a client can connect to")],
            )
            for host in ("0.0.0.0", "[::]", "0")
        ],
        ("CLIENT://a:x,REPLICATION://a:3,CONTROL://a:4", [(ADVERTISED, "CLIENT://a:x", "is not a listener entry")]),
        # an entry with a fault still counts as advertising its listener
        ("CLIENT://a:1,REPLICATION://a:x,CONTROL://a:99999", [
            (ADVERTISED, "REPLICATION://a:x", ""), (ADVERTISED, "CONTROL://a:99999", "")]),
    ],
)  # fmt: skip
def test_advertised_listeners(text: str, expected: Faults) -> None:
    check({ADVERTISED: text}, expected)


@pytest.mark.spec("L3")
def test_listeners_are_advertised_unless_advertised_listeners_is_set() -> None:
    wildcard = f"CLIENT://0.0.0.0:9092,{REST}"
    check({LISTENERS: wildcard}, [(LISTENERS, "CLIENT://0.0.0.0:9092", "0.0.0.0 is no address")])
    check({LISTENERS: wildcard, ADVERTISED: "CLIENT://me:9092,REPLICATION://me:1,CONTROL://me:2"}, [])


@pytest.mark.spec("L4")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({PROTOCOL: "PLAINTEXT"}, [(INTER_BROKER, "REPLICATION", f"{PROTOCOL} is set as well")]),
        ({INTER_BROKER: "rePLication"}, []),
        ({INTER_BROKER: ""}, [(INTER_BROKER, "", "names no listener")]),
        ({INTER_BROKER: "ELSEWHERE"}, [(INTER_BROKER, "ELSEWHERE", "is not found in listener.security.protocol.map")]),
        # neither key: the default PLAINTEXT, which is none of these listeners
        ({INTER_BROKER: None}, [(INTER_BROKER, "", "the inter-broker listener PLAINTEXT is not advertised")]),
        ({INTER_BROKER: None, PROTOCOL: "ssl"}, [(PROTOCOL, "ssl", "the inter-broker listener SSL is not advertised")]),
        ({INTER_BROKER: None, PROTOCOL: "TLS"}, [(PROTOCOL, "TLS", "is no security protocol")]),
        (
            {INTER_BROKER: None, PROTOCOL: "PLAINTEXT", LISTENERS: "PLAINTEXT://127.0.0.1:0,CONTROL://127.0.0.1:0",
             PROTOCOL_MAP: "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT"},
            [],
        ),
        (
            {ADVERTISED: "CLIENT://a:1,CONTROL://a:2"},
            [(INTER_BROKER, "REPLICATION", "the inter-broker listener REPLICATION is not advertised")],
        ),
        # 1.6 a broker has no controller listeners unless there are dedicated controllers
        ({"controller.listener.names": "CLIENT"}, [("controller.listener.names", "CLIENT", "no dedicated controll")]),
    ],
)  # fmt: skip
def test_the_inter_broker_listener(changes: Given, expected: Faults) -> None:
    check(changes, expected)


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({CONTROL: "control"}, []),
        ({CONTROL: None}, []),
        ({CONTROL: "Replication"}, [(CONTROL, "Replication", "cannot be the inter-broker listener")]),
        (
            {CONTROL: "PLANE"},
            [
                (CONTROL, "PLANE", "is not found in listener.security.protocol.map"),
                (CONTROL, "PLANE", "is not in listeners and advertised.listeners"),
            ],
        ),
        (
            {LISTENERS: "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0"},
            [(CONTROL, "CONTROL", "is not in listeners and advertised.listeners")],
        ),
        (
            {ADVERTISED: "CLIENT://a:1,REPLICATION://a:2"},
            [(CONTROL, "CONTROL", "is not in listeners and advertised.listeners")],
        ),
        ({FORCED: "yes"}, [(FORCED, "yes", "neither true nor false")]),
    ],
)
def test_the_control_plane(changes: Given, expected: Faults) -> None:
    check(changes, expected)


JAAS = "listener.name.client.plain.sasl.jaas.config"
SASL: Given = {
    PROTOCOL_MAP: MAP.format("SASL_PLAINTEXT", "PLAINTEXT"),
    "sasl.enabled.mechanisms": "PLAIN",
    JAAS: f'{PLAIN} required user_a="b";',
}
TLS: Given = {
    PROTOCOL_MAP: MAP.format("SSL", "PLAINTEXT"),
    "ssl.keystore.key": BROKER.key_pem(),
    "ssl.keystore.certificate.chain": BROKER.certificate_pem,
}


@pytest.mark.spec("L5")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (TLS, []),
        (
            {**TLS, "ssl.keystore.key": None},
            [("ssl.keystore.key", "CLIENT", "is missing beside ssl.keystore.certificate.chain")],
        ),
        (
            {**TLS, "listener.name.client.ssl.keystore.key": "none"},
            [("listener.name.client.ssl.keystore.key", "CLIENT", "expected one private key in PEM")],
        ),
        (
            {
                PROTOCOL_MAP: MAP.format("SSL", "PLAINTEXT"),
                "listener.name.client.ssl.keystore.location": "/no/such/file.pem",
            },
            [("listener.name.client.ssl.keystore.location", "CLIENT", "No such file or directory")],
        ),
        (
            {**TLS, "ssl.client.auth": "required"},
            [("ssl.truststore.location", "CLIENT", "client certificates cannot be checked")],
        ),
        # all faults of one listener's TLS at once
        (
            {
                PROTOCOL_MAP: MAP.format("SSL", "PLAINTEXT"),
                "ssl.client.auth": "always",
                "ssl.enabled.protocols": "SSLv3",
                "ssl.truststore.location": "/no/such/trust.pem",
            },
            [
                ("ssl.enabled.protocols", "SSLv3", "is not one of TLSv1.2, TLSv1.3"),
                ("ssl.keystore.location", "CLIENT", "a TLS listener needs a private key"),
                ("ssl.client.auth", "always", "is not one of none, requested, required"),
                ("ssl.truststore.location", "CLIENT", "/no/such/trust.pem cannot be read"),
            ],
        ),
        # brokers that could not connect to each other
        *[
            (
                {
                    **TLS,
                    PROTOCOL_MAP: f"CLIENT:PLAINTEXT,REPLICATION:{replication},CONTROL:{control}",
                    "ssl.truststore.certificates": Authority("other").pem,
                },
                [("ssl.truststore.location", name, "brokers with these settings could not connect to each other")],
            )
            for replication, control, name in (("SSL", "PLAINTEXT", "REPLICATION"), ("PLAINTEXT", "SSL", "CONTROL"))
        ],
        # a keystore for incoming and outgoing connections is reported once
        (
            {PROTOCOL_MAP: MAP.format("PLAINTEXT", "SSL"), "ssl.keystore.location": "/no/such/file.pem"},
            [("ssl.keystore.location", "REPLICATION", "/no/such/file.pem cannot be read")],
        ),
        (
            {"listener.name.client.max.connections": "many"},
            [("listener.name.client.max.connections", "many", "'many' is not a whole number")],
        ),
        (
            {"max.connections.per.ip.overrides": "10.0.0.1:5,h!:5,10.0.0.2:\u00b2,10.0.0.3,10.0.0.4:-1"},
            [
                ("max.connections.per.ip.overrides", entry, "is not host:count")
                for entry in ("h!:5", "10.0.0.2:\u00b2", "10.0.0.3", "10.0.0.4:-1")
            ],
        ),
        ({"max.connections.per.ip": "0"}, [("max.connections.per.ip", "0", "no client could connect")]),
        ({"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "[::1]:5"}, []),
        (
            {"connections.max.idle.ms": "100"},
            [("connection.failed.authentication.delay.ms", "", "the delay is not below connections.max.idle.ms")],
        ),
    ],
)
def test_keys_of_listeners(changes: Given, expected: Faults) -> None:
    check(changes, expected)


@pytest.mark.spec("L6")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (SASL, []),
        ({**SASL, JAAS: None}, [(JAAS, "CLIENT", "the mechanism PLAIN of CLIENT has no login module")]),
        # a login module without its mechanism is not used for incoming logins
        (
            {**SASL, JAAS: None, "listener.name.client.sasl.jaas.config": SASL[JAAS], "sasl.jaas.config": SASL[JAAS]},
            [(JAAS, "CLIENT", "the mechanism PLAIN of CLIENT has no login module")],
        ),
        ({**SASL, JAAS: f"{PLAIN} required; {PLAIN} required;"}, [(JAAS, "CLIENT", "contains 2 login modules")]),
        ({**SASL, JAAS: f"{SCRAM} required user_a=b;"}, [(JAAS, "CLIENT", "is not the login module of PLAIN")]),
        (
            {**SASL, JAAS: "com.sun.security.auth.module.JndiLoginModule required;"},
            [(JAAS, "CLIENT", "JndiLoginModule is not allowed")],
        ),
        (
            {**SASL, "sasl.enabled.mechanisms": None},
            [("sasl.enabled.mechanisms", "GSSAPI", "is not supported, and CLIENT needs mechanisms")],
        ),
        (
            {**SASL, "listener.name.client.sasl.enabled.mechanisms": ""},
            [("listener.name.client.sasl.enabled.mechanisms", "", "names no mechanism")],
        ),
        (
            {**SASL, "signalbox.sasl.jaas.file": "/no/such/jaas"},
            [("signalbox.sasl.jaas.file", "/no/such/jaas", "No such file")],
        ),
        # brokers log in at other brokers with the module of that listener
        (
            {**SASL, INTER_BROKER: "CLIENT", "sasl.mechanism.inter.broker.protocol": "PLAIN"},
            [(JAAS, "CLIENT", "the login module of CLIENT has no username and password")],
        ),
        (
            {**SASL, INTER_BROKER: "CLIENT"},
            [("sasl.mechanism.inter.broker.protocol", "GSSAPI", "is not supported")],
        ),
        (
            {**SASL, INTER_BROKER: "CLIENT", "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"},
            [
                ("sasl.mechanism.inter.broker.protocol", "SCRAM-SHA-256", "is not in sasl.enabled.mechanisms"),
                ("listener.name.client.scram-sha-256.sasl.jaas.config", "CLIENT", "has no login module"),
            ],
        ),
    ],
)
def test_login_modules(changes: Given, expected: Faults) -> None:
    check(changes, expected)


@pytest.mark.spec("L6")
def test_the_jaas_file_is_looked_into_in_kafkas_order(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    given: Given = {**SASL, JAAS: None, "signalbox.sasl.jaas.file": str(file)}
    file.write_text(f"client.KafkaServer {{ {PLAIN} required user_a=b; }};")
    check(given, [])
    file.write_text(f"KafkaServer {{ {PLAIN} required user_a=b; }};")
    check(given, [])
    # the listener's own section counts, even if it has no login module for the mechanism
    file.write_text(
        f"client.KafkaServer {{ {SCRAM} required user_a=b; }}; KafkaServer {{ {PLAIN} required user_a=b; }};"
    )
    check(given, [(JAAS, "CLIENT", "has no login module")])


@pytest.mark.parametrize(
    ("port", "host", "expected"),
    [
        ("70000", None, [("signalbox.metrics.http.port", "70000", "70000 is not between -1 and 65535")]),
        ("9092", None, [("signalbox.metrics.http.port", "9092", "the listener CLIENT has port 9092 on 127.0.0.1")]),
        (
            "9092",
            "0.0.0.0",
            [("signalbox.metrics.http.port", "9092", "the listener CLIENT has port 9092 on 127.0.0.1")],
        ),
        ("9092", "127.0.0.2", []),
        ("0", None, []),
        ("-1", None, []),
    ],
)
def test_the_metrics_port(port: str, host: str | None, expected: Faults) -> None:
    listeners = f"CLIENT://127.0.0.1:9092,{REST}"
    check({LISTENERS: listeners, "signalbox.metrics.http.port": port, "signalbox.metrics.http.host": host}, expected)


def test_faults_of_files_are_reported_with_all_others() -> None:
    text = "".join(
        f"{key}={value}\n"
        for key, value in {
            **VALUES,
            LISTENERS: f"CLIENT://127.0.0.1:0,BAD://,{REST}",
            PROTOCOL_MAP: MAP.format("SSL", "SASL_PLAINTEXT"),
            "num.partitions": "many",
            "authorizer.class.name": "no.such.Class",
            "super.users": "admin",
        }.items()
    )
    config, faults = check_node_config(parse_properties(text, "f"))
    assert config is None
    assert [(str(fault.origin), fault.key, fault.entry) for fault in faults] == [
        ("f:7", "num.partitions", "many"),
        ("f:3", "listeners", "BAD://"),
        ("f", "ssl.keystore.location", "CLIENT"),
        ("f", "sasl.enabled.mechanisms", "GSSAPI"),
        ("f", "sasl.mechanism.inter.broker.protocol", "GSSAPI"),
        ("f:9", "super.users", "admin"),
        ("f:8", "authorizer.class.name", "no.such.Class"),
    ]


def test_reports_contain_no_secret() -> None:
    given: Given = {
        **SASL,
        PROTOCOL_MAP: MAP.format("SASL_SSL", "PLAINTEXT"),
        JAAS: f"{PLAIN} required password hunter2;",
        "ssl.keystore.key": "hunter2",
        "ssl.key.password": "hunter2",
        "ssl.truststore.certificates": "hunter2",
        "listener.name.clint.ssl.keystore.password": "hunter2",
    }
    found = faults_of(given)
    assert len(found) == 3
    assert "hunter2" not in repr(found)


TEXT = st.text('CLIENTclient:/,;="{}[]0192.-%é\u2028\x1b ²', max_size=24)
WORDS = st.sampled_from(
    ["CLIENT://h:1", "SSL", "SASL_SSL", "PLAIN", "OAUTHBEARER", "true", "-1", "99999999999999999999", "/dev/zero",
     "file://[::1", "http://x:99999/", "json.dumps", f"{PLAIN} required;", "zookeeper:a:1/b"]
)  # fmt: skip
VALUE = st.one_of(TEXT, WORDS, st.lists(WORDS, max_size=3).map(",".join))
# Host names in this value are resolved, and that can take long.
KEYS = [row.name for row in NODE_CONFIG if row.name != "max.connections.per.ip.overrides"]
LISTENER_KEY = st.builds(
    "listener.name.{}.{}{}".format,
    st.sampled_from(["client", "replication", "CONTROL", ""]),
    st.sampled_from(["", "plain.", "oauthbearer."]),
    st.sampled_from(KEYS),
)
GIVEN = st.dictionaries(st.one_of(st.sampled_from(KEYS), LISTENER_KEY), VALUE, max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]), min_size=2, max_size=2),
    st.sampled_from(["PLAIN", "PLAIN,SCRAM-SHA-256", "OAUTHBEARER"]),
    GIVEN,
)
def test_no_configuration_does_worse_than_be_rejected(
    protocols: list[str], mechanisms: str, more: dict[str, str]
) -> None:
    values = {**VALUES, PROTOCOL_MAP: MAP.format(*protocols), "sasl.enabled.mechanisms": mechanisms, **more}
    config, faults = check_node_config(Properties("f", values))
    assert (config is None) == bool(faults)
    for line in (*map(str, faults), *(config.warnings if config else ())):
        assert line.isprintable()
        assert len(line) < 3_000
