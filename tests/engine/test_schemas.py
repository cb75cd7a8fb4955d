"""Schemas: onnx's, the table of com.microsoft against onnxruntime's own, declared ops."""

from __future__ import annotations

import onnx
import onnxruntime
import pytest
from onnx import AttributeProto
from onnxruntime.capi import _pybind_state as registered

from qrewrite.engine import dtypes
from qrewrite.engine.attributes import decode
from qrewrite.engine.schemas.known import Schemas
from qrewrite.engine.schemas.microsoft import SIGNATURES
from qrewrite.engine.schemas.schema import AttributeSpec, Parameter, Schema
from qrewrite.engine.schemas.signatures import read_signatures

U8, I8, I32, F32 = (dtypes.NUMBERS[name] for name in ("u8", "i8", "i32", "f32"))


def test_a_schema_of_onnx() -> None:
    conv = Schemas().schema("Conv", 17)
    assert conv is not None
    assert conv.since_version == 11
    assert [(item.name, item.optional) for item in conv.inputs] == [
        ("X", False),
        ("W", False),
        ("B", True),
    ]
    assert (conv.min_inputs, conv.max_inputs, conv.min_outputs, conv.max_outputs) == (2, 3, 1, 1)
    assert conv.attributes["group"] == AttributeSpec("group", AttributeProto.INT, False, 1)
    assert conv.attributes["auto_pad"].default == "NOTSET"
    assert conv.attributes["pads"].default is None


def test_versions_and_absence() -> None:
    schemas = Schemas()
    softmax = [schemas.schema("Softmax", version) for version in (12, 13)]
    assert [item.attributes["axis"].default for item in softmax if item] == [1, -1]
    assert schemas.schema("Gelu", 19) is None
    assert schemas.schema("Gelu", 20) is not None
    assert schemas.schema("Upsample", 13) is None, "deprecated"
    assert schemas.schema("com.acme::Foo", 1) is None
    newest = schemas.schema("QuantizeLinear")
    assert newest is not None and newest.since_version >= 23


def test_variadic_inputs() -> None:
    concat = Schemas().schema("Concat", 17)
    assert concat is not None
    assert concat.max_inputs is None
    assert concat.input(40) == concat.inputs[0]
    assert concat.min_inputs == 1


def test_the_default_of_an_attribute_a_version_does_not_know_is_the_newest_one() -> None:
    schemas = Schemas()
    assert schemas.default("QuantizeLinear", 13, "saturate") == 1
    assert schemas.default("Softmax", 12, "axis") == 1
    assert schemas.default("Conv", 17, "pads") is None


def test_declared_ops() -> None:
    frob = Schema(
        "com.acme::Frob",
        1,
        (Parameter("x", "T", frozenset({U8, I8})),),
        (Parameter("y", "T", frozenset({U8, I8})),),
        {},
    )
    schemas = Schemas([frob])
    assert schemas.schema("com.acme::Frob", 7) is frob
    assert "com.acme::Frob" in schemas.ops()
    assert Schemas().schema("com.acme::Frob", 1) is None, "no state is shared"


def test_names_of_ops_are_listed_once() -> None:
    names = Schemas().ops()
    assert names.count("Conv") == 1
    assert "com.microsoft::QLinearAdd" in names


# ---- com.microsoft -----------------------------------------------------------------------------

TABLE = {schema.op: schema for schema in read_signatures(SIGNATURES, "com.microsoft")}
REGISTERED = {
    f"com.microsoft::{entry.name}": entry
    for entry in registered.get_all_operator_schema()
    if entry.domain == "com.microsoft"
}
TYPES = {
    f"tensor({onnx.TensorProto.DataType.Name(number).lower()})": number
    for number in dtypes.NUMBERS.values()
    if number in onnx.TensorProto.DataType.values()
}


def allowed(entry: object, parameter: object) -> frozenset[int]:
    constraints = {
        item.type_param_str: item.allowed_type_strs
        for item in entry.type_constraints  # type: ignore[attr-defined]  # has no stubs
    }
    names = constraints.get(parameter.typeStr, [parameter.typeStr])  # type: ignore[attr-defined]
    return frozenset(TYPES[name] for name in names)


@pytest.mark.skipif(
    int(onnxruntime.__version__.split(".")[1]) < 32, reason="the table is that of onnxruntime 1.32"
)
@pytest.mark.parametrize("op", sorted(TABLE))
def test_the_table_agrees_with_onnxruntime(op: str) -> None:
    ours, theirs = TABLE[op], REGISTERED[op]
    for mine, formal in zip(
        (*ours.inputs, *ours.outputs), (*theirs.inputs, *theirs.outputs), strict=True
    ):
        option = str(formal.option).rpartition(".")[2]
        assert mine.name == formal.name
        assert mine.optional == (option == "Optional"), mine
        assert mine.variadic == (option == "Variadic"), mine
        if (op, mine.name) != ("com.microsoft::QGemm", "y_zero_point"):
            assert mine.types == allowed(theirs, formal), mine
    assert set(ours.attributes) == set(theirs.attributes)
    for name, attribute in ours.attributes.items():
        formal = theirs.attributes[name]
        assert attribute.required == formal.required, name
        assert attribute.kind == getattr(AttributeProto, str(formal.type).rpartition(".")[2])
        stored = AttributeProto.FromString(formal._default_value)
        expected = decode(stored) if stored.name else None
        if isinstance(expected, float):
            expected = pytest.approx(expected, rel=1e-6)  # stored as a float32
        assert attribute.default == expected, name


def test_type_variables_relate_inputs_and_outputs_as_in_onnxruntime() -> None:
    for op, ours in TABLE.items():
        theirs = REGISTERED[op]
        formal = (*theirs.inputs, *theirs.outputs)
        mine = (*ours.inputs, *ours.outputs)
        for i, parameter in enumerate(mine):
            for j, other in enumerate(mine):
                if parameter.variable and parameter.variable == other.variable and i != j:
                    same = formal[i].typeStr == formal[j].typeStr
                    # The output of QGemm has the type of its zero point, or is float without one.
                    assert same or op == "com.microsoft::QGemm", (op, parameter, other)
