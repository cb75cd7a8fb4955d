"""Reading models: what is wrong is said in one sentence, and nothing else is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qrewrite.engine.errors import FileError, ModelError, QrewriteError
from qrewrite.engine.io.models import read_model

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)
Break = Callable[[onnx.ModelProto], object]


def model(external: str = "") -> onnx.ModelProto:
    """y = Relu(x @ W); W in a data file if one is named."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "W"], ["product"], "matmul"),
            helper.make_node("Relu", ["product"], ["y"], "relu"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(WEIGHT, "W")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if external:
        point(proto.graph.initializer[0], external, 0, WEIGHT.nbytes)
    return proto


def point(tensor: onnx.TensorProto, location: str, offset: object, length: object) -> None:
    tensor.ClearField("raw_data")
    del tensor.external_data[:]
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))


def save(proto: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(proto.SerializeToString())
    return path


def sentence(error: QrewriteError) -> str:
    text = str(error)
    assert text and "\n" not in text and len(text) < 300, text
    return text


# ---- files ------------------------------------------------------------------------------------


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read_model(tmp_path / "none.onnx")
    assert "there is no file" in sentence(caught.value)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read_model(tmp_path)
    assert "is a folder" in sentence(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = save(model(), tmp_path / "m.onnx")
    path.chmod(0)
    with pytest.raises(FileError, match="permission denied"):
        read_model(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"This is a text file, not a model.\n" * 50, "text file"),
        (b"ir_version: 8\ngraph { node { op_type: 'Relu' } }\n", "text file"),
        (b'{"irVersion": "8"}', "text file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "cannot be parsed|not"),
        (bytes(4000), "cannot be parsed"),
    ],
)
def test_what_is_no_model(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        read_model(path)
    assert "m.onnx" in sentence(caught.value)


def test_a_truncated_file_at_every_length(tmp_path: Path) -> None:
    """A cut on the border of a field parses; then what is missing is named instead."""
    whole = model().SerializeToString()
    path = tmp_path / "m.onnx"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError) as caught:
            read_model(path)
        sentence(caught.value)


def test_a_file_beyond_what_protobuf_allows_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 31)
    with pytest.raises(ModelError, match="larger than 2 GiB") as caught:
        read_model(path)
    sentence(caught.value)


# ---- structure --------------------------------------------------------------------------------


def renamed(proto: onnx.ModelProto, output: str) -> None:
    proto.graph.node[1].output[0] = output


STRUCTURE: list[tuple[str, Break, str]] = [
    ("no opset", lambda m: m.ClearField("opset_import"), "opset"),
    ("opset of others only", lambda m: setattr(m.opset_import[0], "domain", "a.b"), "opset"),
    ("opset zero", lambda m: setattr(m.opset_import[0], "version", 0), "opset 0"),
    ("opset to come", lambda m: setattr(m.opset_import[0], "version", 999), "opset 999"),
    ("old ir", lambda m: setattr(m, "ir_version", 2), "IR version 2"),
    ("ir to come", lambda m: setattr(m, "ir_version", 99), "IR version 99"),
    ("no graph", lambda m: m.ClearField("graph"), "no graph"),
    ("output defined twice", lambda m: renamed(m, "product"), "'product'.*(twice|already defined)"),
    ("node writes an initializer", lambda m: renamed(m, "W"), "'W'.*(twice|already defined)"),
    ("node writes an input", lambda m: renamed(m, "x"), "'x'.*(twice|already defined)"),
    ("graph output missing", lambda m: renamed(m, "other"), "output 'y'.*no"),
    ("undefined input", lambda m: m.graph.node[0].input.__setitem__(0, "q"), "'q'.*noth|'q'.*not"),
    (
        "two initializers of a name",
        lambda m: m.graph.initializer.append(m.graph.initializer[0]),
        "'W'.*twice",
    ),
    ("cycle", lambda m: m.graph.node[0].input.__setitem__(0, "y"), "cycle"),
]


@pytest.mark.parametrize(
    ("break_it", "words"), [c[1:] for c in STRUCTURE], ids=[c[0] for c in STRUCTURE]
)
def test_broken_structure(break_it: Break, words: str) -> None:
    proto = model()
    break_it(proto)
    with pytest.raises(ModelError, match=words) as caught:
        read_model(proto)
    sentence(caught.value)


def test_what_is_unusual_is_accepted() -> None:
    proto = model()
    proto.graph.node.append(
        helper.make_node("Mystery", ["y", ""], ["", "z"], "custom", domain="my.domain", a=1)
    )
    proto.opset_import.add(domain="my.domain", version=7)
    proto.graph.node[0].domain = "ai.onnx"
    proto.opset_import.add(domain="ai.onnx", version=17)
    nodes = list(proto.graph.node)
    del proto.graph.node[:]
    proto.graph.node.extend(reversed(nodes))  # not topologically sorted
    view = read_model(proto)
    assert [node.op for node in view.graph.nodes] == ["MatMul", "Relu", "my.domain::Mystery"]


# ---- tensors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [-7, -4, 4, 400])
def test_raw_data_of_a_wrong_size_names_tensor_and_sizes(change: int) -> None:
    proto = model()
    weight = proto.graph.initializer[0]
    weight.raw_data = bytes(WEIGHT.nbytes + change)
    with pytest.raises(ModelError, match=rf"'W'.* {48 + change} bytes.* 48 bytes"):
        read_model(proto)


def test_sizes_are_checked_of_scalars_packed_and_typed_tensors_and_in_bodies() -> None:
    def refused(tensor: onnx.TensorProto) -> bool:
        proto = model()
        proto.graph.initializer.append(tensor)
        body = helper.make_graph(
            [helper.make_node("Identity", ["k"], ["out"])],
            "body",
            [],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        )
        inside = model()
        tensor = onnx.TensorProto.FromString(tensor.SerializeToString())
        tensor.name = "k"
        body.initializer.append(tensor)
        inside.graph.initializer.append(numpy_helper.from_array(np.asarray(True), "c"))
        inside.graph.node.append(
            helper.make_node("If", ["c"], ["i"], then_branch=body, else_branch=body)
        )
        constant = model()
        constant.graph.node.append(helper.make_node("Constant", [], ["const"], value=tensor))
        found = []
        for broken in (proto, inside, constant):
            try:
                read_model(broken)
                found.append(False)
            except ModelError as error:
                found.append(tensor.name in str(error) or "'t'" in str(error))
        assert len(set(found)) == 1, found
        return found[0]

    def raw(kind: int, dims: list[int], size: int) -> onnx.TensorProto:
        return TensorProto(name="t", data_type=kind, dims=dims, raw_data=bytes(size))

    assert not refused(raw(TensorProto.FLOAT, [], 4))
    assert refused(raw(TensorProto.FLOAT, [], 3))
    assert refused(raw(TensorProto.FLOAT, [], 8))
    assert not refused(raw(TensorProto.FLOAT, [1, 1], 4))
    assert refused(raw(TensorProto.FLOAT, [3], 4))
    assert refused(raw(TensorProto.FLOAT, [0], 4))
    assert not refused(raw(TensorProto.INT4, [3], 2))
    assert refused(raw(TensorProto.INT4, [3], 3))
    assert not refused(raw(TensorProto.FLOAT, [0, 5], 0))
    assert refused(raw(TensorProto.FLOAT, [2], 0))
    assert refused(raw(TensorProto.UNDEFINED, [], 0))
    assert not refused(TensorProto(name="t", data_type=1, dims=[2], float_data=[1, 2]))
    assert refused(TensorProto(name="t", data_type=1, dims=[2], float_data=[1, 2, 3]))
    assert not refused(
        TensorProto(name="t", data_type=TensorProto.UINT8, dims=[2], int32_data=[1, 2])
    )
    assert not refused(
        TensorProto(name="t", data_type=TensorProto.UINT4, dims=[3], int32_data=[1, 2])
    )
    assert not refused(helper.make_tensor("t", TensorProto.STRING, [1], [b"s"]))


# ---- external data ----------------------------------------------------------------------------


def test_external_data_is_found_but_not_read(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHT.tobytes())
    view = read_model(save(model("w.bin"), tmp_path / "m.onnx"))
    weight = view.graph.values["W"]
    assert not view.proto.graph.initializer[0].raw_data
    assert np.array_equal(weight.array(), WEIGHT)
    assert not view.proto.graph.initializer[0].raw_data, "reading an array loads nothing into it"


@pytest.mark.parametrize(
    ("location", "offset", "length", "words"),
    [
        ("none.bin", 0, 48, "external data file 'none.bin' of tensor 'W' is not found"),
        ("w.bin", 4, 48, "ends at byte 48.*'W' needs its bytes 4 to 52"),
        ("w.bin", 0, 40, "40 bytes.* 48 bytes"),
        ("w.bin", 100, None, "ends at byte 48"),
        ("w.bin", -4, 48, "offset '-4'"),
        ("w.bin", "x", 48, "offset 'x'"),
        ("../w.bin", 0, 48, "outside the model's folder"),
        ("sub/../../w.bin", 0, 48, "outside the model's folder"),
        ("/etc/passwd", 0, 48, "outside the model's folder"),
        ("sub", 0, 48, "not a file"),
        ("", 0, 48, "names no file"),
        ("link.bin", 0, 48, "outside the model's folder"),
        ("nul\0byte", 0, 48, "not found"),
    ],
)
def test_external_data_that_is_not_there(
    tmp_path: Path, location: str, offset: object, length: object, words: str
) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    for path in (tmp_path / "w.bin", folder / "w.bin"):
        path.write_bytes(WEIGHT.tobytes())
    (folder / "link.bin").symlink_to("../w.bin")
    proto = model("w.bin")
    point(proto.graph.initializer[0], location, offset, length)
    with pytest.raises(ModelError, match=words) as caught:
        read_model(save(proto, folder / "m.onnx"))
    sentence(caught.value)


def test_links_as_download_caches_make_them_are_followed(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    save(model("w.bin"), blobs / "1")
    (blobs / "2").write_bytes(WEIGHT.tobytes())
    (snapshot / "m.onnx").symlink_to("../blobs/1")
    (snapshot / "w.bin").symlink_to("../blobs/2")
    view = read_model(snapshot / "m.onnx")
    assert np.array_equal(view.graph.values["W"].array(), WEIGHT)


def test_a_given_proto_is_not_touched() -> None:
    proto = model()
    before = proto.SerializeToString()
    view = read_model(proto)
    view.proto.graph.node[0].name = "changed"
    assert proto.SerializeToString() == before
