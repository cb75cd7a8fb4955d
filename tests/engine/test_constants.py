"""Reading and comparing tensors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from qrewrite.engine.constants import digest, read_tensor, same_content
from qrewrite.engine.dtypes import NUMBERS, from_numpy, integer_range, numpy_dtype
from qrewrite.engine.errors import ModelError


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"str"}))
@pytest.mark.parametrize("shape", [(), (1,), (3, 2), (0, 4)])
def test_every_element_type_is_read_as_onnx_reads_it(name: str, shape: tuple[int, ...]) -> None:
    dtype = numpy_dtype(NUMBERS[name])
    ones = np.ones(shape).astype(dtype)
    tensor = numpy_helper.from_array(ones, "t")
    array = read_tensor(tensor, "")
    assert (array.dtype, array.shape) == (dtype, shape)
    assert array.tobytes() == np.asarray(numpy_helper.to_array(tensor)).tobytes()
    assert not array.flags.writeable
    assert from_numpy(array.dtype) == NUMBERS[name]


def test_strings_and_typed_fields() -> None:
    strings = helper.make_tensor("t", TensorProto.STRING, [2], [b"a", b"b"])
    assert read_tensor(strings, "").tolist() == ["a", "b"]
    floats = helper.make_tensor("t", TensorProto.FLOAT, [2], [0.5, 2])
    array = read_tensor(floats, "")
    assert array.tolist() == [0.5, 2]
    assert not array.flags.writeable


@pytest.mark.parametrize("size", [3, 5, 8])
def test_content_that_does_not_fit_the_shape_is_an_error(size: int) -> None:
    tensor = TensorProto(name="t", dims=[], data_type=TensorProto.FLOAT, raw_data=b"\0" * size)
    with pytest.raises(ModelError, match="tensor 't' cannot be read"):
        read_tensor(tensor, "")


def test_content_is_compared_bit_by_bit() -> None:
    nan = np.array([np.nan], np.float32)
    assert same_content(nan, nan.copy())
    assert not same_content(np.float32([0.0]), np.float32([-0.0]))
    assert not same_content(np.float32([1]), np.float32(1).reshape(()))
    assert not same_content(np.int8([1]), np.uint8([1]))
    four = np.array([1, -1], ml_dtypes.int4)
    assert same_content(four, four.copy())


@pytest.mark.parametrize("count", [1, 1000])
def test_a_digest_tells_what_same_content_tells(count: int) -> None:
    one = np.arange(count, dtype=np.float32)
    other = one.copy()
    assert digest(one) == digest(other)
    other[-1] += 1
    assert digest(one) != digest(other)
    assert digest(one) != digest(one.reshape(1, -1))
    assert digest(one) != digest(one.view(np.int32))


def test_integer_ranges() -> None:
    assert integer_range(NUMBERS["i4"]) == (-8, 7)
    assert integer_range(NUMBERS["u2"]) == (0, 3)
    assert integer_range(NUMBERS["u16"]) == (0, 65535)
    assert integer_range(NUMBERS["i32"]) == (-(2**31), 2**31 - 1)
    assert integer_range(NUMBERS["f32"]) is None
