"""Packs by name: those that ship, those that other packages install, those in a folder beside."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import did_you_mean, failure
from ..syntax import Span
from .layer import HEADER_FILE, SUFFIX, Layer, file_layer, folder_layer

ENTRY_POINT_GROUP = "qrewrite.packs"
"""``my-pack = "my_package.rules"`` names the Python package whose folder is the pack."""


@dataclass(frozen=True, slots=True)
class KnownPack:
    """A pack that can be asked for by name."""

    name: str
    folder: Path
    origin: str
    """``shipped``, or the distribution that installs it."""


def rules_folder() -> Path:
    """Where the packs that ship are."""
    found = importlib.util.find_spec("qrewrite.rules")
    if found is None or not found.submodule_search_locations:
        raise failure("the rules that ship with qrewrite are not installed")
    return Path(next(iter(found.submodule_search_locations)))


def prelude_file() -> Path:
    return rules_folder() / "prelude.rules"


def known_packs() -> tuple[KnownPack, ...]:
    """All packs that have a name here, sorted; one that ships is not hidden by an installed one."""
    found = {pack.name: pack for pack in (*_installed(), *_shipped())}
    return tuple(found[name] for name in sorted(found))


def _shipped() -> list[KnownPack]:
    headers = sorted(rules_folder().glob(f"*/{HEADER_FILE}"))
    return [KnownPack(path.parent.name, path.parent, "shipped") for path in headers]


def _by_name(name: str) -> KnownPack | None:
    """Installed packs are looked for only where none that ships has the name: that takes time."""
    found = [pack for pack in _shipped() if pack.name == name] or [
        pack for pack in _installed() if pack.name == name
    ]
    return found[0] if found else None


def _installed() -> list[KnownPack]:
    # Its import takes longer than loading a pack that ships.
    from importlib.metadata import entry_points

    found: list[KnownPack] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            module = importlib.util.find_spec(point.module)
        except ImportError:
            module = None
        for place in (module.submodule_search_locations or ()) if module is not None else ():
            if (Path(place) / HEADER_FILE).is_file():
                origin = point.dist.name if point.dist is not None else point.module
                found.append(KnownPack(point.name, Path(place), origin))
                break
    return found


def find_pack(asked: str) -> Layer:
    """The pack of a name, a folder or a file, as ``--pack`` takes them; a name comes first.

    Raises RuleFileError if there is none, with the nearest name.
    """
    known = _by_name(asked)
    if known is not None:
        return _named(known.folder, asked, None, trusted=True)
    path = Path(asked)
    if path.is_dir():
        return folder_layer(path, trusted=False)
    if path.is_file():
        if path.name == HEADER_FILE:
            return folder_layer(path.parent, trusted=False)
        return file_layer(path)
    if path.suffix == SUFFIX or len(path.parts) > 1:
        raise failure(f"{asked}: there is no such pack file or folder")
    raise _unknown(asked, None, [pack.name for pack in known_packs()])


def find_parent(name: str, span: Span, beside: Path | None) -> Layer:
    """A pack that another extends: shipped, installed, or in a folder beside the child's."""
    known = _by_name(name)
    if known is not None:
        return _named(known.folder, name, span, trusted=True)
    if beside is not None and (beside / name / HEADER_FILE).is_file():
        return _named(beside / name, name, span, trusted=False)
    neighbours = () if beside is None else beside.glob(f"*/{HEADER_FILE}")
    names = [pack.name for pack in known_packs()] + [path.parent.name for path in neighbours]
    raise _unknown(name, span, names)


def _named(folder: Path, name: str, span: Span | None, *, trusted: bool) -> Layer:
    layer = folder_layer(folder, trusted=trusted)
    if layer.name != name:
        raise failure(f'the folder of pack "{name}" holds the pack "{layer.name}"', span)
    return layer


def _unknown(name: str, span: Span | None, known: list[str]) -> Exception:
    note = did_you_mean(name, known) or f"the packs here are {', '.join(sorted(known))}"
    return failure(f'there is no pack "{name}"', span, note)
