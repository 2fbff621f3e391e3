"""What the pages take from the code itself: tables of penalties, losses and kernels, the commands, the house.

Written into ``docs/generated`` before Sphinx reads the sources, and included there where a page wants it.
"""

import re
import tomllib
from html import escape
from inspect import signature
from pathlib import Path

import typer

from skmtl.cli import make_app
from skmtl.features import KERNELS
from skmtl.losses import LOSSES
from skmtl.penalties import PENALTIES

ROOT = Path(__file__).parents[2]


def table(header, rows):
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def in_cell(tex):
    r"""A formula in a cell of a table, where a bar would end it: ``\|`` and ``|`` have longer names too.

    Its conditions are formulas of their own, so that a narrow cell can break between them.
    """
    parts = re.split(r",\s*\\;\s*", tex.replace(r"\|", r"\Vert ").replace("|", r"\vert "))
    return ", ".join(f"${part}$" for part in parts)


def link(cls):
    return f"{{py:obj}}`{cls.name} <{cls.__module__.rsplit('.', 1)[0]}.{cls.__name__}>`"


def penalty_table():
    rows = [[link(p), in_cell(p.tex), parameters(p), p.reference] for p in PENALTIES.values()]
    return table(["name", "$R(A)$", "parameters", "reference"], rows)


def parameters(cls):
    return ", ".join(f"`{name}`" for name in signature(cls).parameters) or "none"


def loss_table():
    marks = [
        (loss, "yes" if loss.for_regression else "", "yes" if loss.for_classification else "")
        for loss in LOSSES.values()
    ]
    rows = [
        [link(loss), in_cell(loss.tex), numbers, classes, "yes" if loss.gives_probabilities else ""]
        for loss, numbers, classes in marks
    ]
    return table(["name", "$V(y, f)$", "numbers", "classes", "probabilities"], rows)


def kernel_table():
    def row(name, facts):
        words = [", ".join(f"`{p}`" for p in facts.parameters), facts.distances is not None, facts.sparse_rows]
        return [f"`{name}`", words[0], *("yes" if word else "" for word in words[1:])]

    header = ["name", "parameters", "width searched", "sparse rows"]
    return table(header, [row(name, facts) for name, facts in KERNELS.items()])


# Commands -------------------------------------------------------------------------------------------------------------


def commands_page():
    """Every command with its options, for the site and for the manual page."""
    app = typer.main.get_command(make_app())
    parts = ["# Commands\n", f"{app.help}\n", "    skmtl COMMAND --help\n"]
    parts += [command_section(name, command) for name, command in app.commands.items() if not command.hidden]
    return "\n".join(parts)


def command_section(name, command):
    shown = [p for p in command.params if p.help and not p.hidden]
    usage = " ".join(["skmtl", name, *(word(p) for p in shown if p.required)])
    panels = dict.fromkeys(p.rich_help_panel for p in shown)
    parts = [f"## skmtl {name}\n", f"{command.help}\n", f"    {usage}\n"]
    for panel in panels:
        parts += [f"### {panel}\n"] if panel else []
        parts += [entry(p) for p in shown if p.rich_help_panel == panel]
    return "\n".join(parts)


def word(parameter):
    """An argument, or an option with what it takes."""
    names = "/".join([*parameter.opts[:1], *parameter.secondary_opts]) if parameter.opts[0].startswith("-") else ""
    takes = "" if names and parameter.is_flag else parameter.metavar or "NUMBER"
    return f"{names} {takes}".strip()


def entry(parameter):
    """A term and its description, as MyST's definition lists write them."""
    said = " ".join(str(parameter.help).replace("\\[", "[").split())
    plain = parameter.default not in (None, "", False) and parameter.show_default and "[default" not in said
    default = f" [default: {parameter.default}]" if plain else ""
    return f"`{word(parameter)}`\n: {said}{default}\n"


# The house ------------------------------------------------------------------------------------------------------------

FLOOR, WIDTH, LEFT = 44, 860, 150
ROAD = [
    ("clean", "what the user passed, checked and named"),
    ("Training", "labels standardized, rows decomposed, once for a whole grid"),
    ("solve", "predictors, structure, proof"),
    ("publish", "fitted attributes, in the user's units"),
]


def floors():
    """(name, modules, what happens there) of each floor: import-linter's contract in the words of CONTRIBUTING.md."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    # python -m skmtl is a door, not a floor.
    layers = [layer for layer in layers if layer != ["__main__"]]
    rows = re.findall(r"^\| ([\w ,]+) \| (`.+?`) \| (.+?) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    told = {re.findall(r"\w+", modules)[0]: (name, words) for name, modules, words in rows}
    return [(told[layer[0]][0], layer, told[layer[0]][1]) for layer in layers]


def house():
    """The layers as a drawing, highest first, and under it the road of ``fit``."""
    shapes, y = [], 4
    for name, modules, words in floors():
        shapes += [
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 4}" height="{FLOOR - 6}" rx="4"/>',
            f'<text x="{LEFT - 12}" y="{y + 24}" text-anchor="end">{escape(name)}</text>',
            f'<text x="{LEFT + 14}" y="{y + 17}">{escape(", ".join(modules))}</text>',
            f'<text class="small" x="{LEFT + 14}" y="{y + 33}">{escape(words)}</text>',
        ]
        y += FLOOR
    top, y = 4, y + 26
    shapes.append(f'<path d="M {WIDTH - 18} {top + 12} V {y - 44}" marker-end="url(#down)"/>')
    shapes.append(f'<text class="small" x="{WIDTH - 26}" y="{top + 24}" text-anchor="end">imports point down</text>')
    shapes.append(f'<text x="{LEFT - 12}" y="{y + 24}" text-anchor="end">the road of fit</text>')
    for i, (station, words) in enumerate(ROAD):
        shapes += [
            f'<rect class="road" x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 4}" height="{FLOOR - 10}" rx="4"/>',
            f'<text x="{LEFT + 14}" y="{y + 22}">{station}</text>',
            f'<text class="small" x="{LEFT + 110}" y="{y + 22}">{words}</text>',
        ]
        if i < len(ROAD) - 1:
            shapes.append(f'<path d="M {LEFT + 40} {y + FLOOR - 10} v 10" marker-end="url(#down)"/>')
        y += FLOOR + 2
    arrow = (
        '<defs><marker id="down" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M 0 0 L 10 5 L 0 10"/></marker></defs>'
    )
    label = "The layers of the package, highest first, and the four stations of fit."
    return (
        f'<div class="house-frame"><svg class="house" viewBox="0 0 {WIDTH} {y}" role="img" aria-label="{label}">'
        f"{arrow}{''.join(shapes)}</svg></div>\n"
    )


PAGES = {
    "generated/penalties.inc": penalty_table,
    "generated/losses.inc": loss_table,
    "generated/kernels.inc": kernel_table,
    "generated/house.inc": house,
    "commands.md": commands_page,
}


def write_pages(app):
    """Write what has changed, so that Sphinx reads again no more than it must."""
    for name, make in PAGES.items():
        path, text = Path(app.srcdir) / name, make()
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def give_title(app, name, source):
    """Tables that experiments wrote have no title of their own: they are made to be pasted into another page."""
    if re.fullmatch(r"reproduction/[\w-]+/table", name):
        source[0] = f"# Tables: {name.split('/')[1]}\n\n" + source[0].replace("\n###", "\n##")


def add_others(app, name, source):
    """Pages in the folder that no list names stand at the end of the evidence, so that none can be forgotten."""
    if name == "evidence":
        folder = Path(app.srcdir)
        lists = "\n".join((folder / f"{page}.md").read_text() for page in ("index", "mathematics", "evidence"))
        known = {"index", *re.findall(r"^[\w-]+$", lists, re.MULTILINE)}
        others = sorted(path.stem for path in folder.glob("*.md") if path.stem not in known)
        source[0] = source[0].replace("reproduction/README\n", "\n".join(["reproduction/README", *others, ""]), 1)


def setup(app):
    app.connect("source-read", add_others)
    app.connect("source-read", give_title)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
