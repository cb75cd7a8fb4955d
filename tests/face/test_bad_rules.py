"""A rule file with each kind of error: `apply` exits with 2, `check` with 1, with the place."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest

from .command import add_model, qrewrite

ADD = "y = Q(Add(DQ(a), DQ(b)))"
MADE = (
    "y = com.microsoft::QLinearAdd(a, a.scale, a.zero_point, b, b.scale, b.zero_point,"
    " y.scale, y.zero_point)"
)


def rule(
    pattern: str = ADD, where: str = "a.type == u8", made: str = MADE, end: str = "exact"
) -> str:
    return f"rule bad {{\n    {pattern}\n    where {where}\n => {made}\n    {end}\n}}\n"


KINDS = {
    "syntax": (rule(where="a.type =="), ""),
    "unclosed": ("rule bad { y = Relu(x) => y = x exact", ""),
    "unbound name": (rule(where="c.type == u8"), "c"),
    "unbound in template": (rule(made=MADE.replace("b.scale", "c.scale")), "c"),
    "unknown op": (rule(ADD.replace("Add", "Adddd")), "Add"),
    "unknown op in template": (rule(made=MADE.replace("QLinearAdd", "QLinearAd")), "QLinearAdd"),
    "unknown attribute": (rule("y = Q(Softmax<axes = 1>(DQ(a)))", made="y = a"), "axis"),
    "dropped attribute": (
        rule("y = Q(Concat(DQ(a), DQ(b)))", made="y = Concat<axis = 0>(a, b)"),
        "axis",
    ),
    "too many inputs": (rule("y = Q(Relu(DQ(a), DQ(b)))"), "Relu"),
    "unknown function": (rule(where="per_tenso(a)"), "per_tensor"),
    "unknown part": (rule(where="a.scal == 1.0"), "scale"),
    "unknown option": (rule(where='options.targt == "arm"'), "target"),
    "unknown type": (rule(where="a.type == u9"), "u9"),
    "undefined output": (rule(made=MADE.replace("y =", "v =", 1)), "v"),
    "unknown phase": (rule().replace("bad {", "bad in fuze {"), "fuse"),
    "missing include": ('include "none.rules"\n' + rule(), "none.rules"),
    "python": ('python "os" import getcwd\n' + rule(), "Python"),
    "unknown then": (rule(end="exact\n    then nothing"), "nothing"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(kind: str, tmp_path: Path) -> None:
    text, part = KINDS[kind]
    (tmp_path / "bad.rules").write_text(text)
    onnx.save(add_model(), tmp_path / "model.onnx")
    words = ("apply", "model.onnx", "-o", "out.onnx", "--pack", "ort-cpu", "--rules", "bad.rules")
    outcome = qrewrite(*words, folder=tmp_path)
    assert outcome.status == 2
    assert "Traceback" not in outcome.stderr
    assert re.search(r"bad\.rules:\d+:\d+: error: ", outcome.stderr), outcome.stderr
    assert "^" in outcome.stderr and part in outcome.stderr
    assert not (tmp_path / "out.onnx").exists()


def test_check_reports_every_error(tmp_path: Path) -> None:
    both = KINDS["unbound name"][0] + KINDS["unknown function"][0].replace("bad", "worse")
    (tmp_path / "bad.rules").write_text(both)
    outcome = qrewrite("check", "bad.rules", folder=tmp_path)
    assert outcome.status == 1
    assert len(re.findall(r"bad\.rules:\d+:\d+: error: ", outcome.stdout)) == 2
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("content", [b"rule \xff\xfe", b"rule\0"], ids=["not UTF-8", "NUL"])
def test_no_text(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.rules").write_bytes(content)
    onnx.save(add_model(), tmp_path / "model.onnx")
    words = ("apply", "model.onnx", "-o", "out.onnx", "--rules", "bad.rules")
    outcome = qrewrite(*words, folder=tmp_path)
    assert outcome.status == 2
    assert "bad.rules" in outcome.stderr and "Traceback" not in outcome.stderr


def test_missing_rule_file(tmp_path: Path) -> None:
    onnx.save(add_model(), tmp_path / "model.onnx")
    words = ("apply", "model.onnx", "-o", "out.onnx", "--rules", "none.rules")
    outcome = qrewrite(*words, folder=tmp_path)
    assert outcome.status == 2
    assert "none.rules" in outcome.stderr and "Traceback" not in outcome.stderr
