"""Saving: whole or not at all, bytes kept where nothing fired, external data left on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from single_node import session

from qrewrite.engine.edits.replace import commit
from qrewrite.engine.errors import FileError
from qrewrite.engine.graph import Model
from qrewrite.engine.io.models import read_model, write_model
from qrewrite.engine.protocols import Replacement

BIG = np.arange(3000, dtype=np.float32)
SMALL = np.arange(3000, 0, -1).astype(np.float32)


def model(ir_version: int = 9) -> onnx.ModelProto:
    """y = x + big * small, Neg(Neg()) of which a rewrite takes away."""
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["big", "small"], ["product"], "mul"),
            helper.make_node("Add", ["x", "product"], ["sum"], "add"),
            helper.make_node("Neg", ["sum"], ["negative"], "neg"),
            helper.make_node("Neg", ["negative"], ["y"], "neg2"),
            helper.make_node("Abs", ["spare"], ["unread"], "dead"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3000])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3000])],
        [
            numpy_helper.from_array(array, name)
            for array, name in ((BIG, "big"), (SMALL, "small"), (BIG, "spare"))
        ],
    )
    imports = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)


def saved(folder: Path, *, external: str = "", name: str = "in.onnx") -> Path:
    """The model in `folder`, with its weights, each on a page of its own, in a file `external`."""
    folder.mkdir(exist_ok=True)
    proto = model()
    if external:
        data = bytearray()
        for tensor in proto.graph.initializer:
            data += bytes(-len(data) % 4096)
            content = tensor.raw_data
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            values = (("location", external), ("offset", len(data)), ("length", len(content)))
            for key, value in values:
                tensor.external_data.add(key=key, value=str(value))
            data += content
        (folder / external).parent.mkdir(exist_ok=True)
        (folder / external).write_bytes(data)
    path = folder / name
    path.write_bytes(proto.SerializeToString())
    return path


def rewrite(view: Model) -> None:
    """Neg(Neg(s)) to Identity(s)."""
    first, second = (node for node in view.graph.nodes if node.op == "Neg")
    same = view.graph.new_node("Identity", list(first.inputs), list(second.outputs))
    commit(Replacement(second, [first, second], [same]))


def check(path: Path) -> None:
    onnx.checker.check_model(str(path), full_check=True)
    x = np.ones(3000, np.float32)
    (y,) = session(str(path)).run(None, {"x": x})
    assert np.array_equal(y, x + BIG * SMALL)


def files(folder: Path) -> list[str]:
    """Every file of a folder; a temporary file left behind would be among them."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# ---- one file ---------------------------------------------------------------------------------


def test_a_rewritten_model(tmp_path: Path) -> None:
    view = read_model(saved(tmp_path))
    rewrite(view)
    write_model(view, tmp_path / "out.onnx")
    check(tmp_path / "out.onnx")
    assert files(tmp_path) == ["in.onnx", "out.onnx"]
    assert (tmp_path / "out.onnx").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_nothing_fired_byte_for_byte(tmp_path: Path) -> None:
    path = saved(tmp_path)
    unusual = path.read_bytes() + b"\xf2\x7f\x03abc"  # a field that this onnx does not know
    path.write_bytes(unusual)
    write_model(read_model(path), tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == unusual


def test_onto_itself(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.chmod(0o640)
    before = path.read_bytes()
    write_model(read_model(path), path)
    assert path.read_bytes() == before
    view = read_model(path)
    rewrite(view)
    write_model(view, path)
    check(path)
    assert path.stat().st_mode & 0o777 == 0o640 and files(tmp_path) == ["in.onnx"]


def test_through_a_link_that_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "real.onnx"
    real.write_bytes(b"old")
    (tmp_path / "link.onnx").symlink_to("real.onnx")
    view = read_model(model())
    rewrite(view)
    write_model(view, tmp_path / "link.onnx")
    assert (tmp_path / "link.onnx").is_symlink()
    check(real)


# ---- what stands in the way -------------------------------------------------------------------


def refused(target: Path, words: str) -> None:
    view = read_model(model())
    rewrite(view)
    with pytest.raises(FileError, match=words) as caught:
        write_model(view, target)
    assert "\n" not in str(caught.value)


def test_the_folder_does_not_exist(tmp_path: Path) -> None:
    refused(tmp_path / "none" / "out.onnx", "folder .*none' does not exist")
    assert not (tmp_path / "none").exists()


def test_the_target_is_a_folder_or_a_device(tmp_path: Path) -> None:
    refused(tmp_path, "it is a folder")
    refused(Path("/dev/null"), "not a regular file")


def test_the_target_is_read_only(tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    target.write_bytes(b"precious")
    target.chmod(0o444)
    refused(target, "the file is read-only")
    assert target.read_bytes() == b"precious" and files(tmp_path) == ["out.onnx"]


def test_the_folder_is_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir(mode=0o555)
    refused(folder / "out.onnx", "folder .*fixed' is read-only")


@pytest.mark.parametrize("external", ["", "w.bin"])
def test_no_space_leaves_no_partial_file(tmp_path: Path, external: str) -> None:
    """A limit on the size of files stands for a full disk."""
    source = saved(tmp_path / "a", external=external)
    target = tmp_path / "b" / "out.onnx"
    target.parent.mkdir()
    target.write_bytes(b"old")
    code = (
        "import sys; sys.path[:0] = sys.argv[3:]; import test_write as t; "
        "from qrewrite.engine.io.models import read_model, write_model; "
        "from qrewrite.engine.errors import FileError; import resource, signal; "
        "view = read_model(sys.argv[1]); t.rewrite(view); "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "try: write_model(view, sys.argv[2])\n"
        "except FileError as error: sys.exit(str(error))"
    )
    here = Path(__file__).parent
    arguments = [str(source), str(target), str(here), str(here.parent)]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot write" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "too large" in done.stderr
    assert target.read_bytes() == b"old" and files(target.parent) == ["out.onnx"]


# ---- external data ----------------------------------------------------------------------------


@pytest.mark.parametrize("fires", [True, False])
def test_in_the_same_folder_the_data_file_is_shared(tmp_path: Path, fires: bool) -> None:
    source = saved(tmp_path, external="w.bin")
    data = (tmp_path / "w.bin").read_bytes()
    view = read_model(source)
    if fires:
        rewrite(view)
    write_model(view, tmp_path / "out.onnx")
    check(tmp_path / "out.onnx")
    assert files(tmp_path) == ["in.onnx", "out.onnx", "w.bin"]
    assert (tmp_path / "w.bin").read_bytes() == data
    assert (source.read_bytes() == (tmp_path / "out.onnx").read_bytes()) is not fires


def test_to_another_folder_what_is_used_is_copied(tmp_path: Path) -> None:
    view = read_model(saved(tmp_path / "a", external="w.bin"))
    rewrite(view)
    (tmp_path / "b").mkdir()
    write_model(view, tmp_path / "b" / "out.onnx")
    check(tmp_path / "b" / "out.onnx")
    assert files(tmp_path / "b") == ["out.onnx", "out.onnx.data"]
    size = (tmp_path / "b" / "out.onnx.data").stat().st_size
    assert size == 12288 + BIG.nbytes, "two tensors, each on a page; the unused one is not copied"
    locations = {e.value for t in view.proto.graph.initializer for e in t.external_data[:1]}
    assert locations == {"w.bin"}, "the message in memory still refers to the source"


@pytest.mark.parametrize("location", ["w.bin", "deep/w.bin"])
def test_nothing_fired_to_another_folder(tmp_path: Path, location: str) -> None:
    source = saved(tmp_path / "a", external=location)
    (tmp_path / "b").mkdir()
    write_model(read_model(source), tmp_path / "b" / "in.onnx")
    check(tmp_path / "b" / "in.onnx")
    assert files(tmp_path / "b") == sorted(["in.onnx", location])
    for name in ("in.onnx", location):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_no_foreign_data_file_is_overwritten(tmp_path: Path) -> None:
    source = saved(tmp_path / "a", external="w.bin")
    folder = tmp_path / "b"
    folder.mkdir()
    for name in ("w.bin", "one.onnx.data", "two.onnx.data"):
        (folder / name).write_bytes(b"foreign")
    write_model(read_model(source), folder / "one.onnx")
    view = read_model(source)
    rewrite(view)
    write_model(view, folder / "two.onnx")
    check(folder / "one.onnx")
    check(folder / "two.onnx")
    for name in ("w.bin", "one.onnx.data", "two.onnx.data"):
        assert (folder / name).read_bytes() == b"foreign"
    made = ["one.onnx", "one.onnx_1.data", "two.onnx", "two.onnx_1.data"]
    assert set(made) < set(files(folder)) and len(files(folder)) == 7


def test_a_second_run_uses_its_data_file_again(tmp_path: Path) -> None:
    source = saved(tmp_path / "a", external="w.bin")
    (tmp_path / "b").mkdir()
    for _ in range(2):
        view = read_model(source)
        rewrite(view)
        write_model(view, tmp_path / "b" / "out.onnx")
    assert files(tmp_path / "b") == ["out.onnx", "out.onnx.data"]
    check(tmp_path / "b" / "out.onnx")


def test_a_new_constant_beside_external_data_stays_in_the_message(tmp_path: Path) -> None:
    view = read_model(saved(tmp_path, external="w.bin"))
    mul = next(node for node in view.graph.nodes if node.op == "Mul")
    folded = view.graph.new_constant(BIG * SMALL, "folded")
    commit(Replacement(mul, [mul], [], [(mul.outputs[0], folded)]))  # type: ignore[list-item]
    write_model(view, tmp_path / "out.onnx")
    check(tmp_path / "out.onnx")
    (tensor,) = onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer
    assert len(tensor.raw_data) == BIG.nbytes and files(tmp_path) == [
        "in.onnx",
        "out.onnx",
        "w.bin",
    ]


def test_attribute_tensors_with_external_data_move_too(tmp_path: Path) -> None:
    source = saved(tmp_path / "a", external="w.bin")
    proto = onnx.load(source, load_external_data=False)
    tensor = proto.graph.initializer[1]
    proto.graph.node.insert(0, helper.make_node("Constant", [], ["small"], "c", value=tensor))
    del proto.graph.initializer[1]
    source.write_bytes(proto.SerializeToString())
    view = read_model(source)
    rewrite(view)
    (tmp_path / "b").mkdir()
    write_model(view, tmp_path / "b" / "out.onnx")
    (tmp_path / "a" / "w.bin").unlink()
    loaded = onnx.load(tmp_path / "b" / "out.onnx")
    constant = next(node for node in loaded.graph.node if node.op_type == "Constant")
    assert np.array_equal(numpy_helper.to_array(constant.attribute[0].t), SMALL)


def test_a_message_that_would_be_too_large_gets_a_data_file(tmp_path: Path) -> None:
    view = read_model(model())
    rewrite(view)
    write_model(view, tmp_path / "out.onnx", limit=15_000)
    assert files(tmp_path) == ["out.onnx", "out.onnx.data"]
    assert (tmp_path / "out.onnx").stat().st_size < 15_000
    check(tmp_path / "out.onnx")
    held = [len(tensor.raw_data) for tensor in view.proto.graph.initializer]
    assert held == [BIG.nbytes, SMALL.nbytes], "the message in memory is as it was"
    write_model(view, tmp_path / "whole.onnx")
    check(tmp_path / "whole.onnx")


@pytest.mark.slow
def test_memory_does_not_grow_with_untouched_weights(tmp_path: Path) -> None:
    """4 GiB of weights in a sparse file: loaded, rewritten, saved elsewhere below 600 MiB."""
    folder = tmp_path / "a"
    folder.mkdir()
    proto = model()
    size = 1 << 28
    for index in range(16):
        tensor = proto.graph.initializer.add(name=f"w{index}", data_type=TensorProto.FLOAT)
        tensor.dims.append(size // 4)
        tensor.data_location = TensorProto.EXTERNAL
        values = (("location", "w.bin"), ("offset", index * size), ("length", size))
        for key, value in values:
            tensor.external_data.add(key=key, value=str(value))
        proto.graph.node.append(
            helper.make_node("ReduceMax", [f"w{index}"], [f"m{index}"], f"r{index}", keepdims=0)
        )
        proto.graph.output.append(helper.make_tensor_value_info(f"m{index}", TensorProto.FLOAT, []))
    with (folder / "w.bin").open("wb") as file:
        for index in range(16):
            file.seek(index * size)
            file.write(np.float32(index).tobytes())
        file.truncate(16 * size)
    (folder / "in.onnx").write_bytes(proto.SerializeToString())
    (tmp_path / "b").mkdir()
    code = (
        "import sys, resource; sys.path[:0] = sys.argv[3:]; import test_write as t; "
        "from qrewrite.engine.io.models import read_model, write_model; "
        "view = read_model(sys.argv[1]); t.rewrite(view); write_model(view, sys.argv[2]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    here = Path(__file__).parent
    target = tmp_path / "b" / "out.onnx"
    arguments = [str(folder / "in.onnx"), str(target), str(here), str(here.parent)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 600 << 10
    view = read_model(target)
    assert view.graph.values["w7"].array()[0] == 7
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.unlink()
