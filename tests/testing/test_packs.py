"""Every rule that ships is verified, with few examples here and many in the deep run."""

from __future__ import annotations

from functools import cache

import pytest

from qrewrite.loading import load_pack
from qrewrite.testing.rule_report import Report
from qrewrite.testing.suite import verify_by_name

loaded = cache(load_pack)
RULES = sorted({(rule.pack, rule.name) for rule in load_pack("ort-cpu").rules})
FEW, MANY = 3, 1000
LABORIOUS = {
    ("onnx", "linear_weight_to_uint8"),
    ("ort-cpu", "dynamic_weight_to_uint8"),
    ("ort-cpu", "qgemm_weight_to_uint8"),
    ("ort-cpu", "nbits_bias"),
    ("ort-cpu", "nbits_to_int8"),
    ("ort-cpu", "gemm_nbits"),
}
"""Rules from which a graph is seldom or never derived, and to try takes long: `qrewrite verify`
says so, too. They have graphs in tests/rules/test_integer_products.py and test_nbits.py."""


def verified(pack: str, name: str, examples: int) -> Report:
    report = verify_by_name(loaded(pack), name, examples)
    assert report.counterexample is None, report.reason
    return report


@pytest.mark.parametrize(("pack", "name"), sorted(set(RULES) - LABORIOUS))
def test_no_counterexample_in_few_graphs(pack: str, name: str) -> None:
    if not verified(pack, name, FEW).fired:
        pytest.skip("fired in none of so few graphs; the deep run asks for more")


@pytest.mark.deep
@pytest.mark.parametrize(("pack", "name"), RULES)
def test_rules_hold_on_many_graphs(pack: str, name: str) -> None:
    report = verified(pack, name, MANY)
    assert not report.reason, report.reason
