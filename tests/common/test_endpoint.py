import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol, host_port, normalize_listener_name


def test_text_form_brackets_ipv6() -> None:
    assert str(Endpoint("CLIENT", "::1", 9092, SecurityProtocol.PLAINTEXT)) == "CLIENT://[::1]:9092"
    assert host_port("broker.example", 9092) == "broker.example:9092"


@pytest.mark.parametrize(
    ("protocol", "tls", "sasl"),
    [("PLAINTEXT", False, False), ("SSL", True, False), ("SASL_PLAINTEXT", False, True), ("SASL_SSL", True, True)],
)
def test_protocols_know_their_parts(protocol: str, tls: bool, sasl: bool) -> None:
    assert SecurityProtocol[protocol].uses_tls is tls
    assert SecurityProtocol[protocol].uses_sasl is sasl


def test_wire_numbers_are_kafkas() -> None:
    assert [int(protocol) for protocol in SecurityProtocol] == [0, 1, 2, 3]


def test_listener_names_are_compared_in_upper_case() -> None:
    assert normalize_listener_name(" client ") == "CLIENT"
