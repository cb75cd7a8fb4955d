"""The indexed view of a model: values, nodes, graphs, and the links that edits keep up to date.

Each proto node is read once into a slotted `Node`; tensors are not converted. A value that
a body (If, Loop, Scan) captures from an enclosing graph appears there as a *proxy*: a Value without
producer whose `outer` is the captured one. While a proxy is in use, the node that owns the body
is registered among the uses of the outer value, so captures count as uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from . import dtypes
from .constants import digest, read_tensor
from .errors import Refused
from .names import Names

if TYPE_CHECKING:
    from .inference import Inferred
    from .io.source import Source
    from .schemas.known import Schemas

_CACHED_BYTES = 1 << 16
"""Arrays of stored tensors above this size are not kept on their Value."""


class Value:
    """A value of one graph, mostly a tensor: an input, an initializer or a node's output."""

    __slots__ = (
        "_array",
        "constant",
        "dtype",
        "graph",
        "is_input",
        "is_output",
        "name",
        "outer",
        "producer",
        "tensor",
        "uses",
    )

    name: str
    """Empty while a value made by a rule is not yet part of the graph."""
    producer: Node | None
    """None: a graph input, an initializer, a captured value, or a constant made by a rule."""
    uses: dict[Node, int]
    """Consumer -> number of input slots (for the owner of a body: plus one for each capturing
    body). Its order is not part of the graph's meaning: iterate with `consumers`."""
    graph: Graph
    constant: bool
    """Its content is known: an initializer that no graph input overrides, or made by a rule."""
    tensor: TensorProto | None
    """The initializer as read, overridable or not; None for constants made by rules."""
    is_input: bool
    is_output: bool
    dtype: int
    """ONNX element type; 0 means not known yet: ask `inference.type_of`."""
    outer: Value | None

    def __init__(self, name: str, graph: Graph, producer: Node | None = None) -> None:
        self.name = name
        self.graph = graph
        self.producer = producer
        self.uses = {}
        self.constant = False
        self.tensor = None
        self.is_input = False
        self.is_output = False
        self.dtype = 0
        self.outer = None
        self._array: np.ndarray[Any, Any] | None = None

    def array(self) -> np.ndarray[Any, Any]:
        """The content of a constant, read-only. ValueError if this is no constant; ModelError if
        its tensor cannot be read."""
        if self._array is not None:
            return self._array
        if self.outer is not None:
            return self.outer.array()
        if not self.constant or self.tensor is None:
            raise ValueError(f"value {self.name!r} is not a constant")
        model = self.graph.model
        if model.large is not None and model.large[0] is self:
            return model.large[1]
        array = read_tensor(self.tensor, model.base_dir)
        if array.nbytes <= _CACHED_BYTES:
            self._array = array
        else:
            model.large = (self, array)
        return array

    def __repr__(self) -> str:
        return f"<Value {self.name}>"


class Node:
    """An operator of one graph."""

    __slots__ = (
        "alive",
        "attributes",
        "bodies",
        "changed",
        "graph",
        "inputs",
        "name",
        "op",
        "order",
        "outputs",
        "proto",
        "rule",
    )

    op: str
    """`Conv` for the domain ai.onnx (also written ""), else `com.microsoft::QLinearAdd`."""
    name: str
    inputs: list[Value | None]
    """Absent inputs are None; trailing ones are cut off."""
    outputs: list[Value | None]
    attributes: dict[str, AttributeProto]
    """By name. Not to be changed: nodes may share it."""
    graph: Graph
    proto: NodeProto | None
    """The node as read; None for nodes made by rules."""
    order: tuple[int, ...]
    """Position in its graph: every operand's producer has a lesser one. See `order`."""
    bodies: tuple[Graph, ...]
    rule: str
    """`pack/rule` that made it; several in order, separated by a space, where one rewrote
    another's result; "" for a node of the model."""
    alive: bool
    """False before a node is committed and after it is removed."""
    changed: bool
    """Its inputs or outputs are no longer those of `proto`."""

    def __init__(
        self,
        op: str,
        name: str,
        inputs: list[Value | None],
        outputs: list[Value | None],
        attributes: dict[str, AttributeProto],
        graph: Graph,
        proto: NodeProto | None = None,
        order: tuple[int, ...] = (),
    ) -> None:
        self.op = op
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.attributes = attributes
        self.graph = graph
        self.proto = proto
        self.order = order
        self.bodies: tuple[Graph, ...] = ()
        self.rule = ""
        self.alive = proto is not None
        self.changed = False

    @property
    def known_as(self) -> str:
        """Its name; of a node without, the name of its first output."""
        return self.name or next((value.name for value in self.outputs if value is not None), "")

    def __repr__(self) -> str:
        return f"<{self.op} {self.name}>"


def describe(op: str, name: str, first_output: str) -> str:
    """`node 'conv1' (Conv)`, or by its first output where the node has no name."""
    return f"node {name!r} ({op})" if name else f"the {op} node that makes {first_output!r}"


class Graph:
    """The main graph of a model or a body of one of its nodes."""

    __slots__ = (
        "_shared",
        "edited",
        "inputs",
        "made",
        "model",
        "node_list",
        "outputs",
        "owner",
        "path",
        "proto",
        "values",
    )

    def __init__(
        self, proto: GraphProto, model: Model, owner: Node | None, path: tuple[int | str, ...]
    ) -> None:
        self.proto = proto
        self.model = model
        self.owner = owner
        self.path = path
        """Where a body lies: index of the node, attribute, index in it, and so on inward."""
        self.values: dict[str, Value] = {}
        """By name. Outputs of removed nodes (producer not alive) and unused proxies stay."""
        self.inputs: list[Value] = []
        """As listed in the proto; below IR version 4 that includes initializers."""
        self.outputs: list[Value] = []
        self.made: list[Value] = []
        """Constants made by rules, in the order of their first use; some may be unused by now."""
        self.edited = False
        """A rewrite changed this graph (not: a body inside it)."""
        self.node_list: list[Node] = []
        """Every node this graph ever had, removed ones included, in no order: see `nodes`."""
        self._shared: dict[object, Value] = {}

    @property
    def nodes(self) -> list[Node]:
        """The nodes in topological order: a stable sort of the order of the model."""
        alive = [node for node in self.node_list if node.alive]
        if self.edited:
            alive.sort(key=attrgetter("order"))
        return alive

    def new_constant(self, array: np.ndarray[Any, Any], hint: str) -> Value:
        """A constant of this content, shared with all made by rules that equal it bit by bit.

        It is named after `hint` when a committed node first uses it. Raises Refused if ONNX has
        no element type for the array's dtype, and in a body below IR version 4, where initializers
        must be graph inputs and bodies of If have none.
        """
        key = digest(array)
        value = self._shared.get(key)
        if value is None:
            if self.owner is not None and self.model.ir_version < 4:
                raise Refused("a body cannot hold new initializers below IR version 4")
            value = self._shared[key] = self._constant(array, hint)
        return value

    def _constant(self, array: np.ndarray[Any, Any], hint: str) -> Value:
        dtype = dtypes.from_numpy(array.dtype)
        if not dtype:
            raise Refused(f"ONNX has no element type for numpy's {array.dtype}")
        content = np.array(array, order="C", copy=True)
        content.flags.writeable = False
        value = Value(hint, self)
        value.constant = True
        value.dtype = dtype
        value._array = content
        return value

    def new_value(self) -> Value:
        """A value for the output of a new node; it is named when the node is committed."""
        return Value("", self)

    def new_node(
        self,
        op: str,
        inputs: list[Value | None],
        outputs: list[Value | None],
        attributes: dict[str, AttributeProto] | None = None,
    ) -> Node:
        """A node for a Replacement; it becomes part of the graph, and gets its name, on commit."""
        return Node(op, "", trimmed(inputs), trimmed(outputs), attributes or {}, self)

    def __repr__(self) -> str:
        return f"<Graph {self.proto.name}>"


class Model:
    """A model: its main graph, the bodies inside it, and what the model states about itself."""

    __slots__ = (
        "_versions",
        "base_dir",
        "graph",
        "graphs",
        "inferred",
        "ir_version",
        "large",
        "names",
        "opsets",
        "proto",
        "schemas",
        "serial",
        "source",
    )

    def __init__(
        self, proto: ModelProto, base_dir: str, opsets: dict[str, int], schemas: Schemas
    ) -> None:
        self.proto = proto
        self.base_dir = base_dir
        self.ir_version = int(proto.ir_version)
        self.opsets = opsets
        """Domain ("" for ai.onnx) -> version."""
        self.schemas = schemas
        self.graph = Graph(proto.graph, self, None, ())
        self.graphs: list[Graph] = [self.graph]
        """The main graph and all bodies, outer before inner."""
        self.serial = 0
        """Counts edits that put nodes behind others: see `order.labels_behind`."""
        self.names = Names(self)
        self.inferred: Inferred | None = None
        """Result of ONNX shape inference once it has been asked for."""
        self._versions: dict[str, int] = {}
        self.large: tuple[Value, np.ndarray[Any, Any]] | None = None
        """The large array read last: looking at all weights must not keep them all in memory."""
        self.source: Source | None = None
        """The model as it came in; None once a rewrite was written back to `proto`."""

    def version(self, op: str) -> int:
        """The opset version in force for an op: 0 if ai.onnx is not imported; 1, which is what will
        be imported when the model is written, for other domains that are not."""
        version = self._versions.get(op)
        if version is None:
            domain = op.rpartition("::")[0]
            version = self._versions[op] = self.opsets.get(domain, 1 if domain else 0)
        return version

    def nodes(self) -> Iterator[Node]:
        """The nodes of all graphs, outer graphs first, each graph in topological order."""
        for graph in self.graphs:
            if graph.owner is None or graph.owner.alive:
                yield from graph.nodes


def trimmed(values: list[Value | None]) -> list[Value | None]:
    """The list without absent values at its end."""
    count = len(values)
    while count and values[count - 1] is None:
        count -= 1
    return values[:count]


def consumers(value: Value) -> list[Node]:
    """The nodes that use a value (for a capture: the owner of the body), in topological order."""
    if len(value.uses) < 2:
        return list(value.uses)
    return sorted(value.uses, key=attrgetter("order"))
