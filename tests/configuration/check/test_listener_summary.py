"""A summary of a listener's settings in words."""

from __future__ import annotations

from signalbox.configuration.check.listener_summary import ListenerSummary, summarize
from tests.configuration.settings import config_of


def test_every_column() -> None:
    config = config_of(
        listeners="CLIENT://:9092,REPLICATION://[::1]:9093,CONTROL://127.0.0.1:0",
        advertised__listeners="REPLICATION://[::1]:9093,CONTROL://kafka:0",
        listener__security__protocol__map="CLIENT:SASL_SSL,REPLICATION:SSL,CONTROL:PLAINTEXT",
        control__plane__force__controller__requests__enable="true",
        sasl__enabled__mechanisms="PLAIN,SCRAM-SHA-256",
        ssl__client__auth="required",
        max__connections="9",
        listener__name__client__max__connections="7",
        listener__name__client__max__connection__creation__rate="5",
    )
    assert summarize(config) == [
        ListenerSummary(
            name="CLIENT",
            bind="*:9092",
            advertised=None,
            protocol="SASL_SSL",
            plane="data",
            part="",
            mechanisms="PLAIN, SCRAM-SHA-256",
            client_auth="none",  # the global key applies to SSL listeners
            limits="7 connections, 5 new ones a second",
        ),
        ListenerSummary(
            name="REPLICATION",
            bind="[::1]:9093",
            advertised="[::1]:9093",
            protocol="SSL",
            plane="data",
            part="inter-broker, privileged",
            mechanisms="",
            client_auth="required",
            limits="9 connections",
        ),
        ListenerSummary(
            name="CONTROL",
            bind="127.0.0.1 any free port",
            advertised="kafka any free port",
            protocol="PLAINTEXT",
            plane="control",
            part="controller requests only",
            mechanisms="",
            client_auth="",
            limits="9 connections",
        ),
    ]
