"""Conditionals with a known condition: the branch in place of the `If`."""

from __future__ import annotations

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, numpy_helper

from .sessions import Arrays


def inline_branches(model: ModelProto, known: Arrays) -> ModelProto:
    """The model in which each `If` whose condition is an initializer or `known` is its branch.

    Names inside branches are unique in a valid model; outputs of a branch take the names of the
    outputs of its `If`.
    """
    if not any(node.op_type == "If" for node in model.graph.node):
        return model
    values = {name: bool(array.reshape(-1)[0]) for name, array in known.items() if array.size == 1}
    values |= {
        tensor.name: bool(numpy_helper.to_array(tensor).reshape(-1)[0])
        for tensor in model.graph.initializer
        if tensor.name not in known and tensor.data_type == 9
    }
    result = ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        if node.op_type == "If" and node.input[0] in values:
            _splice(graph, node, values[node.input[0]])
        else:
            graph.node.append(node)
    return result


def _splice(graph: GraphProto, node: NodeProto, taken: bool) -> None:
    wanted = "then_branch" if taken else "else_branch"
    body = next(each.g for each in node.attribute if each.name == wanted)
    names = dict(zip((value.name for value in body.output), node.output, strict=True))
    graph.initializer.extend(body.initializer)
    for inner in body.node:
        copy = graph.node.add()
        copy.CopyFrom(inner)
        _rename(copy, names)


def _rename(node: NodeProto, names: dict[str, str]) -> None:
    for slots in (node.input, node.output):
        for index, name in enumerate(slots):
            slots[index] = names.get(name, name)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            for inner in attribute.g.node:
                _rename(inner, names)
