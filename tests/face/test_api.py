"""The Python API."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import qrewrite

from .command import add_model, ops

FUSED = {"com.microsoft::QLinearAdd": 1}
RULES = """
op com.acme::Sum(a: u8, b: u8) -> y: u8
rule {name} {{
    y = Q(Add(DQ(a), DQ(b)))
    where a.type == u8, per_tensor(a, b, y)
 => y = com.acme::Sum(a, b)
    exact
}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(add_model(), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_rewrite_of_a_path(path: Path) -> None:
    result = qrewrite.rewrite(path, "ort-cpu")
    assert result.applied["ort-cpu/add"] == 1
    assert result.summary.before == {"Add": 1, "DequantizeLinear": 2, "QuantizeLinear": 1}
    assert result.summary.after == FUSED
    assert [node.op_type for node in result.model.graph.node] == ["QLinearAdd"]
    result.save(path.with_name("out.onnx"))
    assert ops(path.with_name("out.onnx")) == ["QLinearAdd"]
    assert onnx.load(path.with_name("out.onnx")) == result.model


def test_rewrite_of_a_model_leaves_it_alone() -> None:
    model = add_model()
    before = model.SerializeToString(deterministic=True)
    assert qrewrite.rewrite(model, "ort-cpu").summary.after == FUSED
    assert model.SerializeToString(deterministic=True) == before


def test_loaded_pack_serves_many_models(path: Path) -> None:
    pack = qrewrite.load_pack("ort-cpu")
    assert [rule.name for rule in pack.rules] == [
        rule.name for rule in qrewrite.load_pack("ort-cpu").rules
    ]
    for model in (path, add_model()):
        assert qrewrite.rewrite(model, pack).summary.after == FUSED
    with pytest.raises(qrewrite.RuleError, match="alone"):
        qrewrite.rewrite(path, [pack, "onnx"])


def test_later_pack_or_rule_file_overrides_by_name(path: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.rules").write_text(RULES.format(name="add"))
    result = qrewrite.rewrite(path, ["onnx", "ort-cpu"], rules=tmp_path / "mine.rules")
    assert result.summary.after == {"com.acme::Sum": 1}
    alone = qrewrite.load_rules(tmp_path / "mine.rules")
    assert qrewrite.rewrite(path, alone).summary.after == {"com.acme::Sum": 1}


def test_only_skip_and_options(path: Path) -> None:
    assert qrewrite.rewrite(path, "ort-cpu", skip=["node:sum"]).applied == {}
    assert qrewrite.rewrite(path, "ort-cpu", only=["rule:conv"]).applied == {}
    result = qrewrite.rewrite(path, "ort-cpu", options={"target": "arm"})
    assert result.summary.after == FUSED
    with pytest.raises(qrewrite.RuleError, match="target"):
        qrewrite.rewrite(path, "ort-cpu", options={"target": "mips"})
    with pytest.raises(qrewrite.QrewriteError, match="rule:GLOB"):
        qrewrite.rewrite(path, "ort-cpu", only=["conv"])


def test_errors(path: Path, tmp_path: Path) -> None:
    with pytest.raises(qrewrite.FileError, match=r"none\.onnx"):
        qrewrite.rewrite(tmp_path / "none.onnx", "ort-cpu")
    with pytest.raises(qrewrite.RuleError, match="no-such-pack"):
        qrewrite.rewrite(path, "no-such-pack")
    with pytest.raises(qrewrite.RuleError):
        qrewrite.rewrite(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(qrewrite.ModelError, match=r"model\.onnx"):
        qrewrite.rewrite(path, "ort-cpu")
    with pytest.raises(qrewrite.FileError, match="does not exist"):
        qrewrite.rewrite(add_model(), "ort-cpu").save(tmp_path / "none" / "out.onnx")


def test_names_are_there() -> None:
    assert set(dir(qrewrite)) == set(qrewrite.__all__)
    for name in qrewrite.__all__:
        assert getattr(qrewrite, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        qrewrite.no_such_name  # noqa: B018
