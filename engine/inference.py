"""Element types and shapes of values, found on demand and as cheaply as possible.

In this order: what the value itself says, what its producer's schema derives from its inputs, what
the model states (`value_info`), and last ONNX shape inference, once a model. Not known is an
answer: type 0, shape None.
"""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto

from . import dtypes
from .graph import Graph, Model, Node, Value
from .ranks import state_ranks
from .schemas.typecheck import free_type, stated_type

Shape = tuple[int | None, ...]
"""Dimensions; None where one is not known (symbolic)."""

_KEEPS_SHAPE = frozenset(
    {
        "QuantizeLinear",
        "DequantizeLinear",
        "com.microsoft::QuantizeLinear",
        "com.microsoft::DequantizeLinear",
        "Identity",
        "Cast",
        "CastLike",
        "Relu",
        "LeakyRelu",
        "Clip",
        "Sigmoid",
        "Tanh",
        "Elu",
        "Selu",
        "Softplus",
        "Softsign",
        "HardSigmoid",
        "HardSwish",
        "Softmax",
        "LogSoftmax",
        "Abs",
        "Neg",
        "Exp",
        "Erf",
        "Sqrt",
        "Floor",
        "Ceil",
        "Round",
        "Gelu",
        "Mish",
        "com.microsoft::QLinearSigmoid",
        "com.microsoft::QLinearLeakyRelu",
        "com.microsoft::QLinearSoftmax",
    }
)
"""Ops whose first output has the shape of the first input."""

_SMALL_TENSOR = 1024
"""Elements up to which shape inference is given the content of an initializer."""


_ROUNDS = 3
"""A rank may tell the length of a shape, and so a further rank."""


class Inferred:
    """What a model states and what inference finds, by graph and name; filled when asked."""

    __slots__ = ("result", "shapes", "stated", "undeclared", "untyped")

    def __init__(self) -> None:
        self.stated: dict[Graph, dict[str, TypeProto]] = {}
        self.result: ModelProto | None = None
        """The model after inference; an empty one if that failed."""
        self.shapes: dict[Value, Shape | None] = {}
        self.untyped: set[Value] = set()
        """Values whose type was asked for and could not be found."""
        self.undeclared: set[Value] = set()
        """Values whose type cannot be found without inference."""


def type_of(value: Value, infer: bool = True) -> int:
    """The ONNX element type of a value; 0 if it is not known or the value is no tensor.

    `infer` allows shape inference as the last resort. Time is that of the chain of producers up
    to the first value of known type, once: what is found is kept on the values.
    """
    if value.dtype:
        return value.dtype
    if value.tensor is not None:
        value.dtype = value.tensor.data_type
        return value.dtype
    inferred = _inferred(value.graph.model)
    hopeless = inferred.untyped if infer else inferred.undeclared
    chain: list[Value] = []
    source: Value | int | None = value
    while isinstance(source, Value) and not source.dtype and source not in hopeless:
        chain.append(source)
        source = _type_source(source)
    known = source.dtype if isinstance(source, Value) else source or dtypes.UNKNOWN
    while chain:
        at = chain.pop()
        known = known or _element_type(_stated(at))
        if not known and infer:
            known = _element_type(_from_inference(at))
        at.dtype = known
        if not known:
            hopeless.add(at)
    return known


def _type_source(value: Value) -> Value | int | None:
    """The type of a value, or another value that has the same, or None if there is no telling."""
    if value.outer is not None:
        return value.outer
    if value.tensor is not None:
        return int(value.tensor.data_type)
    producer = value.producer
    if producer is None:
        return None
    model, op = producer.graph.model, producer.op
    rule = model.schemas.type_source(op, model.version(op), producer.outputs.index(value))
    if rule is None or isinstance(rule, int):
        return rule
    alike: Value | None = None
    for slot in rule:
        operand = producer.inputs[slot] if slot < len(producer.inputs) else None
        if operand is not None:
            if operand.dtype or operand.tensor is not None:
                return operand
            alike = alike or operand
    return alike or _free_source(producer)


def _free_source(node: Node) -> Value | int | None:
    free = free_type(node.op)
    if free is None:
        return None
    stated = stated_type(free, node.attributes)
    if stated:
        return stated
    if free.like_input is not None and free.like_input < len(node.inputs):
        return node.inputs[free.like_input]
    return free.default or None


def shape_of(value: Value) -> Shape | None:
    """The shape of a value; None if not even the rank is known. Looks at no tensor's content."""
    shapes = _inferred(value.graph.model).shapes
    chain: list[Value] = []
    at = value
    while at not in shapes:
        chain.append(at)
        known = _own_shape(at)
        if known is None:
            same = _same_shape(at)
            if same is not None:
                at = same
                continue
            known = _shape(_from_inference(at))
        shapes[at] = known
    shape = shapes[at]
    for link in reversed(chain):
        if shapes.get(link) is None:
            shape = shape if shape is not None else _shape(_from_inference(link))
            shapes[link] = shape
    return shapes[value]


def _own_shape(value: Value) -> Shape | None:
    if value.constant and value.outer is None:
        return tuple(value.tensor.dims) if value.tensor is not None else value.array().shape
    return _shape(_stated(value))


def _same_shape(value: Value) -> Value | None:
    if value.outer is not None:
        return value.outer
    producer = value.producer
    if producer is None or producer.op not in _KEEPS_SHAPE or producer.outputs[0] is not value:
        return None
    return producer.inputs[0]


def _inferred(model: Model) -> Inferred:
    if model.inferred is None:
        model.inferred = Inferred()
    return model.inferred


def _stated(value: Value) -> TypeProto | None:
    graph = value.graph
    stated = _inferred(graph.model).stated
    if graph not in stated:
        stated[graph] = _types_by_name(graph.proto)
    return stated[graph].get(value.name)


def _types_by_name(graph: GraphProto) -> dict[str, TypeProto]:
    infos: Iterable[ValueInfoProto]
    found: dict[str, TypeProto] = {}
    for infos in (graph.value_info, graph.output, graph.input):
        for info in infos:
            found[info.name] = info.type
    return found


def _from_inference(value: Value) -> TypeProto | None:
    """What ONNX shape inference says of a value of the model as it was read."""
    graph = value.graph
    inferred = _inferred(graph.model)
    if inferred.result is None:
        inferred.result = _infer(graph.model.proto)
        for known in graph.model.graphs:
            found = _follow(inferred.result.graph, known.path)
            if found is not None:
                inferred.stated[known] = _types_by_name(found)
    return inferred.stated.get(graph, {}).get(value.name)


def _follow(graph: GraphProto, path: tuple[int | str, ...]) -> GraphProto | None:
    for index, name, position in zip(path[::3], path[1::3], path[2::3], strict=True):
        assert isinstance(index, int) and isinstance(position, int)
        if index >= len(graph.node):
            return None
        attribute = next(item for item in graph.node[index].attribute if item.name == name)
        single = attribute.type == AttributeProto.GRAPH
        graph = attribute.g if single else attribute.graphs[position]
    return graph


def _infer(proto: ModelProto) -> ModelProto:
    try:
        found = onnx.shape_inference.infer_shapes(_without_weights(proto))
        for _ in range(_ROUNDS):
            if not state_ranks(found.graph):
                break
            found = onnx.shape_inference.infer_shapes(found)
        return found
    # Whatever inference makes of a hostile model: nothing is then known, which is a valid answer.
    except Exception:
        return ModelProto()


def _without_weights(proto: ModelProto) -> ModelProto:
    """A copy in which large initializers are inputs of their type and shape."""
    copy = ModelProto(ir_version=proto.ir_version)
    copy.opset_import.extend(proto.opset_import)
    copy.functions.extend(proto.functions)
    graph, source = copy.graph, proto.graph
    graph.name = source.name
    graph.node.extend(source.node)
    graph.input.extend(source.input)
    graph.output.extend(source.output)
    graph.value_info.extend(source.value_info)
    listed = {info.name for info in source.input}
    for tensor in source.initializer:
        if _is_small(tensor):
            graph.initializer.append(tensor)
        elif tensor.name not in listed:
            info = graph.input.add(name=tensor.name)
            info.type.tensor_type.elem_type = tensor.data_type
            for size in tensor.dims:
                info.type.tensor_type.shape.dim.add(dim_value=size)
    return copy


def _is_small(tensor: TensorProto) -> bool:
    if tensor.data_location == TensorProto.EXTERNAL:
        return False
    count = 1
    for size in tensor.dims:
        count *= size
    return count <= _SMALL_TENSOR


def _element_type(proto: TypeProto | None) -> int:
    return proto.tensor_type.elem_type if proto is not None else dtypes.UNKNOWN


def _shape(proto: TypeProto | None) -> Shape | None:
    if proto is None or not proto.HasField("tensor_type"):
        return None
    if not proto.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else None for dim in proto.tensor_type.shape.dim
    )
