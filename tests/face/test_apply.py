"""`qrewrite apply`: what it writes, prints and reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from .command import MODELS, add_model, assert_refused, ops, qrewrite

FUSED = ["QLinearAdd"]
PLAIN = ["Add", "DequantizeLinear", "DequantizeLinear", "QuantizeLinear"]
PACK = ("--pack", "ort-cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(add_model(), tmp_path / "model.onnx")
    return tmp_path


def test_fuses_and_says_so(folder: Path) -> None:
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", *PACK, folder=folder)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stderr == ""
    onnx.checker.check_model(folder / "out.onnx", full_check=True)
    assert ops(folder / "out.onnx") == FUSED
    lines = [line.split() for line in outcome.stdout.splitlines()]
    assert ["ort-cpu/add", "1"] in [line[:2] for line in lines]
    assert ["Add", "1", "0"] in lines
    assert ["com.microsoft::QLinearAdd", "0", "1"] in lines
    assert "0 QuantizeLinear (of 1), 0 DequantizeLinear (of 2)" in outcome.stdout
    assert "\x1b" not in outcome.stdout


def test_says_what_was_recoded_and_why(folder: Path) -> None:
    words = ("apply", MODELS / "ppocr_cls.u8s8pc.op13.pre.onnx", "--dry-run", *PACK)
    outcome = qrewrite(*words, folder=folder)
    assert outcome.status == 0, outcome.stderr
    recoded = [line for line in outcome.stdout.splitlines() if line.startswith("re-coded: ")]
    assert any("become uint8" in line and "53 times" in line for line in recoded), outcome.stdout


def test_model_that_no_rule_fits_goes_out_as_it_came_in(folder: Path) -> None:
    qrewrite("apply", "model.onnx", "-o", "out.onnx", *PACK, folder=folder)
    outcome = qrewrite("apply", "out.onnx", "-o", "again.onnx", *PACK, folder=folder)
    assert outcome.status == 0
    assert "no rule fired" in outcome.stdout
    assert (folder / "again.onnx").read_bytes() == (folder / "out.onnx").read_bytes()


def test_output_may_be_a_folder_or_the_model_itself(folder: Path) -> None:
    (folder / "out").mkdir()
    assert qrewrite("apply", "model.onnx", "-o", "out", *PACK, folder=folder).status == 0
    assert ops(folder / "out" / "model.onnx") == FUSED
    assert qrewrite("apply", "model.onnx", "-o", "model.onnx", *PACK, folder=folder).status == 0
    assert ops(folder / "model.onnx") == FUSED


def test_dry_run_writes_nothing(folder: Path) -> None:
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", "--dry-run", *PACK, folder=folder)
    assert outcome.status == 0
    assert "ort-cpu/add" in outcome.stdout and "dry run" in outcome.stdout
    assert [path.name for path in folder.iterdir()] == ["model.onnx"]


def test_json(folder: Path) -> None:
    words = ("apply", "model.onnx", "-o", "out.onnx", "--json", "--set", "target=arm", *PACK)
    outcome = qrewrite(*words, folder=folder)
    (report,) = json.loads(outcome.stdout)
    assert (report["model"], report["output"], report["pack"]) == (
        "model.onnx",
        "out.onnx",
        "ort-cpu",
    )
    assert report["options"]["target"] == "arm"
    fired = {rule["rule"]: rule["times"] for rule in report["fired"]}
    assert fired["ort-cpu/add"] == 1
    assert report["ops"] == {
        "before": {"Add": 1, "DequantizeLinear": 2, "QuantizeLinear": 1},
        "after": {"com.microsoft::QLinearAdd": 1},
    }
    (made,) = report["made"]
    assert made["op"] == "com.microsoft::QLinearAdd" and "ort-cpu/add" in made["rule"].split()
    assert made["node"] == onnx.load(folder / "out.onnx").graph.node[0].name


def test_reports(folder: Path) -> None:
    words = ("apply", "model.onnx", "-o", "out.onnx", *PACK)
    assert qrewrite(*words, "--report", "report.json", folder=folder).status == 0
    (report,) = json.loads((folder / "report.json").read_text())
    assert report["ops"]["after"] == {"com.microsoft::QLinearAdd": 1}
    onnx.save(add_model("<b>&"), folder / "model.onnx")
    assert qrewrite(*words, "--report", "report.html", folder=folder).status == 0
    page = (folder / "report.html").read_text()
    assert "ort-cpu/add" in page and "&lt;b&gt;&amp;" in page and "<b>&" not in page


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--only", "rule:add"], FUSED),
        (["--only", "rule:ort-cpu/a*"], FUSED),
        (["--only", "rule:conv"], PLAIN),
        (["--skip", "rule:*"], PLAIN),
        (["--skip", "rule:ort-cpu/add"], PLAIN),
        (["--skip", "rule:conv"], FUSED),
        (["--only", "node:su?"], FUSED),
        (["--only", "node:other"], PLAIN),
        (["--skip", "node:sum"], PLAIN),
        (["--skip", "node:other"], FUSED),
        (["--only", "rule:add", "--skip", "node:sum"], PLAIN),
        (["--only", "rule:conv", "--only", "rule:add"], FUSED),
    ],
)
def test_only_and_skip(folder: Path, words: list[str], expected: list[str]) -> None:
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", *words, *PACK, folder=folder)
    assert outcome.status == 0, outcome.stderr
    assert ops(folder / "out.onnx") == expected


def test_rule_file_alone_and_on_top(folder: Path) -> None:
    (folder / "mine.rules").write_text(
        "rule mine { y = Q(Add(DQ(a), DQ(b))) where a.type == u8, per_tensor(a, b, y)\n"
        " => y = com.acme::Sum(a, b) exact }\n"
        "op com.acme::Sum(a: u8, b: u8) -> y: u8\n"
    )
    words = ("apply", "model.onnx", "-o", "out.onnx", "--rules", "mine.rules")
    outcome = qrewrite(*words, folder=folder)
    assert outcome.status == 0, outcome.stderr
    model = onnx.load(folder / "out.onnx")
    assert [(node.domain, node.op_type) for node in model.graph.node] == [("com.acme", "Sum")]
    assert "com.acme" in [entry.domain for entry in model.opset_import]


def test_folder_of_models_in_parallel(folder: Path) -> None:
    deep = folder / "models" / "deep"
    deep.mkdir(parents=True)
    (folder / "out").mkdir()
    for path in (folder / "models" / "a.onnx", folder / "models" / "b.onnx", deep / "a.onnx"):
        onnx.save(add_model(), path)
    words = ("apply", "models", "-o", "out", "--jobs", "2", "--json", *PACK)
    outcome = qrewrite(*words, folder=folder)
    assert outcome.status == 0, outcome.stderr
    reports = json.loads(outcome.stdout)
    assert [report["model"] for report in reports] == [
        "models/a.onnx",
        "models/b.onnx",
        "models/deep/a.onnx",
    ]
    for report in reports:
        assert ops(folder / report["output"]) == FUSED
    assert (folder / "out" / "deep" / "a.onnx").exists()


def test_models_that_would_share_an_output(folder: Path) -> None:
    for name in ("x", "y", "out"):
        (folder / name).mkdir()
    onnx.save(add_model(), folder / "x" / "m.onnx")
    onnx.save(add_model(), folder / "y" / "m.onnx")
    outcome = qrewrite("apply", "x/m.onnx", "y/m.onnx", "-o", "out", *PACK, folder=folder)
    assert outcome.status == 2
    assert "x/m.onnx" in outcome.stderr and "y/m.onnx" in outcome.stderr
    assert list((folder / "out").iterdir()) == []


def test_reader_that_goes_away(folder: Path) -> None:
    """`qrewrite packs | head -c 1`: no traceback, no message."""
    process = subprocess.Popen(
        [sys.executable, "-m", "qrewrite.cli", "packs", "ort-cpu"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert error == ""


def test_verify_needs_the_model_to_stay(folder: Path) -> None:
    before = (folder / "model.onnx").read_bytes()
    words = ("apply", "model.onnx", "-o", "model.onnx", "--verify", *PACK)
    assert_refused(qrewrite(*words, folder=folder), "model.onnx", "another file")
    assert (folder / "model.onnx").read_bytes() == before


def test_verify_compares_the_result_with_the_model(folder: Path) -> None:
    words = ("apply", "model.onnx", "-o", "out.onnx", "--verify", *PACK)
    outcome = qrewrite(*words, folder=folder)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert "cosine" in outcome.stdout


WRONG = (
    "rule add_on_grid_of_operand priority 9 { y = Q(Add(DQ(a), DQ(b)))\n"
    " where a.type == u8, b.type == u8, y.type == u8, per_tensor(a, b, y)\n"
    " => y = com.microsoft::QLinearAdd(a, a.scale, y.zero_point, b, b.scale, b.zero_point,\n"
    "                                  y.scale, b.zero_point)\n"
    " within 1 quantum of y }\n"
)


def chain() -> onnx.ModelProto:
    """`add_model`, and the sum added to itself on another grid, which `WRONG` gets wrong."""
    nodes = [
        onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["fq"], name="dq_q"),
        onnx.helper.make_node("Add", ["fq", "fq"], ["twice"], name="double"),
        onnx.helper.make_node("QuantizeLinear", ["twice", "s", "zero"], ["y"], name="q_y"),
    ]
    model = add_model(extra=nodes)
    zero = onnx.helper.make_tensor("zero", onnx.TensorProto.UINT8, [], [7])
    model.graph.initializer.append(zero)
    model.graph.output.append(
        onnx.helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, [2, 3])
    )
    return model


def test_blame_names_rule_and_node_and_saves_the_fault(folder: Path) -> None:
    onnx.save(chain(), folder / "model.onnx")
    (folder / "wrong.rules").write_text(WRONG)
    words = ("apply", "model.onnx", "-o", "out.onnx", "--rules", "wrong.rules", *PACK)
    outcome = qrewrite(*words, "--verify", "--blame", folder=folder)
    assert outcome.status == 1, outcome.stderr
    assert "rule    wrong/add_on_grid_of_operand" in outcome.stdout
    assert "at      wrong.rules:1:1" in outcome.stdout
    assert "node    double (Add)" in outcome.stdout
    assert "without this rule no node is beyond the claims" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 120
    assert ops(folder / "out.blame.onnx") == ["Add", *PLAIN[1:2], "QuantizeLinear"]
    assert ops(folder / "out.blame.after.onnx") == FUSED
    command = outcome.stdout.splitlines()[-2].split()
    assert command[:2] == ["qrewrite", "diff"]
    shown = qrewrite(*command[1:], folder=folder)
    assert shown.status == 1 and " y " in f" {shown.stdout.splitlines()[-1]} "
    saved = {path.name: path.read_bytes() for path in folder.glob("out.blame.*")}
    assert len(saved) == 3
    qrewrite(*words, "--verify", "--blame", "--blame-dir", "found", folder=folder)
    assert {p.name: p.read_bytes() for p in (folder / "found").iterdir()} == saved


def test_blame_as_json_and_with_nothing_wrong(folder: Path) -> None:
    onnx.save(chain(), folder / "model.onnx")
    (folder / "wrong.rules").write_text(WRONG)
    words = ("apply", "model.onnx", "-o", "out.onnx", *PACK, "--verify", "--blame", "--json")
    fine = qrewrite(*words, folder=folder)
    assert fine.status == 0
    assert "blame" not in json.loads(fine.stdout)[0]["verify"]
    assert not list(folder.glob("*.blame.*"))
    outcome = qrewrite(*words, "--rules", "wrong.rules", folder=folder)
    assert outcome.status == 1
    found = json.loads(outcome.stdout)[0]["verify"]["blame"]
    assert (found["rule"], found["node"]) == ("wrong/add_on_grid_of_operand", "double")
    assert (found["rewrite"], found["rewrites"]) == (2, 2)
    assert found["beyond_without_rule"] == 0 and found["alone"] and found["halved"]
    assert found["before"] == "out.blame.onnx"


@pytest.mark.parametrize("words", [["--blame"], ["--verify", "--blame-dir", "d"]])
def test_blame_belongs_to_verify(folder: Path, words: list[str]) -> None:
    outcome = qrewrite("apply", "model.onnx", "-o", "out.onnx", *PACK, *words, folder=folder)
    assert_refused(outcome, "belongs to")
