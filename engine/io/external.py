"""Tensors whose content lies in data files: where it lies, and that it can lie there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from ..errors import ModelError
from .tensors import content_size, is_external


@dataclass(frozen=True, slots=True)
class DataRange:
    """Bytes `offset` to `offset + length` of a file."""

    file: Path
    offset: int
    length: int


def entries(tensor: TensorProto) -> dict[str, str]:
    """The key-value pairs (location, offset, length, checksum) that a tensor states."""
    return {entry.key: entry.value for entry in tensor.external_data}


def locate(tensor: TensorProto, base_dir: str) -> DataRange:
    """Where the content of an external tensor lies.

    ModelError, in one sentence that names tensor and file, where the file is missing or outside of
    the model's folder `base_dir`, or too short, or the length does not fit the tensor.
    """
    stated = entries(tensor)
    location = stated.get("location", "")
    path = _inside(location, base_dir, tensor.name)
    size = _size(path, location, base_dir, tensor.name)
    offset = _number(stated.get("offset", "0"), "offset", tensor.name)
    expected = content_size(tensor.data_type, tensor.dims)
    rest = max(size - offset, 0)
    length = _number(stated.get("length") or str(expected or rest), "length", tensor.name)
    if expected is not None and length != expected:
        raise ModelError(
            f"tensor {tensor.name!r} has {length} bytes in external data file {location!r}, but "
            f"{expected} bytes are the size of its type and shape {list(tensor.dims)}"
        )
    if offset + length > size:
        raise ModelError(
            f"external data file {location!r} ends at byte {size}, but tensor {tensor.name!r} "
            f"needs its bytes {offset} to {offset + length}"
        )
    return DataRange(path, offset, length)


def check_external(tensors: Iterable[TensorProto], base_dir: str, model: Path | None) -> None:
    """ModelError if the content of a tensor is not where it says, or a link leads elsewhere.

    A link may lead into the folder, or to where the model file `model` itself really lies: download
    caches are made so.
    """
    folders = {os.path.realpath(base_dir or ".")}
    if model is not None:
        folders.add(os.path.dirname(os.path.realpath(model)))
    seen: set[Path] = set()
    for tensor in tensors:
        file = locate(tensor, base_dir).file
        if file not in seen:
            seen.add(file)
            real = os.path.realpath(file)
            if not any(os.path.commonpath((real, folder)) == folder for folder in folders):
                raise _outside(entries(tensor).get("location", ""), tensor.name)


def _outside(location: str, name: str) -> ModelError:
    return ModelError(
        f"external data file {location!r} of tensor {name!r} is outside the model's folder"
    )


def _inside(location: str, base_dir: str, name: str) -> Path:
    """The path of a data file, by its name inside the model's folder."""
    if not location:
        raise ModelError(f"tensor {name!r} has external data but names no file")
    if os.path.isabs(location) or ".." in Path(location).parts:
        raise _outside(location, name)
    return Path(base_dir or ".") / location


def _size(path: Path, location: str, base_dir: str, name: str) -> int:
    try:
        status = path.stat()
    except (OSError, ValueError):
        folder = base_dir or "."
        raise ModelError(
            f"external data file {location!r} of tensor {name!r} is not found in {folder!r}"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"external data file {location!r} of tensor {name!r} is not a file")
    return status.st_size


def _number(text: str, key: str, name: str) -> int:
    if not text.isdecimal():
        raise ModelError(f"tensor {name!r} has external data of {key} {text!r}, which is no number")
    return int(text)


def external_tensors(proto: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of a model that has external data, also in attributes and functions."""
    yield from _of_graph(proto.graph)
    for function in proto.functions:
        for node in function.node:
            yield from _of_node(node)


def _of_graph(graph: GraphProto) -> Iterator[TensorProto]:
    yield from filter(is_external, graph.initializer)
    for sparse in graph.sparse_initializer:
        yield from filter(is_external, (sparse.values, sparse.indices))
    for node in graph.node:
        yield from _of_node(node)


def _of_node(node: NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        yield from _of_attribute(attribute)


def _of_attribute(attribute: AttributeProto) -> Iterator[TensorProto]:
    kind = attribute.type
    if kind == AttributeProto.TENSOR:
        yield from filter(is_external, (attribute.t,))
    elif kind == AttributeProto.TENSORS:
        yield from filter(is_external, attribute.tensors)
    elif kind == AttributeProto.SPARSE_TENSOR:
        yield from filter(is_external, (attribute.sparse_tensor.values,))
    elif kind == AttributeProto.GRAPH:
        yield from _of_graph(attribute.g)
    elif kind == AttributeProto.GRAPHS:
        for graph in attribute.graphs:
            yield from _of_graph(graph)


def point(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    """Make a tensor refer to a range of a data file; a checksum, now of other bytes, goes."""
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
    tensor.data_location = TensorProto.EXTERNAL
