"""The tool that makes mistakes in the core: what it leaves out is there, and what it makes are programs."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "mutants"))
    import left_out
    import operators

    return left_out, operators


def test_constants_that_keep_their_values_are_where_the_list_says(tools):
    """A constant that moved to another file would be mutated there, or stop the tool."""
    left_out, _ = tools
    for files in left_out.CONSTANTS.values():
        for file in files:
            tree = ast.parse((ROOT / "src" / "skmtl" / file).read_text())
            assert left_out.left_out_constants(f"skmtl/{file}", tree)


def test_mutants_are_other_programs(tools):
    _, operators = tools
    source = "def area(a, b):\n    if a < b:\n        return a * b\n    return 0.0\n"
    found = list(operators.mutants("skmtl/area.py", source))
    texts = {mutant.write() for mutant in found}
    assert len(texts) == len(found) > 5
    assert source not in texts
    # The same mistake has the same name wherever its line is.
    assert {m.key for m in operators.mutants("skmtl/area.py", "\n" + source)} == {m.key for m in found}
    for text in texts:
        compile(text, "area.py", "exec")


def test_sizes_that_are_left_open_are_no_mistakes(tools):
    """Any negative number leaves a size open; a positive one does not."""
    _, operators = tools
    what = [m.what for m in operators.mutants("skmtl/area.py", "def flat(M):\n    return M.reshape(-1, 2)[-1]\n")]
    assert what == [
        "M.reshape(-1, 2)  ->  M.reshape(+1, 2)",
        "M.reshape(-1, 2)  ->  M.reshape(-1, 3)",
        "M.reshape(-1, 2)[-1]  ->  M.reshape(-1, 2)[+1]",
        "-1  ->  -2  (2)",
    ]


def test_mistakes_are_made_in_functions_that_are_there(tools, tmp_path, monkeypatch):
    """Inside of a function, and of one within it, at once; in a value by default only by a new import."""
    import judging

    _, operators = tools
    source = (
        "def area(a, b=3):\n    def times(c):\n        return a * c\n    return times(b)\n\n\n"
        "class Box:\n    @property\n    def side(self):\n        return 2 + 3\n\n"
        "    def __init__(self):\n        super().__init__()\n"
    )
    (tmp_path / "boxes.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    boxes = pytest.importorskip("boxes")
    made = {}
    for mutant in operators.mutants("boxes.py", source):
        codes = boxes.area.__code__, boxes.Box.side.fget.__code__
        made[mutant.what] = judging.change_function(mutant, tmp_path), boxes.area(6), boxes.Box().side
        boxes.area.__code__, boxes.Box.side.fget.__code__ = codes
    assert made["a * c  ->  a / c"] == (True, 2.0, 5)
    assert made["2 + 3  ->  2 - 3"] == (True, 18, -1)
    assert made["3  ->  4"] == (False, 18, 5)
    assert made["super().__init__()  ->  None"] == (False, 18, 5)
    assert all(result != (True, 18, 5) for result in made.values())
