"""Packs: folders, parents, phases, names, options, and what is said where they do not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from qrewrite.patterns.diagnostics import RuleFileError
from qrewrite.patterns.packs.load import load_file, load_pack
from qrewrite.patterns.packs.options import settings
from qrewrite.patterns.packs.pack import Pack
from qrewrite.patterns.syntax import Setting

Write = Callable[[dict[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files below the test's folder, which it returns."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


def rule(name: str, modifiers: str = "", op: str = "B") -> str:
    return f"rule {name} {modifiers} {{ y = A(x) => y = {op}(x) exact }}\n"


def messages(load: Callable[[], object]) -> list[str]:
    with pytest.raises(RuleFileError) as caught:
        load()
    return [each.message for each in caught.value.diagnostics]


def note(load: Callable[[], object]) -> str:
    with pytest.raises(RuleFileError) as caught:
        load()
    return caught.value.diagnostics[0].note


def placed(pack: Pack) -> list[tuple[str, str]]:
    return [(each.full_name, each.phase) for each in pack.rules]


# ---- files and folders --------------------------------------------------------------------------


def test_all_files_of_a_folder_are_the_pack(write: Write) -> None:
    root = write(
        {
            "p/pack.rules": 'pack p "P" { phases first, second }',
            "p/b.rules": "phase second\n" + rule("b") + rule("c", "in first"),
            "p/a.rules": "phase first\n" + rule("z"),
            "p/notes.txt": "rule {",
        }
    )
    pack = load_pack(root / "p")
    assert (pack.name, pack.title, pack.phases) == ("p", "P", ("first", "second"))
    assert placed(pack) == [("p/c", "first"), ("p/z", "first"), ("p/b", "second")]


def test_order_does_not_depend_on_files(write: Write) -> None:
    header = 'pack p "P" { phases fuse }'
    one = write({"one/pack.rules": header, "one/a.rules": rule("a"), "one/b.rules": rule("b")})
    two = write({"two/pack.rules": header, "two/a.rules": rule("b") + rule("a")})
    assert placed(load_pack(one / "one")) == placed(load_pack(two / "two"))


def test_the_prelude_is_in_scope() -> None:
    pack = load_pack("onnx")
    assert {"DQ", "Q"} <= set(pack.fragments)
    assert pack.sources[0].name.endswith("prelude.rules")


def test_shipped_packs_extend_one_another() -> None:
    pack = load_pack("ort-cpu")
    assert pack.parents == ("onnx", "ort-cpu")
    assert {"onnx", "ort-cpu"} == {each.pack for each in pack.rules}
    assert pack.rule("onnx/conv") is pack.rule("conv") is not None
    assert pack.rule("nothing") is None


def test_includes_are_relative_and_read_once(write: Write) -> None:
    root = write(
        {
            "p/pack.rules": 'pack p "P" {} include "../shared/ops.rules" include "a.rules"',
            "p/a.rules": 'include "../shared/ops.rules"\n' + rule("a"),
            "shared/ops.rules": "ops movement_ops = Reshape",
        }
    )
    pack = load_pack(root / "p")
    assert list(pack.op_sets)[-1] == "movement_ops"
    assert placed(pack) == [("p/a", "fuse")]


def test_a_circle_of_includes(write: Write) -> None:
    root = write({"a.rules": 'include "b.rules"', "b.rules": 'include "a.rules"'})
    assert messages(lambda: load_pack(rules=[root / "a.rules"])) == [
        "files include each other in a circle"
    ]
    assert note(lambda: load_pack(rules=[root / "a.rules"])) == (
        "a.rules includes b.rules includes a.rules"
    )


def test_an_include_that_is_not_there(write: Write) -> None:
    root = write({"a.rules": 'include "b.rules"\ninclude "/etc/passwd"'})
    assert messages(lambda: load_pack(rules=[root / "a.rules"])) == [
        'there is no file "b.rules" here',
        "only files that end in .rules are included",
    ]


def test_a_long_chain_of_includes(write: Write) -> None:
    root = write({f"{n}.rules": f'include "{n + 1}.rules"' for n in range(200)})
    assert messages(lambda: load_pack(rules=[root / "0.rules"])) == [
        "too many files include one another"
    ]


def test_syntax_errors_of_all_files(write: Write) -> None:
    root = write({"p/pack.rules": 'pack p "P" {', "p/a.rules": "ops a =", "p/b.rules": "rule {"})
    assert len(messages(lambda: load_pack(root / "p"))) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ops a = \0", "not a text file (it contains a NUL byte)"),
        (b"ops a = B\n# \xff", "not UTF-8 text (line 2)"),
        (b"#" * 600_000, "too large for a rule file (more than 512 KiB)"),
    ],
)
def test_what_is_no_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.rules"
    path.write_bytes(content)
    assert messages(lambda: load_pack(rules=[path])) == [f"{path}: {message}"]


def test_byte_order_mark_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.rules"
    path.write_bytes(b"\xef\xbb\xbfops a = B\r\nops c\r\n=\r\n")
    with pytest.raises(RuleFileError) as caught:
        load_pack(rules=[path])
    (found,) = caught.value.diagnostics
    assert found.span is not None and found.span.line == 3
    assert "\r" not in found.render()


def test_paths_that_are_not_there(tmp_path: Path) -> None:
    assert messages(lambda: load_pack(rules=[tmp_path / "a.rules"])) == [
        f"{tmp_path}/a.rules: there is no such file"
    ]
    assert messages(lambda: load_pack(tmp_path / "none")) == [
        f"{tmp_path}/none: there is no such pack file or folder"
    ]
    assert messages(lambda: load_pack(tmp_path)) == [
        f"{tmp_path}: no pack here, a pack's folder holds a file pack.rules"
    ]


def test_an_unknown_pack_and_the_nearest() -> None:
    assert messages(lambda: load_pack("ort-cpus")) == ['there is no pack "ort-cpus"']
    assert note(lambda: load_pack("ort-cpus")) == 'did you mean "ort-cpu"?'


def test_a_second_header(write: Write) -> None:
    root = write({"p/pack.rules": 'pack p "P" {}', "p/a.rules": 'pack q "Q" {}'})
    assert messages(lambda: load_pack(root / "p")) == ["a pack has one header"]


def test_a_file_with_a_header_is_a_pack(write: Write) -> None:
    root = write({"one.rules": 'pack one "1" { extends onnx }' + rule("mine")})
    pack = load_pack(root / "one.rules")
    assert pack.parents == ("onnx", "one")
    assert pack.rule("one/mine") is not None


# ---- parents ------------------------------------------------------------------------------------


def test_a_parent_beside_the_child(write: Write) -> None:
    root = write(
        {
            "base/pack.rules": 'pack base "B" { needs ai.onnx >= 10 phases a, b }'
            + rule("r", "in a"),
            "child/pack.rules": 'pack child "C" { extends base needs ai.onnx >= 13, com.x >= 1 }',
        }
    )
    pack = load_pack(root / "child")
    assert placed(pack) == [("base/r", "a")]
    assert pack.needs == {"": 13, "com.x": 1}
    assert pack.needs_of == {"base": {"": 10}, "child": {"": 13, "com.x": 1}}


def test_parents_that_are_not_there_or_go_in_a_circle(write: Write) -> None:
    root = write(
        {
            "a/pack.rules": 'pack a "A" { extends b }',
            "b/pack.rules": 'pack b "B" { extends a }',
            "c/pack.rules": 'pack c "C" { extends onxn }',
            "d/pack.rules": 'pack e "E" {}',
            "f/pack.rules": 'pack f "F" { extends d }',
        }
    )
    assert messages(lambda: load_pack(root / "a")) == ["packs extend each other in a circle"]
    assert note(lambda: load_pack(root / "a")) == "a extends b extends a"
    assert note(lambda: load_pack(root / "c")) == 'did you mean "onnx"?'
    assert messages(lambda: load_pack(root / "f")) == ['the folder of pack "d" holds the pack "e"']


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("", "a b c"),
        ("phases x, y", "a b c x y"),
        ("phases b, x", "a b x c"),
        ("phases x, b", "a x b c"),
        ("phases x, a, y, c, z", "x a y b c z"),
    ],
)
def test_where_own_phases_go(write: Write, own: str, expected: str) -> None:
    root = write(
        {
            "base/pack.rules": 'pack base "B" { phases a, b, c }',
            "child/pack.rules": f'pack child "C" {{ extends base {own} }}',
        }
    )
    assert " ".join(load_pack(root / "child").phases) == expected


def test_phases_that_contradict_the_parents(write: Write) -> None:
    root = write(
        {
            "base/pack.rules": 'pack base "B" { phases a, b }',
            "child/pack.rules": 'pack child "C" { extends base phases b, a }',
            "twice/pack.rules": 'pack twice "T" { phases a, a }',
        }
    )
    assert messages(lambda: load_pack(root / "child")) == ['phase "a" comes earlier in the parents']
    assert messages(lambda: load_pack(root / "twice")) == ["a phase is named twice"]


def test_a_rule_is_overridden_or_switched_off_by_name(write: Write) -> None:
    root = write(
        {
            "base/pack.rules": 'pack base "B" { phases fuse }' + rule("r") + rule("s") + rule("t"),
            "child/pack.rules": 'pack child "C" { extends base without s }'
            + rule("r", "override", "C"),
        }
    )
    pack = load_pack(root / "child")
    assert placed(pack) == [("child/r", "fuse"), ("base/t", "fuse")]
    assert pack.switched_off == {"s"}


def test_names_that_no_parent_has(write: Write) -> None:
    root = write(
        {
            "base/pack.rules": 'pack base "B" { phases fuse }' + rule("conv"),
            "child/pack.rules": 'pack child "C" { extends base without con }\n'
            + rule("konv", "override"),
        }
    )
    with pytest.raises(RuleFileError) as caught:
        load_pack(root / "child")
    assert [(each.message, each.note) for each in caught.value.diagnostics] == [
        ('no parent has a rule "con"', 'did you mean "conv"?'),
        ('there is no rule "konv" to override', 'did you mean "conv"?'),
    ]


def test_a_rule_is_not_replaced_without_a_word(write: Write) -> None:
    root = write(
        {
            "base/pack.rules": 'pack base "B" { phases fuse }' + rule("conv"),
            "child/pack.rules": 'pack child "C" { extends base }' + rule("conv"),
            "twice/pack.rules": 'pack twice "T" {}' + rule("conv") + rule("conv"),
        }
    )
    assert messages(lambda: load_pack(root / "child")) == ['rule "conv" is already defined in base']
    assert messages(lambda: load_pack(root / "twice")) == ['rule "conv" is defined twice']


def test_two_parents_with_a_rule_of_one_name(write: Write) -> None:
    root = write(
        {
            "a/pack.rules": 'pack a "A" { phases fuse }' + rule("r"),
            "b/pack.rules": 'pack b "B" { phases fuse }' + rule("r", op="C"),
            "child/pack.rules": 'pack child "C" { extends a, b }',
        }
    )
    assert messages(lambda: load_pack(root / "child")) == ['rule "r" is already defined in a']


# ---- names --------------------------------------------------------------------------------------


def test_a_name_has_one_meaning(write: Write) -> None:
    root = write(
        {
            "p/pack.rules": 'pack p "P" {}',
            "p/a.rules": "ops thing = A\nguard DQ(x) = x\nop c.d::E(x: f32) -> y: f32",
            "p/b.rules": "guard thing(x) = x\nop c.d::E(x: u8) -> y: f32",
        }
    )
    assert messages(lambda: load_pack(root / "p")) == [
        '"DQ" is already defined in the prelude',
        '"thing" is already defined in p',
        "op c.d::E is defined twice",
    ]


def test_the_same_definition_twice_is_one(write: Write) -> None:
    root = write({"a.rules": "ops thing = A | B", "b.rules": "ops thing = A | B"})
    pack = load_pack(rules=[root / "a.rules", root / "b.rules"])
    assert [op.name for op in pack.op_sets["thing"].ops] == ["A", "B"]


# ---- rule files on top --------------------------------------------------------------------------


def test_a_rule_file_on_top_of_a_pack(write: Write) -> None:
    root = write(
        {
            "mine.rules": rule("conv") + rule("new") + rule("early", "in prepare"),
            "typo.rules": rule("new", "in prepar"),
        }
    )
    pack = load_pack("onnx", rules=[root / "mine.rules"])
    assert pack.name == "onnx+mine"
    own = [each for each in placed(pack) if each[0].startswith("mine/")]
    assert own == [("mine/early", "prepare"), ("mine/conv", "fuse"), ("mine/new", "fuse")]
    assert pack.rule("onnx/conv") is None
    assert note(lambda: load_pack("onnx", rules=[root / "typo.rules"])) == (
        'did you mean "prepare"?'
    )


def test_a_rule_without_a_phase_goes_into_the_last_where_there_is_no_fuse(write: Write) -> None:
    root = write({"p/pack.rules": 'pack p "P" { phases a, b }' + rule("r")})
    assert placed(load_pack(root / "p")) == [("p/r", "b")]


def test_a_rule_file_alone_has_the_phases_it_names(write: Write) -> None:
    root = write(
        {
            "none.rules": rule("r"),
            "own.rules": rule("a", "in second") + "phase first\n" + rule("b") + rule("c"),
        }
    )
    assert placed(load_pack(rules=[root / "none.rules"])) == [("none/r", "fuse")]
    own = load_pack(rules=[root / "own.rules"])
    assert own.phases == ("second", "first")
    assert placed(own) == [("own/a", "second"), ("own/b", "first"), ("own/c", "first")]


def test_a_later_pack_stands_over_an_earlier(write: Write) -> None:
    root = write(
        {
            "a/pack.rules": 'pack a "A" { phases fuse option o = 1 }' + rule("r") + rule("s"),
            "b/pack.rules": 'pack b "B" { phases fuse option o = 2 }' + rule("r", op="C"),
        }
    )
    pack = load_pack(root / "a", root / "b")
    assert placed(pack) == [("b/r", "fuse"), ("a/s", "fuse")]
    assert pack.options["o"].default == 2


def test_a_pack_given_with_its_parent_is_merged_once() -> None:
    assert placed(load_pack("onnx", "ort-cpu")) == placed(load_pack("ort-cpu"))


def test_nothing_given() -> None:
    assert messages(load_pack) == ["no pack and no rule file given"]


def test_checking_a_file_means_its_pack(write: Write) -> None:
    root = write(
        {
            "p/pack.rules": 'pack p "P" { phases a }',
            "p/x.rules": rule("r", "in a"),
            "alone.rules": rule("s"),
        }
    )
    assert placed(load_file(root / "p/x.rules")) == [("p/r", "a")]
    assert placed(load_file(root / "p")) == [("p/r", "a")]
    assert placed(load_file(root / "alone.rules")) == [("alone/s", "fuse")]


# ---- options ------------------------------------------------------------------------------------

OPTIONS = (
    'pack p "P" { option target = "x86" in {"x86", "arm"} option int8 = false'
    " option count = 3 option bound = 0.5 }"
)


@pytest.fixture
def options(write: Write) -> Pack:
    return load_pack(write({"p/pack.rules": OPTIONS}) / "p")


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("target", "arm", "arm"),
        ("int8", "true", True),
        ("int8", "off", False),
        ("int8", True, True),
        ("count", "7", 7),
        ("bound", "1e-3", 1e-3),
        ("bound", 2, 2.0),
    ],
)
def test_settings(options: Pack, name: str, given: Setting, expected: Setting) -> None:
    found = settings(options, {name: given})
    assert found == {"target": "x86", "int8": False, "count": 3, "bound": 0.5} | {name: expected}
    assert type(found[name]) is type(expected)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("target", "riscv", 'option "target" cannot be "riscv"'),
        ("int8", "maybe", 'option "int8" takes true or false, not "maybe"'),
        ("int8", 1, 'option "int8" takes true or false, not 1'),
        ("count", "many", 'option "count" takes a whole number, not "many"'),
        ("count", True, 'option "count" takes a whole number, not true'),
        ("bound", "x", 'option "bound" takes a number, not "x"'),
        ("targets", "arm", 'pack p has no option "targets"'),
    ],
)
def test_settings_that_do_not_fit(options: Pack, name: str, given: Setting, message: str) -> None:
    assert messages(lambda: settings(options, {name: given})) == [message]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('option o = "a" in {"b"}', 'the default "a" is not among the choices'),
        ("option o = 1 in {1, true}", "true is not a whole number, as the default 1 is"),
        ("option o = 1 option o = 2", 'option "o" is defined twice'),
    ],
)
def test_options_that_are_declared_wrong(write: Write, option: str, message: str) -> None:
    root = write({"p/pack.rules": f'pack p "P" {{ {option} }}'})
    assert messages(lambda: load_pack(root / "p")) == [message]


# ---- Python functions ---------------------------------------------------------------------------


def test_python_functions_are_off_unless_allowed(write: Write) -> None:
    root = write({"a.rules": 'python "os.path" import join\n' + rule("r")})
    refused = messages(lambda: load_pack(rules=[root / "a.rules"]))
    assert refused == ["Python functions are off for rule files that are not installed"]
    pack = load_pack(rules=[root / "a.rules"], allow_python=True)
    assert pack.functions["join"].module == "os.path"
