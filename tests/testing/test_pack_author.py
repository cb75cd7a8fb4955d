"""The pytest file of ten lines that docs/verify.md gives to the authors of packs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACK = """
pack acme "Integers of ACME" { phases fuse }

rule acme_relu "Relu on codes is Max with the zero point" {
    y = Q(Relu(DQ(x)))
    where opset >= 13, x.type in {u8, i8}, scalar_grid(x), interchangeable(x, y)
    let zero = reshape(y.zero_point, [])
 => y = Max(x, zero)
    exact
}
"""
WRONG = PACK.replace("interchangeable(x, y)", "y.type == x.type, scalar_grid(y)")


def suite(folder: Path, pack: str) -> subprocess.CompletedProcess[str]:
    """The documented file beside a pack, run by pytest in a folder of its own."""
    (folder / "acme").mkdir()
    (folder / "acme" / "pack.rules").write_text(pack)
    text = (ROOT / "docs" / "verify.md").read_text()
    found = re.search(r"```python\n(import pytest.*?)```", text, re.DOTALL)
    assert found is not None and len(found[1].strip().splitlines()) <= 10
    (folder / "test_acme.py").write_text(found[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_right_pack_passes(tmp_path: Path) -> None:
    run = suite(tmp_path, PACK)
    assert run.returncode == 0, run.stdout
    assert "1 passed" in run.stdout


def test_a_wrong_pack_fails(tmp_path: Path) -> None:
    run = suite(tmp_path, WRONG)
    assert run.returncode == 1 and "counterexample" in run.stdout, run.stdout
