"""Local functions are inlined where rules could match inside, and only there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from single_node import session

from qrewrite.engine.edits.replace import commit
from qrewrite.engine.io.emit import to_proto
from qrewrite.engine.io.inline import inline_functions
from qrewrite.engine.io.models import read_model, write_model
from qrewrite.engine.protocols import Replacement

TEXT = """
<ir_version: 10, opset_import: ["" : 21, "my" : 1], metadata_props: ["key": "value"]>
main (float[4] x, bool c) => (float[4] y) {
    [first] a = my.Outer (x)
    [second] b = my.Plain <alpha = 0.3> (a)
    [choice] y = If (c) <
        then_branch = then () => (float[4] t) { t = my.Inner (b) },
        else_branch = other () => (float[4] e) { e = my.Plain <alpha = 0.5> (b) }
    >
}
<domain: "my", opset_import: ["" : 21, "my" : 1]>
Outer (p) => (q) { n = my.Inner (p) q = Abs (n) }
<domain: "my", opset_import: ["" : 21]>
Inner (p) => (q) { r = Relu (p) q = Neg (r) }
<domain: "my", opset_import: ["" : 21]>
Plain <alpha> (p) => (q) { q = LeakyRelu <alpha: float = @alpha> (p) }
"""


def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(TEXT)


def all_ops(graph: onnx.GraphProto) -> set[str]:
    found = set()
    for node in graph.node:
        found.add(node.op_type)
        for attribute in node.attribute:
            found |= all_ops(attribute.g)
    return found


def test_functions_that_hold_an_anchor_and_those_that_call_them() -> None:
    proto = inline_functions(model(), {"Neg"})
    assert proto is not None
    assert all_ops(proto.graph) == {"Relu", "Neg", "Abs", "Plain", "If"}
    onnx.checker.check_model(proto, full_check=True)
    assert [entry.key for entry in proto.metadata_props] == ["key"]
    x = np.asarray([-2, -1, 1, 2], np.float32)
    for condition in (True, False):
        feeds = {"x": x, "c": np.asarray(condition)}
        before, after = (session(m).run(None, feeds)[0] for m in (model(), proto))
        assert np.array_equal(before, after)


def test_attributes_of_functions_are_bound() -> None:
    proto = inline_functions(model(), {"LeakyRelu"})
    assert proto is not None and "Plain" not in all_ops(proto.graph)
    leaky = next(node for node in proto.graph.node if node.op_type == "LeakyRelu")
    assert leaky.attribute[0].f == pytest.approx(0.3)


@pytest.mark.parametrize("anchors", [(), ("Conv",), ("com.microsoft::Neg", "my::Else")])
def test_functions_without_anything_for_rules_are_left(anchors: tuple[str, ...]) -> None:
    assert inline_functions(model(), anchors) is None
    view = read_model(model(), anchors=anchors)
    assert view.graph.nodes[0].op == "my::Outer"


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_a_function_that_quantizes_is_inlined_whatever_the_anchors(domain: str) -> None:
    proto = model()
    proto.functions[1].node[0].op_type = "DequantizeLinear"
    proto.functions[1].node[0].domain = domain
    inlined = inline_functions(proto, ())
    assert inlined is not None and "DequantizeLinear" in all_ops(inlined.graph)


def test_where_nothing_fires_the_functions_come_back(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    path.write_bytes(model().SerializeToString())
    view = read_model(path, anchors={"Neg"})
    assert "my::Inner" not in {node.op for node in view.nodes()}
    write_model(view, tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()
    assert to_proto(view) == model()
    given = model()
    assert to_proto(read_model(given, anchors={"Neg"})) is given


def test_where_something_fires_the_inlined_model_goes_out(tmp_path: Path) -> None:
    view = read_model(model(), anchors={"Neg"})
    node = next(node for node in view.graph.nodes if node.op == "Abs")
    new = view.graph.new_node("Sqrt", list(node.inputs), list(node.outputs))
    commit(Replacement(node, [node], [new]))
    write_model(view, tmp_path / "out.onnx")
    onnx.checker.check_model(str(tmp_path / "out.onnx"), full_check=True)
    loaded = onnx.load(tmp_path / "out.onnx")
    assert "Sqrt" in all_ops(loaded.graph)
    assert [function.name for function in loaded.functions] == ["Plain"]


def test_a_function_of_another_opset_is_left() -> None:
    proto = model()
    proto.functions[2].opset_import[0].version = 20
    assert inline_functions(proto, {"LeakyRelu"}) is None
    inlined = inline_functions(proto, {"LeakyRelu", "Neg"})
    assert inlined is not None and "Plain" in all_ops(inlined.graph)
    assert [function.name for function in inlined.functions] == ["Plain"]
    onnx.checker.check_model(inlined)
