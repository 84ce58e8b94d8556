from signalbox.common import limits


def test_every_cap_is_a_positive_number() -> None:
    caps = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert caps
    assert all(isinstance(value, int) and value > 0 for value in caps.values())
