"""Packs that other distributions install under the entry-point group ``qrewrite.packs``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from qrewrite.patterns.packs.find import known_packs
from qrewrite.patterns.packs.load import load_pack


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with a pack and one that claims a shipped name, on the path."""
    metadata = tmp_path / "acme_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[qrewrite.packs]\nacme = acme_rules\nonnx = acme_rules\nbroken = no_such_module\n"
    )
    package = tmp_path / "acme_rules"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('a pack is data: nothing is run')\n")
    (package / "pack.rules").write_text(
        'pack acme "Acme" { extends onnx }\npython "acme_rules.numerics" import fold\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return package


def test_an_installed_pack_is_known_and_loaded_by_name(installed: Path) -> None:
    known = {pack.name: pack for pack in known_packs()}
    assert known["acme"].folder == installed
    assert known["acme"].origin == "acme-rules"
    pack = load_pack("acme")
    assert pack.parents == ("onnx", "acme")
    assert pack.functions["fold"].module == "acme_rules.numerics"
    assert "acme_rules" not in sys.modules


def test_a_shipped_pack_is_not_hidden_and_a_broken_one_is_left_out(installed: Path) -> None:
    known = {pack.name: pack for pack in known_packs()}
    assert known["onnx"].origin == "shipped"
    assert "broken" not in known
    assert load_pack("onnx").name == "onnx"
