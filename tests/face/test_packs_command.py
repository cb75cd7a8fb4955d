"""`qrewrite packs`, `check` and `fmt`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import qrewrite

GOOD = """\
rule neutral "Relu of codes" {
    y = Q(Relu(DQ(x)))
    where x.type == u8, per_tensor(x), same_grid(x, y), opset >= 12
 => y = Max(x, x.zero_point)
    exact
}
"""


def test_list(tmp_path: Path) -> None:
    outcome = qrewrite("packs", folder=tmp_path)
    assert outcome.status == 0
    names = [line.split()[0] for line in outcome.stdout.splitlines()[1:]]
    assert names == sorted(names) and {"onnx", "ort-cpu"} <= set(names)
    listed = json.loads(qrewrite("packs", "--json", folder=tmp_path).stdout)
    assert [pack["name"] for pack in listed] == names
    assert all(pack["rules"] > 0 for pack in listed)


def test_one_pack(tmp_path: Path) -> None:
    outcome = qrewrite("packs", "ort-cpu", folder=tmp_path)
    assert outcome.status == 0
    assert "onnx/conv" in outcome.stdout and "target" in outcome.stdout
    pack = json.loads(qrewrite("packs", "ort-cpu", "--json", folder=tmp_path).stdout)
    assert pack["parents"] == ["onnx"]
    assert pack["options"]["target"]["default"] == "x86"
    assert all(rule["title"] and rule["claim"] for rule in pack["rules"])


def test_page(tmp_path: Path) -> None:
    page = qrewrite("packs", "ort-cpu", "--markdown", folder=tmp_path).stdout
    pack = json.loads(qrewrite("packs", "ort-cpu", "--json", folder=tmp_path).stdout)
    assert page.startswith("# Pack `ort-cpu`\n")
    for rule in pack["rules"]:
        assert f"### `{rule['name']}`" in page and f"*{rule['claim']}*" in page


def test_folder_of_a_pack(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    header = 'pack mine "Mine" { extends onnx option fast = true "speed" }\nphase fuse\n'
    (tmp_path / "mine" / "pack.rules").write_text(header + GOOD)
    outcome = qrewrite("packs", "mine", folder=tmp_path)
    assert outcome.status == 0, outcome.stderr
    assert "mine/neutral" in outcome.stdout and "onnx/conv" in outcome.stdout


def test_unknown_pack(tmp_path: Path) -> None:
    outcome = qrewrite("packs", "ort_cpu", folder=tmp_path)
    assert outcome.status == 2
    assert '"ort-cpu"' in outcome.stderr and "Traceback" not in outcome.stderr


def test_check(tmp_path: Path) -> None:
    (tmp_path / "good.rules").write_text(GOOD)
    (tmp_path / "bad.rules").write_text(GOOD.replace("x.zero_point)", "z)"))
    outcome = qrewrite("check", "good.rules", folder=tmp_path)
    assert outcome.status == 0, outcome.stdout
    assert "0 errors" in outcome.stdout
    outcome = qrewrite("check", "good.rules", "bad.rules", folder=tmp_path)
    assert outcome.status == 1
    assert "bad.rules:4:16: error: " in outcome.stdout and "^" in outcome.stdout
    found = json.loads(qrewrite("check", "bad.rules", "--json", folder=tmp_path).stdout)
    assert [(entry["severity"], entry["line"], entry["column"]) for entry in found] == [
        ("error", 4, 16)
    ]
    outcome = qrewrite("check", "good.rules", "none.rules", folder=tmp_path)
    assert outcome.status == 2 and "none.rules" in outcome.stderr


def test_shipped_packs_have_no_errors(tmp_path: Path) -> None:
    rules = Path(__file__).parents[2] / "rules"
    outcome = qrewrite("check", rules / "onnx", rules / "ort-cpu", folder=tmp_path)
    assert outcome.status == 0, outcome.stdout


def test_fmt(tmp_path: Path) -> None:
    ugly = GOOD.replace("    ", " ").replace(" => ", "=>")
    (tmp_path / "ugly.rules").write_text(ugly)
    assert qrewrite("fmt", "--check", "ugly.rules", folder=tmp_path).status == 1
    assert (tmp_path / "ugly.rules").read_text() == ugly
    assert qrewrite("fmt", "ugly.rules", folder=tmp_path).status == 0
    formatted = (tmp_path / "ugly.rules").read_text()
    assert formatted != ugly
    assert qrewrite("fmt", "--check", "ugly.rules", folder=tmp_path).status == 0
    assert qrewrite("fmt", "-", folder=tmp_path, stdin=ugly).stdout == formatted


@pytest.mark.parametrize("words", [["--check"], []])
def test_fmt_of_a_file_with_a_syntax_error(tmp_path: Path, words: list[str]) -> None:
    broken = GOOD.replace("}", "")
    (tmp_path / "broken.rules").write_text(broken)
    outcome = qrewrite("fmt", *words, "broken.rules", folder=tmp_path)
    assert outcome.status == 2
    assert "broken.rules:" in outcome.stderr and "Traceback" not in outcome.stderr
    assert (tmp_path / "broken.rules").read_text() == broken
