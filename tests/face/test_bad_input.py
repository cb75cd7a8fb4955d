"""Bad input: one clear sentence, exit status 2, no traceback, no partial file."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from .command import MODELS, add_model, assert_refused, ops, qrewrite

FQ_CNN = MODELS / "fq_cnn.onnx"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(add_model(), tmp_path / "model.onnx")
    return tmp_path


def assert_nothing_written(folder: Path) -> None:
    assert [path.name for path in folder.iterdir()] == ["model.onnx"]


def test_truncated_model(tmp_path: Path) -> None:
    data = FQ_CNN.read_bytes()
    (tmp_path / "model.onnx").write_bytes(data[: len(data) // 2])
    outcome = qrewrite(
        "apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", folder=tmp_path
    )
    assert_refused(outcome, "model.onnx")
    assert_nothing_written(tmp_path)


@pytest.mark.parametrize(
    "content", ["not a model\n", "", "\x00\x01"], ids=["text", "empty", "bytes"]
)
def test_no_model_at_all(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.onnx").write_text(content)
    outcome = qrewrite(
        "apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", folder=tmp_path
    )
    assert_refused(outcome, "model.onnx")
    assert_nothing_written(tmp_path)


def test_missing_model(folder: Path) -> None:
    outcome = qrewrite("apply", "none.onnx", "-o", "out.onnx", "--pack", "ort-cpu", folder=folder)
    assert_refused(outcome, "none.onnx")
    assert_nothing_written(folder)


def test_folder_without_models(folder: Path) -> None:
    (folder / "empty").mkdir()
    outcome = qrewrite("apply", "empty", "-o", ".", "--pack", "ort-cpu", folder=folder)
    assert_refused(outcome, "empty", ".onnx")


def test_unknown_pack_names_the_nearest(folder: Path) -> None:
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpuu", folder=folder)
    assert outcome.status == 2
    assert "Traceback" not in outcome.stderr
    assert '"ort-cpuu"' in outcome.stderr and '"ort-cpu"' in outcome.stderr
    assert_nothing_written(folder)


def test_unknown_option_names_the_nearest(folder: Path) -> None:
    words = ("apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", "--set", "targt=arm")
    outcome = qrewrite(*words, folder=folder)
    assert outcome.status == 2
    assert "Traceback" not in outcome.stderr
    assert '"targt"' in outcome.stderr and '"target"' in outcome.stderr
    assert_nothing_written(folder)


def test_option_value_that_is_no_choice(folder: Path) -> None:
    words = ("apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", "--set", "target=mips")
    outcome = qrewrite(*words, folder=folder)
    assert outcome.status == 2
    assert "mips" in outcome.stderr and "arm" in outcome.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["-o", "out.onnx"], "--pack"),
        (["--pack", "ort-cpu"], "-o"),
        (["-o", "out.onnx", "--pack", "ort-cpu", "--set", "target"], "OPTION=VALUE"),
        (["-o", "out.onnx", "--pack", "ort-cpu", "--only", "conv"], "rule:GLOB"),
        (["-o", "out.onnx", "--pack", "ort-cpu", "--skip", "op:Conv"], "rule:GLOB"),
        (["-o", "out.onnx", "--pack", "ort-cpu", "--report", "report.txt"], ".html"),
        (["-o", "out.onnx", "--pack", "ort-cpu", "--jobs", "0"], "--jobs"),
        (["-o", "out.onnx", "--pack", "ort-cpu", "--jobs", "x"], "--jobs"),
        (["-o", "out.onnx", "--pack", "ort-cpu", "--no-such-option"], "--no-such-option"),
    ],
)
def test_bad_usage(folder: Path, words: list[str], part: str) -> None:
    assert_refused(qrewrite("apply", "model.onnx", *words, folder=folder), part)
    assert_nothing_written(folder)


def test_output_folder_that_does_not_exist(folder: Path) -> None:
    for output in ("none/out.onnx", "none/"):
        outcome = qrewrite("apply", "model.onnx", "-o", output, "--pack", "ort-cpu", folder=folder)
        assert_refused(outcome, "none", "does not exist")
    assert_nothing_written(folder)


def test_output_folder_of_several_models(folder: Path) -> None:
    words = ("apply", "model.onnx", "model.onnx", "-o", "none", "--pack", "ort-cpu")
    assert_refused(qrewrite(*words, folder=folder), "none", "does not exist")
    words = ("apply", "model.onnx", "model.onnx", "-o", "model.onnx", "--pack", "ort-cpu")
    assert_refused(qrewrite(*words, folder=folder), "not a folder")
    assert_nothing_written(folder)


def test_read_only_output_file(folder: Path) -> None:
    output = folder / "out.onnx"
    output.write_bytes(b"before")
    output.chmod(0o444)
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", folder=folder)
    assert_refused(outcome, "out.onnx", "read-only")
    assert output.read_bytes() == b"before"


def test_read_only_output_folder(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    outcome = qrewrite(
        "apply", "model.onnx", "-o", "closed/o.onnx", "--pack", "ort-cpu", folder=folder
    )
    assert_refused(outcome, "closed", "read-only")
    assert list(closed.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_output_that_is_no_file(folder: Path) -> None:
    outcome = qrewrite("apply", "model.onnx", "-o", "/dev/full", "--pack", "ort-cpu", folder=folder)
    assert_refused(outcome, "/dev/full")


def test_report_that_cannot_be_written(folder: Path) -> None:
    words = (
        "apply",
        "model.onnx",
        "-o",
        "out.onnx",
        "--pack",
        "ort-cpu",
        "--report",
        "none/r.json",
    )
    assert_refused(qrewrite(*words, folder=folder), "none", "does not exist")
    assert_nothing_written(folder)


def test_model_whose_values_make_no_sense(folder: Path) -> None:
    model = add_model()
    model.graph.node[2].input[0] = "nowhere"
    onnx.save(model, folder / "model.onnx")
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", folder=folder)
    assert_refused(outcome, "nowhere")
    assert_nothing_written(folder)


def test_custom_op_of_unknown_domain_is_kept(folder: Path) -> None:
    """No schema is known for it: it stays, and what is around it is rewritten."""
    custom = helper.make_node("Twist", ["q"], ["t"], name="twist", domain="acme.ops", strength=3)
    model = add_model(extra=[custom])
    model.opset_import.append(helper.make_opsetid("acme.ops", 2))
    model.graph.output.append(helper.make_tensor_value_info("t", TensorProto.UINT8, [2, 3]))
    onnx.save(model, folder / "model.onnx")
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", folder=folder)
    assert outcome.status == 0, outcome.stderr
    kept = [node for node in onnx.load(folder / "out.onnx").graph.node if node.domain == "acme.ops"]
    assert kept == [custom]
    assert ops(folder / "out.onnx") == ["QLinearAdd", "Twist"]


def test_errors_name_the_model_among_several(folder: Path) -> None:
    (folder / "bad.onnx").write_text("no model")
    (folder / "out").mkdir()
    words = ("apply", "bad.onnx", "model.onnx", "-o", "out", "--pack", "ort-cpu")
    outcome = qrewrite(*words, folder=folder)
    assert outcome.status == 2
    assert "bad.onnx" in outcome.stderr and "Traceback" not in outcome.stderr
    assert os.listdir(folder / "out") == ["model.onnx"]
    assert ops(folder / "out" / "model.onnx") == ["QLinearAdd"]
