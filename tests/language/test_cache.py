"""The cache of parsed files: it saves work, and neither trusts nor breaks anything."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from qrewrite.patterns.reading.cache import FOLDER_VARIABLE, cache_folder, cached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv(FOLDER_VARIABLE, str(place))
    return place


class Maker:
    """Counts how often the work was done."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        return "made"


class Evil:
    """A pickle that makes a folder when it is read."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.trace),)


def plant(path: Path, trace: Path) -> None:
    path.write_bytes(pickle.dumps(Evil(trace)))


def entry(folder: Path) -> Path:
    (found,) = folder.glob("*.pickle")
    return found


def test_the_work_is_done_once(folder: Path) -> None:
    make = Maker()
    assert [cached("k", b"a", str, make) for _ in range(3)] == ["made"] * 3
    assert make.calls == 1
    assert not list(folder.glob("*.tmp"))


def test_other_content_and_kinds_are_apart(folder: Path) -> None:
    make = Maker()
    for kind, content in (("k", b"a"), ("k", b"b"), ("l", b"a")):
        cached(kind, content, str, make)
    assert make.calls == 3


def test_a_failure_is_not_kept(folder: Path) -> None:
    def fail() -> str:
        raise ValueError

    with pytest.raises(ValueError):
        cached("k", b"a", str, fail)
    assert cached("k", b"a", str, Maker()) == "made"


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps(3)])
def test_a_damaged_entry_is_made_again(folder: Path, content: bytes) -> None:
    cached("k", b"a", str, Maker())
    entry(folder).write_bytes(content)
    make = Maker()
    assert cached("k", b"a", str, make) == "made"
    assert make.calls == 1


def test_an_entry_of_ones_own_is_read(folder: Path, tmp_path: Path) -> None:
    """The trace that the tests below look for is left where an entry is trusted."""
    cached("k", b"a", str, Maker())
    plant(entry(folder), tmp_path / "trace")
    cached("k", b"a", str, Maker())
    assert (tmp_path / "trace").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="file modes")
@pytest.mark.parametrize("which", ["entry", "folder"])
def test_what_others_can_write_is_not_read(folder: Path, tmp_path: Path, which: str) -> None:
    cached("k", b"a", str, Maker())
    plant(entry(folder), tmp_path / "trace")
    (entry(folder) if which == "entry" else folder).chmod(0o777)
    assert cached("k", b"a", str, Maker()) == "made"
    assert not (tmp_path / "trace").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs root to chown")
@pytest.mark.parametrize("which", ["entry", "folder"])
def test_what_belongs_to_another_user_is_not_read(folder: Path, tmp_path: Path, which: str) -> None:
    cached("k", b"a", str, Maker())
    plant(entry(folder), tmp_path / "trace")
    os.chown(entry(folder) if which == "entry" else folder, 12345, 12345)
    assert cached("k", b"a", str, Maker()) == "made"
    assert not (tmp_path / "trace").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_a_link_in_place_of_an_entry_is_not_followed(folder: Path, tmp_path: Path) -> None:
    cached("k", b"a", str, Maker())
    path = entry(folder)
    plant(tmp_path / "elsewhere", tmp_path / "trace")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert cached("k", b"a", str, Maker()) == "made"
    assert not (tmp_path / "trace").exists()


def test_a_folder_that_cannot_be_made_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "cache"))
    make = Maker()
    assert [cached("k", b"a", str, make) for _ in range(2)] == ["made"] * 2
    assert make.calls == 2


@pytest.mark.skipif(sys.platform != "linux", reason="the place differs")
def test_the_place_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/qrewrite")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "qrewrite"


def test_a_cached_pack_is_loaded_without_the_parser(folder: Path) -> None:
    program = (
        "import sys; from qrewrite.patterns.packs.load import load_pack;"
        "load_pack('ort-cpu'); print('lark' in sys.modules)"
    )
    told = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [each.stdout.strip() for each in told] == ["True", "False"]
