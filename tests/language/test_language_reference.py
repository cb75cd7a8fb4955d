"""The language reference tells the truth: its examples load, and do to graphs what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]  # it has no stubs
import pytest
from onnx import GraphProto, ModelProto, helper, numpy_helper, parser

import qrewrite
from qrewrite.loading import check_file
from qrewrite.patterns.diagnostics import Severity
from qrewrite.patterns.formatting.format import format_source
from qrewrite.patterns.functions import functions
from qrewrite.patterns.reading.grammar import parser as grammar
from qrewrite.patterns.syntax import Source

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
BLOCK = re.compile(r"^```([a-z]+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPSET = 20
DRAWS = 20


@dataclass(slots=True)
class Example:
    """A block of rules, and the graphs or the output that stand below it."""

    line: int
    rules: str
    wrong: bool
    graphs: dict[str, str] = field(default_factory=dict)
    output: str = ""

    @property
    def name(self) -> str:
        named = re.match(r"# (\w+\.rules)\n", self.rules)
        return named[1] if named else "rules.rules"

    def __str__(self) -> str:
        found = re.search(r"^rule (\w+)", self.rules, re.MULTILINE)
        return found[1] if found else f"line {self.line}"


def examples() -> Iterator[Example]:
    page = PAGE.read_text(encoding="utf-8")
    current: Example | None = None
    for match in BLOCK.finditer(page):
        kind, detail, text = match.groups()
        if kind == "rules":
            if current is not None:
                yield current
            line = page.count("\n", 0, match.start()) + 2
            current = Example(line, text, wrong=detail == "error")
        elif kind == "onnx":
            assert current is not None and detail in ("before", "after")
            current.graphs[detail] = text
        elif kind == "text" and current is not None and current.wrong:
            current.output = text
    if current is not None:
        yield current


ALL = list(examples())
RIGHT = [example for example in ALL if not example.wrong]
APPLIED = [example for example in ALL if example.graphs]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that examples include."""
    for example in ALL:
        if example.name != "rules.rules":
            (tmp_path / example.name).write_text(example.rules, encoding="utf-8")
    return tmp_path


def written(example: Example, folder: Path) -> Path:
    path = folder / example.name
    path.write_text(example.rules, encoding="utf-8")
    return path


def test_there_are_examples() -> None:
    assert len(RIGHT) >= 25
    assert len(APPLIED) >= 20
    assert all(set(example.graphs) == {"before", "after"} for example in APPLIED)


@pytest.mark.parametrize("example", RIGHT, ids=str)
def test_an_example_loads(example: Example, folder: Path) -> None:
    found = check_file(written(example, folder))
    assert [each.render() for each in found if each.severity is Severity.ERROR] == []


@pytest.mark.parametrize("example", RIGHT, ids=str)
def test_an_example_is_in_canonical_form(example: Example) -> None:
    assert format_source(Source(example.name, example.rules)) == example.rules


@pytest.mark.parametrize("example", [each for each in ALL if each.wrong], ids=str)
def test_what_is_wrong_is_said_as_shown(
    example: Example, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(example, folder)
    monkeypatch.chdir(folder)
    found = check_file(example.name)
    assert "".join(f"{each.render()}\n" for each in found) == example.output


@pytest.mark.parametrize("example", APPLIED, ids=str)
def test_an_example_does_what_is_shown(example: Example, folder: Path) -> None:
    before = model(example.graphs["before"])
    expected = model(example.graphs["after"]).graph
    result = qrewrite.rewrite(before, rules=written(example, folder)).model
    assert described(result.graph) == described(expected)


@pytest.mark.parametrize("example", APPLIED, ids=str)
def test_what_is_shown_is_equivalent(example: Example) -> None:
    """Run in onnxruntime without its own optimizations, over random inputs of the whole range."""
    before, after = model(example.graphs["before"]), model(example.graphs["after"])
    if any(node.domain.startswith("com.acme") for node in after.graph.node):
        assert "op com.acme" in example.rules
        return
    rng = np.random.default_rng(1)
    sessions = [session(each) for each in (before, after)]
    for _ in range(DRAWS):
        feeds = {each.name: draw(each, rng) for each in before.graph.input}
        first, second = (each.run(None, feeds) for each in sessions)
        for ours, theirs in zip(second, first, strict=True):
            assert ours.dtype == theirs.dtype
            if np.issubdtype(ours.dtype, np.integer):
                moved = np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max(initial=0)
                assert moved <= ("exact\n" not in example.rules)
            else:
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def model(text: str) -> ModelProto:
    """The model of a graph in ONNX's text form, at one opset for all examples."""
    graph = parser.parse_graph(text)
    domains = {"": OPSET, "com.microsoft": 1, "com.acme": 1}
    used = {node.domain for node in graph.node} | {""}
    imports = [helper.make_opsetid(name, domains[name]) for name in sorted(used)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def session(proto: ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def draw(value: onnx.ValueInfoProto, rng: np.random.Generator) -> np.ndarray:
    shape = [dim.dim_value or 5 for dim in value.type.tensor_type.shape.dim]
    kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if np.issubdtype(kind, np.integer) and kind.itemsize == 1:
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(kind)
    if np.issubdtype(kind, np.integer):
        return rng.integers(-1000, 1000, shape).astype(kind)
    return rng.normal(0, 3, shape).astype(kind)


def described(graph: GraphProto) -> list[object]:
    """The nodes of a graph in order, whatever names it gives to values inside.

    A constant is described by its type, shape and content; an attribute that has its schema's
    default is left out.
    """
    kept = {each.name for each in (*graph.input, *graph.output)} | {""}
    constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    numbers: dict[str, int] = {}

    def describe(name: str) -> object:
        array = constants.get(name)
        if array is not None:
            return str(array.dtype), array.shape, array.tolist()
        return name if name in kept else numbers.setdefault(name, len(numbers))

    return [
        (
            node.domain,
            node.op_type,
            [describe(name) for name in trimmed(node.input)],
            [describe(name) for name in trimmed(node.output)],
            attributes(node),
        )
        for node in graph.node
    ]


def attributes(node: onnx.NodeProto) -> dict[str, str]:
    values = {each.name: str(helper.get_attribute_value(each)) for each in node.attribute}
    if node.domain == "":
        schema = onnx.defs.get_schema(node.op_type, OPSET)
        for name, attribute in schema.attributes.items():
            default = attribute.default_value
            if default.name and values.get(name) == str(helper.get_attribute_value(default)):
                del values[name]
    return values


def trimmed(names: Sequence[str]) -> list[str]:
    found = list(names)
    while found and not found[-1]:
        found.pop()
    return found


# ---- completeness -------------------------------------------------------------------------------


def test_every_function_is_listed_with_its_signature() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index("\n## Functions") : page.index("\n## Errors")]
    listed = re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE)
    assert listed == [each.signature for each in functions().values()]


def test_every_word_of_the_language_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    code = re.findall(r"`([^`]+)`", BLOCK.sub("", page)) + [each.rules for each in ALL]
    words = {each.pattern.value for each in grammar().terminals if each.pattern.value.isalpha()}
    assert words - set(re.findall(r"[a-z]+", " ".join(code))) == set()


def test_links_within_the_page_lead_somewhere() -> None:
    page = PAGE.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", BLOCK.sub("", page), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= anchors
