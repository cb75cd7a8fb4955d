"""Constants: reading tensors as read-only arrays, comparing and digesting them by content."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, numpy_helper

from . import dtypes
from .errors import ModelError
from .io.external import locate
from .io.tensors import is_external

if TYPE_CHECKING:
    from .graph import Value

_SMALL = 64
"""Bytes up to which content is its own digest."""

# Types whose raw_data is the array itself. Packed types (4 and 2 bits) and strings are not.
_PLAIN = {
    number: dtypes.numpy_dtype(number)
    for name, number in dtypes.NUMBERS.items()
    if name not in ("str", "u4", "i4", "u2", "i2", "f4e2m1") and sys.byteorder == "little"
}


def read_tensor(tensor: TensorProto, base_dir: str) -> np.ndarray[Any, Any]:
    """The content of a tensor, read-only; external data is read from `base_dir` now.

    Raises ModelError, naming the tensor, if the content does not fit its shape or cannot be read.
    """
    try:
        dtype, raw = _PLAIN.get(tensor.data_type), tensor.raw_data
        if dtype is not None and raw:
            # An array over bytes is read-only. Thousands of scalars are read: no call is wasted.
            array = np.ndarray(tensor.dims[:], dtype, raw)
            if array.nbytes != len(raw):
                raise ValueError(f"{len(raw)} bytes, but {array.nbytes} are the size of its shape")
            return array
        array = _read_any(tensor, base_dir)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise ModelError(f"tensor {tensor.name!r} cannot be read: {error}") from error
    array.flags.writeable = False
    return array


def _read_any(tensor: TensorProto, base_dir: str) -> np.ndarray[Any, Any]:
    if is_external(tensor):
        # numpy_helper would load the data into the model's own message: read through another one.
        content = locate(tensor, base_dir)
        with content.file.open("rb") as file:
            file.seek(content.offset)
            data = file.read(content.length)
        tensor = TensorProto(
            name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, raw_data=data
        )
    return np.asarray(numpy_helper.to_array(tensor))


def same_constant(a: Value | None, b: Value | None) -> bool:
    """Whether two values are one value, or constants of equal element type, shape and bytes."""
    if a is b:
        return True
    if a is None or b is None or not (a.constant and b.constant):
        return False
    if a.outer is not None and a.outer is b.outer:
        return True
    if a.tensor is not None and b.tensor is not None and list(a.tensor.dims) != list(b.tensor.dims):
        return False
    return same_content(a.array(), b.array())


def same_content(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Bitwise equality of element type, shape and content: -0.0 is not 0.0, a NaN equals itself."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "O":
        return bool((a == b).all())
    return a.tobytes() == b.tobytes()


def digest(array: np.ndarray[Any, Any]) -> tuple[str, tuple[int, ...], bytes]:
    """A key that is equal exactly for arrays of `same_content` (collisions of SHA-256 aside)."""
    data = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
    if len(data) > _SMALL:
        data = hashlib.sha256(data).digest()
    return array.dtype.name, array.shape, data
