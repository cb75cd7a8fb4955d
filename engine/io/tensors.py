"""What a TensorProto must hold: the size of its content, by element type and dims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from onnx import TensorProto, helper

from .. import dtypes
from ..errors import ModelError

_PACKED_BITS = {"u4": 4, "i4": 4, "f4e2m1": 4, "u2": 2, "i2": 2}

BITS: dict[int, int] = {
    number: _PACKED_BITS.get(name) or 8 * dtypes.numpy_dtype(number).itemsize
    for name, number in dtypes.NUMBERS.items()
    if name != "str"
}
"""Element type -> bits of an element in raw_data or a data file; strings have no such size."""


_BYTES = {number: bits // 8 for number, bits in BITS.items() if bits >= 8}


def content_size(data_type: int, dims: Sequence[int]) -> int | None:
    """Bytes of a tensor's content in raw_data or a data file; None for types of no fixed size."""
    bits = BITS.get(data_type)
    return None if bits is None else (math.prod(dims) * bits + 7) // 8


def is_external(tensor: TensorProto) -> bool:
    """Whether the content lies in a data file beside the model."""
    return tensor.data_location == TensorProto.EXTERNAL


def check_tensors(tensors: Sequence[TensorProto]) -> list[TensorProto]:
    """The tensors whose content lies in data files; what the others hold is checked.

    ModelError, naming tensor and sizes, where content does not fit element type and dims.
    """
    external = []
    width, product = _BYTES.get, math.prod
    for tensor, raw in zip(tensors, map(attrgetter("raw_data"), tensors), strict=True):
        size = width(tensor.data_type, 0)
        if raw:
            # Scalars, of which there are most, are spared the product.
            fits = not tensor.dims if len(raw) == size else len(raw) == size * product(tensor.dims)
            if not fits:
                _check_raw(tensor, len(raw))
        elif is_external(tensor):
            external.append(tensor)
        else:
            _check_typed(tensor)
    return external


def _check_raw(tensor: TensorProto, actual: int) -> None:
    expected = content_size(tensor.data_type, tensor.dims)
    if expected is not None and actual != expected:
        raise _misfit(tensor, f"{actual} bytes of raw_data", f"{expected} bytes are")


def _check_typed(tensor: TensorProto) -> None:
    """The same for content in float_data, int32_data and so on, or for no content at all."""
    if not tensor.data_type:
        raise ModelError(f"tensor {tensor.name!r} has no element type")
    try:
        field = helper.tensor_dtype_to_field(tensor.data_type)
    except KeyError:
        return
    expected = math.prod(tensor.dims)
    if tensor.data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        expected *= 2
    bits = BITS.get(tensor.data_type, 8)
    if bits < 8:
        expected = -(-expected * bits // 8)
    actual = len(getattr(tensor, field))
    if actual != expected:
        raise _misfit(tensor, f"{actual} entries of {field}", f"{expected} are")


def _misfit(tensor: TensorProto, actual: str, expected: str) -> ModelError:
    kind = dtypes.short_name(tensor.data_type)
    return ModelError(
        f"tensor {tensor.name!r} has {actual}, but {expected} the size of {kind}{list(tensor.dims)}"
    )
