"""Models from files and messages, and back: `read_model`, `write_model` (and `emit.to_proto`)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # has no stubs
from onnx import ModelProto, TensorProto

from ..errors import FileError, ModelError
from ..graph import Model
from ..run.collector import collector_paused
from ..schemas.schema import Schema
from .atomic import check_target, reason, replacing
from .build import build
from .data_files import Part, copy_range, data_file
from .emit import to_proto
from .external import check_external, entries, external_tensors, locate
from .inline import inline_functions
from .relocate import LIMIT, is_same_folder, relocated
from .source import Source
from .tensors import check_tensors

_OLDEST_IR = 3
"""IR versions before it have no opset imports."""


def read_model(
    source: str | os.PathLike[str] | ModelProto,
    *,
    base_dir: str | os.PathLike[str] = "",
    anchors: Collection[str] = (),
    declared: Iterable[Schema] = (),
) -> Model:
    """The view of a model, read from a file or made of a copy of a ModelProto.

    `base_dir` is the folder of a ModelProto's external data (of a file it is its own), `anchors`
    the ops that rules are tried on (see `inline_functions`), `declared` the schemas of custom ops.
    External data is not read. FileError if the file cannot be read, ModelError if it is no valid
    model, each with one sentence that says what is wrong.
    """
    with collector_paused():
        if isinstance(source, ModelProto):
            original, path = source, None
            proto = ModelProto()
            proto.CopyFrom(source)
            folder = os.fspath(base_dir)
        else:
            path = Path(source)
            original = proto = parse_file(path)
            folder = str(path.parent)
        check_model(proto)
        proto = inline_functions(proto, anchors) or proto
        model = build(proto, folder, declared)
        check_external(check_tensors(list(_tensors(model))), folder, path)
        model.source = Source(original, path)
    return model


def parse_file(path: Path) -> ModelProto:
    """The message in a file, in ONNX's binary form, without external data."""
    try:
        if path.stat().st_size > LIMIT:
            raise ModelError(
                f"{str(path)!r} is larger than 2 GiB, the most that a model file can be"
            )
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileError(f"there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise FileError(f"{str(path)!r} is a folder, not a model") from None
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {reason(error)}") from error
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        raise ModelError(_not_a_model(path, data)) from None
    if not proto.ir_version and not proto.HasField("graph"):
        raise ModelError(_not_a_model(path, data))
    return proto


def _not_a_model(path: Path, data: bytes) -> str:
    if not data:
        return f"{str(path)!r} is empty"
    start = data[:512]
    if b"\0" not in start and start.isascii():
        return f"{str(path)!r} is a text file, not an ONNX model in protobuf's binary form"
    return f"{str(path)!r} cannot be parsed as an ONNX model: it is truncated, corrupt or no model"


def check_model(proto: ModelProto) -> None:
    """ModelError where what surrounds the graph is missing or of a version that is not known."""
    version = proto.ir_version
    if version < _OLDEST_IR:
        raise ModelError(f"IR version {version} is not supported: it must be {_OLDEST_IR} or newer")
    if version > onnx.IR_VERSION:
        raise ModelError(
            f"IR version {version} is newer than the installed onnx knows ({onnx.IR_VERSION})"
        )
    if not proto.HasField("graph"):
        raise ModelError("the model has no graph")
    versions = {entry.domain: entry.version for entry in proto.opset_import}
    opset = versions.get("", versions.get("ai.onnx"))
    if opset is None:
        raise ModelError("the model has no opset_import for ONNX's own operators")
    newest = onnx.defs.onnx_opset_version()
    if not 1 <= opset <= newest:
        raise ModelError(f"opset {opset} is not one that the installed onnx knows (1 to {newest})")


def _tensors(model: Model) -> Iterator[TensorProto]:
    """The initializers and the values of Constant nodes, bodies included."""
    for graph in model.graphs:
        yield from graph.proto.initializer
        for node in graph.node_list:
            if node.op == "Constant" and "value" in node.attributes:
                yield node.attributes["value"].t


def write_model(model: Model, path: str | os.PathLike[str], *, limit: int = LIMIT) -> None:
    """Write the model to a file, whole or not at all; a file that is there is replaced.

    Where no rule fired the file is a copy of the one read, byte for byte. External data that no
    rule changed stays on disk: see `relocated`. `limit` is the size of a message in bytes above
    which tensors go to a data file. FileError, with one sentence, if the file cannot be written.
    """
    proto = to_proto(model)
    target = check_target(Path(path))
    source = model.source.path if model.source is not None else None
    if source is not None:
        if target == Path(os.path.realpath(source)):
            return
        with contextlib.suppress(FileExistsError):
            _copy(proto, source, model.base_dir, target)
            return
    with relocated(proto, model.base_dir, target, limit):
        content = proto.SerializeToString()
        with replacing(target) as file:
            file.write(content)


def _copy(proto: ModelProto, source: Path, base_dir: str, target: Path) -> None:
    """Copy a model file, and to another folder what it uses of its data files.

    FileExistsError if there is another data file of the name in that folder.
    """
    with contextlib.ExitStack() as stack:
        if not is_same_folder(base_dir, target.parent):
            parts: dict[str, list[Part]] = {}
            for tensor in external_tensors(proto):
                content = locate(tensor, base_dir)
                location = entries(tensor)["location"]
                parts.setdefault(location, []).append(Part(content.offset, content))
            for location, pieces in parts.items():
                stack.enter_context(data_file(target.parent, location, pieces, exact=True))
        with _reading(source) as original, replacing(target) as file:
            copy_range(original, 0, file, 0, os.fstat(original.fileno()).st_size)


def _reading(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r} again: {reason(error)}") from error
