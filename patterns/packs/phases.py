"""The order of a pack's phases: its parents', with its own added."""

from __future__ import annotations

from ..diagnostics import Diagnostic, error
from ..syntax import PackHeader
from .pack import DEFAULT_PHASE


def merge_phases(
    inherited: tuple[str, ...], header: PackHeader
) -> tuple[tuple[str, ...], Diagnostic | None]:
    """The phases of a pack whose parents have those ``inherited``, and what is wrong with them.

    The pack's own phases come last.  A pack that names a phase of its parents among its own says
    where they go: ``phases fuse, shrink`` puts ``shrink`` right behind the parents' ``fuse``, and
    ``phases shrink, fuse`` right before it.
    """
    own = header.phases
    if len(set(own)) < len(own):
        return inherited or own, error("a phase is named twice", header.span)
    if not inherited:
        return own or (DEFAULT_PHASE,), None
    order = list(inherited)
    place: int | None = None
    for index, phase in enumerate(own):
        if phase in inherited:
            found = order.index(phase)
            if place is not None and found < place:
                note = f"the parents' phases are {', '.join(inherited)}"
                message = f'phase "{phase}" comes earlier in the parents'
                return inherited, error(message, header.span, note)
            place = found + 1
            continue
        if place is None:
            following = [other for other in own[index:] if other in inherited]
            place = order.index(following[0]) if following else len(order)
        order.insert(place, phase)
        place += 1
    return tuple(order), None
