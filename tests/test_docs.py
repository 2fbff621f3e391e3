"""The documents: links lead somewhere, names and files that they mention exist, equations are found in the code."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import skmtl

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# Pages that speak of the inside, for people who change it.
INSIDE = ["docs/math.md", "CONTRIBUTING.md"]
# Names of other libraries that these pages mention.
FOREIGN = {"KernelRidge", "BaseEstimator"}


def listed(found):
    return "\n" + "\n".join(found)


def source(path):
    """What a page of the site is made from: examples, and code, for pages that are there only once it is built."""
    place = path.resolve().relative_to(ROOT).as_posix()
    made = re.sub(r"^docs/gallery/(\w+)/(plot_\w+)\.rst$", r"examples/\1/\2.py", place)
    made = {"docs/gallery/index.rst": "examples", "docs/commands.md": "docs/_ext/generated_pages.py"}.get(made, made)
    return ROOT / made


def test_links_lead_somewhere():
    links = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())]
    files = [(page, target) for page, target in links if not target.startswith("https://")]
    assert len(files) > 20
    broken = [f"{page.name}: {target}" for page, target in files if not source(page.parent / target).exists()]
    assert not broken, listed(broken)


# Names ----------------------------------------------------------------------------------------------------------------


def modules():
    names = ["skmtl", *(module.name for module in pkgutil.walk_packages(skmtl.__path__, "skmtl."))]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


MODULES = modules()


def has(owner, name):
    """Whether an object has an attribute; a class also if its instances do, by annotation."""
    classes = inspect.getmro(owner) if inspect.isclass(owner) else ()
    return hasattr(owner, name) or any(name in inspect.get_annotations(cls) for cls in classes)


def leads(start, rest):
    """Whether a path of attributes leads from an object to something."""
    if not rest:
        return True
    return has(start, rest[0]) and leads(getattr(start, rest[0], None), rest[1:])


def exists(name):
    """Whether a dotted name leads from the package, or from any of its modules, to something."""
    parts = name.split(".")
    return any(leads(module, parts) or (module.__name__.split(".")[-1] == parts[0] and leads(module, parts[1:]))
               for module in MODULES)  # fmt: skip


def mentioned(text):
    """What stands in backticks, with the number of its line."""
    for number, line in enumerate(text.splitlines(), start=1):
        for code in re.findall(r"`([^`]+)`", line):
            yield number, code


def is_file(code):
    return re.fullmatch(r"[\w./-]+\.(py|toml|md|cff|txt|rst)|[\w-]+/([\w-]+/)*", code) is not None


def is_name(code):
    """A dotted name, a class, or a function with its parentheses: words that stand for something in the code."""
    return re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+|_?[A-Z]+[a-z]\w*", code.split("(")[0]) is not None


@pytest.mark.parametrize("page", INSIDE)
def test_names_in_the_documents_exist(page):
    """``module.name``, ``Class.method`` and ``Class`` in backticks."""
    found = [(number, code.split("(")[0]) for number, code in mentioned((ROOT / page).read_text()) if is_name(code)]
    found = [(number, name) for number, name in found if not is_file(name) and name not in FOREIGN]
    assert len(found) > 5
    stale = [f"{page}:{number} names `{name}`, which src/ does not have" for number, name in found if not exists(name)]
    assert not stale, listed(stale)


@pytest.mark.parametrize("page", INSIDE)
def test_files_in_the_documents_exist(page):
    """Files and folders in backticks, from the root or from the package."""
    found = [(number, code) for number, code in mentioned((ROOT / page).read_text()) if is_file(code)]
    # The one that a reader is about to write.
    found = [(number, code) for number, code in found if code != "penalties/yours.py"]
    places = (ROOT, ROOT / "src" / "skmtl", ROOT / "docs")
    gone = [f"{page}:{number} {code}" for number, code in found if not any((place / code).exists() for place in places)]
    assert not gone, listed(gone)


def test_the_laws_of_names_see_what_they_forbid():
    assert is_name("solvers.solve")
    assert is_name("StructurePenalty")
    assert not is_name("alpha")
    assert exists("solvers.solve")
    assert exists("StructurePenalty.minimize")
    assert exists("penalties.base.StructurePenalty")
    assert not exists("solvers.salve")
    assert not exists("StructurePenalty.minimise")
    assert not exists("Salver")


# Equations ------------------------------------------------------------------------------------------------------------

TAG = re.compile(r"\(SKMTL eqs?\. ([\d, and]+)\)")


def tags():
    """Equation -> files that mention it."""
    found = {}
    for path in ROOT.glob("src/skmtl/**/*.py"):
        for numbers in TAG.findall(path.read_text()):
            for number in re.findall(r"\d+", numbers):
                found.setdefault(int(number), set()).add(path.relative_to(ROOT).as_posix())
    return found


def equations_on_the_page():
    """Numbers of the rows in the table of the paper's equations: | (4) | ... |."""
    return [
        int(number) for number in re.findall(r"^\| \((\d+)\) \|", (ROOT / "docs/math.md").read_text(), re.MULTILINE)
    ]


def test_equations_in_the_code_are_on_the_page():
    """A comment ``(SKMTL eq. n)`` in src/ has a row in docs/math.md."""
    page = equations_on_the_page()
    assert len(page) == len(set(page)) > 5
    lost = [f"(SKMTL eq. {n}) stands in {', '.join(sorted(files))}" for n, files in tags().items() if n not in page]
    assert not lost, listed(lost)


def test_equations_on_the_page_are_in_the_code():
    """A row in docs/math.md has a comment ``(SKMTL eq. n)`` where the equation is computed."""
    lost = [f"no comment (SKMTL eq. {n}) in src/" for n in equations_on_the_page() if n not in tags()]
    assert not lost, listed(lost)
