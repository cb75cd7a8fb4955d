"""`--only` and `--skip`, apart from the command line."""

from __future__ import annotations

import pytest

from qrewrite.selection import SelectionError, parse_selection


def allows(
    only: list[str], skip: list[str], node: str = "/a/Conv", *, prepares: bool = False
) -> bool:
    return parse_selection(only, skip).allows("onnx", "conv", node, prepares=prepares)


@pytest.mark.parametrize(
    "pattern", ["rule:conv", "rule:c*", "rule:onnx/*", "node:/a/*", "node:*Conv"]
)
def test_patterns_that_fit(pattern: str) -> None:
    assert allows([pattern], [])
    assert not allows([], [pattern])


@pytest.mark.parametrize(
    "pattern", ["rule:con", "rule:ort-cpu/*", "rule:Conv", "node:/b/*", "node:/a"]
)
def test_patterns_that_do_not(pattern: str) -> None:
    assert not allows([pattern], [])
    assert allows([], [pattern])


def test_rules_and_nodes_both_have_to_fit() -> None:
    assert allows(["rule:conv", "node:/a/*"], [])
    assert not allows(["rule:conv", "node:/b/*"], [])
    assert allows(["rule:gemm", "rule:conv"], [])


def test_only_does_not_hold_back_what_prepares() -> None:
    assert allows(["rule:gemm"], [], prepares=True)
    assert not allows([], ["rule:conv"], prepares=True)


def test_without_patterns_nothing_is_restricted() -> None:
    assert not parse_selection([], []).restricts
    assert parse_selection([], ["node:x"]).restricts


@pytest.mark.parametrize("pattern", ["conv", "op:Conv", "rule:", ":conv", ""])
def test_other_words(pattern: str) -> None:
    with pytest.raises(SelectionError, match="only takes rule:GLOB or node:GLOB"):
        parse_selection([pattern], [])
