"""One example: the rule is applied to the model and the result is judged."""

from __future__ import annotations

from dataclasses import dataclass

from qrewrite.engine.errors import QrewriteError
from qrewrite.patterns.packs.pack import Pack, PackRule

from .application import Applier
from .case import Case, feeds
from .comparison import FINE, InvalidCase, Judgement, Original, judge, kernels_count


@dataclass(frozen=True)
class Examined:
    """What came of an example."""

    fired: int = 0
    judgement: Judgement = FINE
    invalid: str = ""
    """Why the model is no test at all."""
    refused: tuple[str, ...] = ()
    """Why the engine refused matches."""


class Examiner:
    """A rule made ready for many examples."""

    def __init__(self, pack: Pack, rule: PackRule) -> None:
        self.pack = pack
        self.rule = rule
        self._applier = Applier(pack, rule)

    def examine(self, case: Case) -> Examined:
        """Apply the rule and judge the result."""
        inputs = feeds(case)
        try:
            original = Original(case.model, inputs)
        except InvalidCase as problem:
            return Examined(invalid=str(problem))
        try:
            rewritten = self._applier.apply(case.model, case.options)
        except QrewriteError as error:
            return Examined(1, Judgement(f"the rule cannot be applied: {error}", inputs=inputs[0]))
        if not rewritten.fired:
            return Examined(refused=rewritten.refused)
        claim = self.rule.rule.claim
        count = kernels_count(case.model, rewritten.model, case.options)
        found = judge(original, rewritten.model, claim, case.roots, count, rewritten.fired)
        return Examined(rewritten.fired, found, refused=rewritten.refused)
