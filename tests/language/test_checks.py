"""Rule files that must be clean, must fail and must warn, with the exact messages beside them.

Beside ``name.rules`` stands ``name.txt`` with a line for every message:
``line:column: message``, and where there is one the note in brackets behind it.  ``{newest}``
stands for the newest opset that the installed onnx knows, ``…`` for this folder.
"""

from __future__ import annotations

from pathlib import Path

import onnx.defs
import pytest

from qrewrite.patterns.check import check_pack, load_errors
from qrewrite.patterns.diagnostics import Diagnostic, RuleFileError, Severity
from qrewrite.patterns.packs.load import load_file, load_pack

HERE = Path(__file__).parent


def files(folder: str) -> list[Path]:
    return sorted((HERE / folder).glob("*.rules"))


def diagnostics(path: Path) -> list[Diagnostic]:
    try:
        return check_pack(load_file(path))
    except RuleFileError as problem:
        return list(problem.diagnostics)


def line(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    place = f"{span.line}:{span.column}" if span else "-"
    note = f" ({diagnostic.note})" if diagnostic.note else ""
    text = f"{place}: {diagnostic.message}{note}".replace(str(HERE), "…")
    return text.replace(f"and {onnx.defs.onnx_opset_version()}", "and {newest}")


@pytest.mark.parametrize("path", files("pass"), ids=lambda path: path.stem)
def test_clean(path: Path) -> None:
    assert [line(each) for each in diagnostics(path)] == []


@pytest.mark.parametrize(
    ("folder", "severity"), [("fail", Severity.ERROR), ("warn", Severity.WARNING)]
)
def test_every_file_has_its_messages_beside_it(folder: str, severity: Severity) -> None:
    lonely = [path.name for path in files(folder) if not path.with_suffix(".txt").exists()]
    assert files(folder)
    assert lonely == []


@pytest.mark.parametrize(
    ("path", "severity"),
    [(path, Severity.ERROR) for path in files("fail")]
    + [(path, Severity.WARNING) for path in files("warn")],
    ids=lambda each: each.stem if isinstance(each, Path) else each.value,
)
def test_messages(path: Path, severity: Severity) -> None:
    found = diagnostics(path)
    expected = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    assert [line(each) for each in found] == expected
    assert {each.severity for each in found} == {severity}


def test_messages_point_into_their_file() -> None:
    for path in files("fail") + files("warn"):
        for found in diagnostics(path):
            if found.span is not None:
                assert found.span.source.name == str(path)
                shown = found.render().split("\n")
                assert "^" in shown[2], path


@pytest.mark.parametrize("pack", ["onnx", "ort-cpu"])
def test_shipped_packs_are_clean(pack: str) -> None:
    assert [line(each) for each in check_pack(load_pack(pack))] == []


def test_errors_at_load_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QREWRITE_CACHE_DIR", str(tmp_path / "cache"))
    wrong = tmp_path / "wrong.rules"
    wrong.write_text("rule r {\n    y = Rellu(x)\n => y = x\n    exact\n}\n")
    first = load_errors(load_file(wrong))
    assert [line(each) for each in first] == ['2:9: there is no op "Rellu" (did you mean "Relu"?)']
    monkeypatch.setattr("qrewrite.patterns.check.remember.PackChecks", None)
    assert load_errors(load_file(wrong)) == first


def test_errors_at_load_are_found_anew_for_a_changed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QREWRITE_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "file.rules"
    file.write_text("rule r {\n    y = Rellu(Relu(x))\n => y = x\n    exact\n}\n")
    assert load_errors(load_file(file))
    file.write_text("rule r {\n    y = Relu(Relu(x))\n => y = Relu(x)\n    exact\n}\n")
    assert load_errors(load_file(file)) == []


def test_errors_at_load_are_those_of_each_rule_alone() -> None:
    shadowed = load_file(HERE / "fail" / "shadowed.rules")
    assert load_errors(shadowed) == []
    assert [each.severity for each in check_pack(shadowed)] == [Severity.ERROR]
