"""Wrong rules among the right ones of a pack, on real models: each is found, and where it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from testing.planted import PLANTED, Planted

from qrewrite.testing import blame
from qrewrite.testing.blame import Blame, first_wrong
from qrewrite.testing.compare import cases_of

MODELS = Path(__file__).parents[1] / "models"
QUICK = ("acting_relu_removed", "lost_mode", "table_of_other_scales")


def find(planted: Planted, folder: Path, *more: str) -> Blame | None:
    rules = folder / f"{planted.name}.rules"
    rules.write_text("\n".join([planted.text, *more]))
    family = planted.model.removeprefix("xs_").partition(".")[0]
    with np.load(MODELS / f"{family}.npz") as stored:
        cases = list(cases_of(dict(stored.items())).values())
    return blame(MODELS / f"{planted.model}.onnx", "ort-cpu", cases, rules=rules)


def outputs(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> list[Any]:
    """What onnxruntime computes without optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, dict(inputs)))


def assert_blamed(planted: Planted, folder: Path) -> None:
    found = find(planted, folder)
    assert found is not None
    assert found.rule == f"{planted.name}/{planted.name}"
    assert found.node == planted.node
    assert found.place.endswith(f"{planted.name}.rules:1:1")
    assert found.left == 0
    assert found.alone and found.halved
    onnx.checker.check_model(found.before, full_check=True)
    # the op that the rule is about, and Q and DQ of its operands and result
    plain = [n for n in found.before.graph.node if not n.op_type.endswith("eLinear")]
    assert len(plain) == 1 and len(found.before.graph.node) <= 5
    before, after = outputs(found.before, found.inputs), outputs(found.after, found.inputs)
    assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("planted", [p for p in PLANTED if p.name in QUICK], ids=lambda p: p.name)
def test_rule_and_node_are_named(planted: Planted, tmp_path: Path) -> None:
    assert_blamed(planted, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted", [p for p in PLANTED if p.name not in QUICK], ids=lambda p: p.name
)
def test_rule_and_node_are_named_of_the_others(planted: Planted, tmp_path: Path) -> None:
    assert_blamed(planted, tmp_path)


def test_nobody_is_blamed_where_all_is_right() -> None:
    assert blame(MODELS / "tp_tract_qlstm.onnx", "ort-cpu") is None


def test_of_two_wrong_rules_one_is_left_to_be_found(tmp_path: Path) -> None:
    pad, bias = (p for p in PLANTED if p.name in ("lost_mode", "lost_bias"))
    found = find(pad, tmp_path, bias.text)
    assert found is not None
    assert found.rule in ("lost_mode/lost_mode", "lost_mode/lost_bias")
    assert found.left > 0


@pytest.mark.parametrize("wrong", [1, 2, 50, 99, 100])
def test_halving_asks_few_states(wrong: int) -> None:
    asked = []

    def is_wrong(count: int) -> bool:
        asked.append(count)
        return count >= wrong

    assert first_wrong(100, is_wrong, lambda number: number if number == wrong else None) == (
        wrong,
        wrong,
        True,
    )
    assert len(asked) <= 7


def test_a_fault_that_comes_and_goes_is_found_one_by_one() -> None:
    """The third rewrite is wrong, the fifth hides it, the eighth, itself right, shows it again."""
    states = {3, 4, 8, 9, 10}
    found = first_wrong(10, states.__contains__, lambda number: "here" if number == 3 else None)
    assert found == (3, "here", False)


def test_a_fault_that_no_part_shows_is_that_of_the_step() -> None:
    assert first_wrong(10, lambda count: count >= 6, lambda number: None) == (6, None, True)
