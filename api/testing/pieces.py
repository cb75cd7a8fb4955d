"""Pieces of random models: graphs that single rules match, kept and used again beside others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from qrewrite.patterns.packs.pack import Pack, PackRule

from .case import Case
from .comparison import may_saturate
from .draws import Draw, chance, pick
from .random_models import default_options, piece_of
from .settle_types import OPSETS
from .solve import Setting

KEPT = 8
"""Pieces of one rule and setting; from then on they are used again."""
TRIES = 12
"""How often a piece is begun for one rule and setting before it is given up."""
CANDIDATES = 4
"""Rules drawn for a piece, of which the one that has fired least is taken."""
FEW_OPSETS = (13, 21)
"""Those of models with other options than the defaults."""


class Pieces:
    """Gives pieces to models, more of those rules that have seldom fired."""

    def __init__(self, pack: Pack, fired: Mapping[str, int]) -> None:
        self.pack = pack
        self.fired = fired
        """By full name."""
        self._kept: dict[object, list[Case]] = defaultdict(list)
        self._tries: Counter[object] = Counter()
        default = default_options(pack)
        self._options = [default, *_single_changes(pack, default)]

    def setting(self, draw: Draw) -> Setting:
        """Half of the models have the default options, the others one that differs."""
        if chance(draw, 50):
            return Setting(pick(draw, OPSETS), self._options[0])
        return Setting(pick(draw, FEW_OPSETS), pick(draw, self._options))

    def make(self, setting: Setting, draw: Draw) -> Case | None:
        """A graph that some rule matches in this setting."""
        for _ in range(TRIES):
            rules = [pick(draw, self.pack.rules) for _ in range(CANDIDATES)]
            rule = min(rules, key=lambda each: self.fired.get(each.full_name, 0))
            case = self._of(rule, setting, draw)
            if case is not None:
                return case
        return None

    def _of(self, rule: PackRule, setting: Setting, draw: Draw) -> Case | None:
        key = (rule.full_name, setting.opset, tuple(setting.options.items()))
        kept = self._kept[key]
        if len(kept) < KEPT and self._tries[key] < TRIES + 2 * len(kept):
            self._tries[key] += 1
            made = piece_of(self.pack, rule, setting, draw)
            # where the original has a kernel that saturates on this machine, it is no reference
            if made is not None and not may_saturate(made.model):
                kept.append(made)
                return made
        return pick(draw, kept) if kept else None


def _single_changes(pack: Pack, default: Mapping[str, object]) -> list[dict[str, object]]:
    """The options with one of them changed, in every way."""
    found = []
    for name, option in pack.options.items():
        choices = option.choices or ((False, True) if isinstance(option.default, bool) else ())
        found += [{**default, name: value} for value in choices if value != option.default]
    return found
