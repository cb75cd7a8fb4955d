"""`qrewrite explain` and `qrewrite diff`, and `result.explain`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from rules.graphs import Builder, Grid, Product, unary

import qrewrite
from qrewrite.cli import main

BLOCKED = Product(bias="i32", bias_scale=1.07)


def saved(model: onnx.ModelProto, folder: Path, name: str = "m.onnx") -> str:
    path = folder / name
    onnx.save(model, path)
    return str(path)


def many(count: int) -> onnx.ModelProto:
    """Blocked in the same way so many times."""
    b = Builder()
    x = b.input("x", "u8", (2, 3))
    for index in range(count):
        v = b.node("Sigmoid", [b.dq(x, Grid(scale=0.05 + index, zero_point=3))])
        b.q(v, Grid("i8", 0.01, 0), b.output(f"y{index}", "i8"))
    return b.model()


def test_nodes_with_one_cause_are_one_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", saved(many(200), tmp_path), "--pack", "ort-cpu"]) == 0
    shown = capsys.readouterr().out
    assert "200 x Sigmoid: " in shown and "and 197 more" in shown
    assert len(shown.splitlines()) < 24


def test_lines_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", saved(BLOCKED.model(), tmp_path), "--pack", "ort-cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert all(len(line) <= 80 for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(BLOCKED.model(), tmp_path)
    assert main(["explain", path, "--pack", "ort-cpu", "--fired", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (group,) = found["blocked"]
    assert group["nodes"] == ["Conv_3"] and group["cause"]["kind"] == "condition"
    assert group["cause"]["words"] == "close(b.scale, x.scale * w.scale)"


def test_fired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(replace(BLOCKED, bias_scale=1.0).model(), tmp_path)
    assert main(["explain", path, "--pack", "ort-cpu", "--node", "Conv_3"]) == 0
    shown = capsys.readouterr().out
    assert "fuse: onnx/conv at Conv Conv_3" in shown
    assert "x = x" in shown and "w = w" in shown


def test_excluded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(unary("Sigmoid"), tmp_path)
    words = ["explain", path, "--pack", "ort-cpu", "--skip", "rule:table"]
    assert main(words) == 0
    assert "--only or --skip" in capsys.readouterr().out


def test_stop_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(unary("Sigmoid"), tmp_path)
    assert main(["explain", path, "--pack", "ort-cpu", "--stop-after", "0"]) == 0
    assert "nothing stands in its way" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--node", "Conv_4"], 'there is no node "Conv_4"; did you mean "Conv_3"?'),
        (["--rule", "conf"], 'the pack has no rule "conf"; did you mean "conv"?'),
    ],
)
def test_misspelt(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(BLOCKED.model(), tmp_path)
    assert main(["explain", path, "--pack", "ort-cpu", *words]) == 2
    assert message in capsys.readouterr().err


def test_result() -> None:
    result = qrewrite.rewrite(BLOCKED.model(), "ort-cpu")
    found = result.explain("Conv_3")
    assert found.blocked[0].cause is not None
    assert found.blocked[0].cause.rule == "onnx/conv"
    assert "7 % apart" in str(found)
    fused = qrewrite.rewrite(replace(BLOCKED, bias_scale=1.0).model(), "ort-cpu")
    assert [each.rule for each in fused.explain("Conv_3").fired] == ["onnx/conv"]


def test_the_graph_is_left_as_it_was() -> None:
    """Rules with `then` are tried on it, and taken back."""
    result = qrewrite.rewrite(Product(weight="f32", x=Grid("u16", 0.1, 9)).model(), "ort-cpu")
    before = result.model.SerializeToString()
    result.explain()
    from qrewrite.engine.io.emit import to_proto

    assert to_proto(result._view).SerializeToString() == before


def test_diff_of_one_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = BLOCKED.model()
    renamed = onnx.ModelProto()
    renamed.CopyFrom(model)
    for node in renamed.graph.node:
        node.name = f"other_{node.name}"
    paths = saved(model, tmp_path, "a.onnx"), saved(renamed, tmp_path, "b.onnx")
    assert main(["diff", *paths]) == 0
    assert "the structure is the same" in capsys.readouterr().out


def test_diff_of_a_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = BLOCKED.model()
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for tensor in changed.graph.initializer:
        if tensor.name == "w":
            codes = numpy_helper.to_array(tensor)
            tensor.CopyFrom(numpy_helper.from_array(-codes, "w"))
    paths = saved(model, tmp_path, "a.onnx"), saved(changed, tmp_path, "b.onnx")
    assert main(["diff", *paths, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (line,) = found["structure"]["changed"]
    assert line.startswith("DequantizeLinear DequantizeLinear_1: operand 0")
    assert not found["structure"]["added"] and not found["structure"]["removed"]
    assert found["numbers"][0]["largest"] > 0


def test_diff_on_given_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(unary("Sigmoid"), tmp_path)
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 3, 6, 6), np.uint8))
    assert main(["diff", path, path, "--inputs", str(tmp_path / "x.npz")]) == 0
    assert main(["diff", path, path, "--inputs", path]) == 2
    assert "not an .npz file" in capsys.readouterr().err
