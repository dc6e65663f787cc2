"""The address over which containers reach this machine, of what engines say of their bridge."""

import pytest
from bridge import gateway


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ([{"Subnet": "172.17.0.0/16", "Gateway": "172.17.0.9"}], "172.17.0.9"),
        # The first start of Docker 20.10 on an empty folder.
        ([{"Subnet": "172.17.0.0/16"}], "172.17.0.1"),
        ([{"Subnet": "10.4.1.0/24", "Gateway": ""}], "10.4.1.1"),
    ],
)
def test_the_bridge_has_an_address(said, address):
    assert gateway(said) == address
