"""Laws of the source itself: objects keep their privates, say what they can, and words have one spelling."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.glob("src/skmtl/**/*.py"))}

# What an object of another library, or one that the user passes, may be asked for, and what its presence says.
DUCK_TYPING = {
    "__dask_graph__": "the protocol by which Dask's collections are known, without importing Dask",
    "to_dask_array": "Dask's data frames have it, Dask's arrays do not",
    "columns": "a data frame, of pandas or another library",
    "index": "a data frame or series, of pandas or another library",
    "name": "a series, of pandas or another library",
    "shape": "lists have none",
    "tolist": "arrays and numbers of NumPy",
    "split": "a splitter of scikit-learn",
    "predict": "an estimator in the sense of scikit-learn that predicts",
    "feature_names_in_": "scikit-learn sets it only where the columns of X had names",
}


def listed(path, found):
    return "\n" + "\n".join(f"{path}:{place}" for place in found)


def attributes(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]


def calls_of(tree, *names):
    """Calls of built-in functions."""
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [node for node in called if node.func.id in names]


def imported(tree):
    """Names that an import binds: modules, mostly."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name.split(".")[0] for node in imports for alias in node.names}


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def is_own(owner, modules):
    """Whether a private attribute of this expression is the object's own, or a module's."""
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name):
        return owner.func.id in ("super", "type")
    return isinstance(owner, ast.Name) and (owner.id in ("self", "cls", "other") or owner.id in modules)


def foreign_privates(source):
    """Private attributes of other objects that are read or set, by their name or by getattr and setattr."""
    tree = ast.parse(source)
    modules = imported(tree)
    touched = [(node, node.value, node.attr) for node in attributes(tree)]
    for call in calls_of(tree, "getattr", "setattr", "delattr", "hasattr"):
        if len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
            touched.append((call, call.args[0], str(call.args[1].value)))
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node, owner, name in touched
        if is_private(name) and not is_own(owner, modules)
    ]


def namespaces(source):
    """Places that reach into the namespace of an object or of a function."""
    tree = ast.parse(source)
    found = [node for node in attributes(tree) if node.attr == "__dict__"]
    # vars(module) is a look-up by name; vars(object) is its __dict__.
    found += [call for call in calls_of(tree, "vars") if "sys.modules" not in ast.unparse(call)]
    found += calls_of(tree, "locals", "globals")
    return [f"{node.lineno}: {ast.unparse(node)}" for node in found]


def guesses(source):
    """Capabilities that are guessed from the presence of an attribute: hasattr, and getattr with a default."""
    found = []
    for call in calls_of(ast.parse(source), "hasattr", "getattr"):
        asked = call.args[1].value if isinstance(call.args[1], ast.Constant) else None
        if (call.func.id == "hasattr" or len(call.args) == 3) and asked not in DUCK_TYPING:
            found.append(f"{call.lineno}: {ast.unparse(call)}")
    return found


@pytest.mark.parametrize("path", SOURCES)
def test_privates_stay_at_home(path):
    assert not (found := foreign_privates(SOURCES[path])), listed(path, found)


@pytest.mark.parametrize("path", SOURCES)
def test_namespaces_are_not_used_as_tables(path):
    assert not (found := namespaces(SOURCES[path])), listed(path, found)


@pytest.mark.parametrize("path", SOURCES)
def test_capabilities_are_declared(path):
    """Ours say what they can: a class attribute with a default in the base class, or a method of the contract."""
    assert not (found := guesses(SOURCES[path])), listed(path, found)


@pytest.mark.parametrize(
    ("find", "wrong", "right"),
    [
        (foreign_privates, "model._rows = 1", "self._rows = cls._rows = 1"),
        (foreign_privates, "search.model._rows", "self.model.rows"),
        (foreign_privates, "setattr(model, '_rows', 1)", "setattr(self, '_rows', 1)"),
        (foreign_privates, "make()._rows", "super()._rows"),
        (namespaces, "self.__dict__.update(a=1)", "self.a = 1"),
        (namespaces, "store(self, locals())", "store(self, a=1)"),
        (namespaces, "vars(model).items()", "model.get_params().items()"),
        (guesses, "hasattr(penalty, 'mu')", "penalty.path_parameter"),
        (guesses, "getattr(loss, 'relaxed', None)", "getattr(loss, name)"),
        (guesses, "hasattr(X, name)", "hasattr(X, 'columns')"),
    ],
)
def test_the_laws_see_what_they_forbid(find, wrong, right):
    assert len(find(wrong)) == 1
    assert find(right) == []


def test_no_exception_outlives_its_use():
    trees = [ast.parse(source) for source in SOURCES.values()]
    asked = {ast.unparse(call.args[1]).strip("'") for tree in trees for call in calls_of(tree, "hasattr", "getattr")}
    assert set(DUCK_TYPING) <= asked


# Spelling -------------------------------------------------------------------------------------------------------------

# A word in -ise, -ising, -isation and so on has a z here, unless its stem is one of those that have none anywhere.
ENDING = re.compile(r"([a-z]+)is(?:e[ds]?|ers?|ing|ations?|able)")
WITHOUT_Z = re.compile(
    "adv|ar|compr|comprom|conc|cru|d|dev|disgu|elementw|entryw|exerc|expert|likew|no|otherw|p|pairw|piecew|pra|prec|"
    "prem|prom|r|ra|rev|roww|stepw|(un)?superv|surpr|w"
)
WORDS = re.compile(r"[A-Za-z][a-z]+")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.py", "benchmarks/**/*.py", "src/skmtl/**/*.html")
    for path in sorted(ROOT.glob(pattern))
}


def is_british(word):
    ending = ENDING.fullmatch(word.lower())
    return ending is not None and WITHOUT_Z.fullmatch(ending[1]) is None


def british(text):
    return [
        f"{number}: {word}"
        for number, line in enumerate(text.splitlines(), start=1)
        for word in WORDS.findall(line)
        if is_british(word)
    ]


@pytest.mark.parametrize("path", [*SOURCES, *PAGES])
def test_one_spelling(path):
    """-ize, as NumPy, SciPy and scikit-learn have it."""
    assert not (found := british({**SOURCES, **PAGES}[path])), listed(path, found)


def test_the_law_of_spelling_sees_what_it_forbids():
    wrong = "minimise _standardised unpenalised regularisation Normaliser summarise() make_initialiser recognising"
    assert len(british(wrong)) == len(wrong.split())
    assert (
        british("minimize precise otherwise noise rise promises raises unsupervised is_wise disable basis list") == []
    )
