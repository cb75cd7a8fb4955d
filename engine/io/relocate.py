"""Saving a model whose content does not all fit, or did not all lie, in one file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from onnx import ModelProto, TensorProto

from .data_files import Part, data_file, lay_out
from .external import DataRange, entries, external_tensors, locate, point

LIMIT = 2**31 - 1
"""Bytes that a protobuf message can have."""

_WORTH_MOVING = 1 << 10
"""Bytes from which a tensor is taken out of a message that is too large."""


def is_same_folder(base_dir: str, folder: Path) -> bool:
    """Whether external data relative to `base_dir` is found from a model in `folder` as well."""
    return os.path.realpath(base_dir or ".") == os.path.realpath(folder)


@contextlib.contextmanager
def relocated(proto: ModelProto, base_dir: str, target: Path, limit: int = LIMIT) -> Iterator[None]:
    """Inside, `proto` can be written to `target`: small enough, and its external data is there.

    External data of the same folder stays where it is; of another folder, what the model uses is
    copied to a new data file beside `target`, as are the largest tensors of a message above `limit`
    bytes. At the end the message is as it was; after an error so is the folder.
    """
    moved = [] if is_same_folder(base_dir, target.parent) else list(external_tensors(proto))
    excess = _excess(proto, limit)
    contents: list[DataRange | bytes] = [locate(tensor, base_dir) for tensor in moved]
    contents += [tensor.raw_data for tensor in excess]
    if not contents:
        yield
        return
    parts = lay_out(contents)
    with (
        data_file(target.parent, f"{target.name}.data", parts, exact=False) as location,
        _pointing([*moved, *excess], location, parts),
    ):
        yield


def _excess(proto: ModelProto, limit: int) -> list[TensorProto]:
    """The largest initializers, as many as have to leave a message for it to keep the limit."""
    surplus = proto.ByteSize() - limit
    if surplus <= 0:
        return []
    chosen = []
    for tensor in sorted(proto.graph.initializer, key=lambda t: -t.ByteSize()):
        size = len(tensor.raw_data)
        if surplus <= 0 or size < _WORTH_MOVING:
            break
        chosen.append(tensor)
        surplus -= size - _WORTH_MOVING // 4  # what it says instead of holding the content
    return chosen


@contextlib.contextmanager
def _pointing(
    tensors: Sequence[TensorProto], location: str, parts: Sequence[Part]
) -> Iterator[None]:
    """Inside, the tensors have their content in parts of a data file."""
    before = [(tensor.raw_data, entries(tensor)) for tensor in tensors]
    try:
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.ClearField("raw_data")
            point(tensor, location, part.offset, part.length)
        yield
    finally:
        for tensor, (content, stated) in zip(tensors, before, strict=True):
            _restore(tensor, content, stated)


def _restore(tensor: TensorProto, content: bytes, stated: dict[str, str]) -> None:
    del tensor.external_data[:]
    for key, value in stated.items():
        tensor.external_data.add(key=key, value=value)
    if not stated:
        tensor.ClearField("data_location")
        tensor.raw_data = content
