"""Names that the documents mention exist, and links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCES = "\n".join(path.read_text() for path in ROOT.glob("src/skmtl/**/*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_functions_named_beside_formulas_exist():
    names = re.findall(r"`([\w.]+)`", (ROOT / "docs" / "math.md").read_text())
    checked = 0
    for name in names:
        last = name.split(".")[-1]
        if "." in name and last != "py":
            assert re.search(rf"(def|class) {last}\b", SOURCES), name
            checked += 1
    assert checked > 10
