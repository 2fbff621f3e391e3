"""``skmtl methods``: the table of penalties."""

from typing import Annotated, Any

from skmtl.cli.console import show_table
from skmtl.penalties import PENALTIES


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    @app.command()
    def methods(
        markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
    ) -> None:
        """List the methods: name, reference and penalty."""
        print(methods_markdown()) if markdown else show_methods()


def show_methods() -> None:
    """Print the table of penalties."""
    show_table(["name", "reference", "R(A)"], ([p.name, p.reference, p.tex] for p in PENALTIES.values()))


def methods_markdown() -> str:
    """The table of penalties for README.md."""
    rows = [f"| `{p.name}` | {p.reference} | $`{_github_tex(p.tex)}`$ |" for p in PENALTIES.values()]
    return "\n".join(["| name | reference | R(A) |", "| --- | --- | --- |", *rows])


def _github_tex(tex: str) -> str:
    # A bar would end the cell of the table, and GitHub does not draw \operatorname.
    for old, new in ((r"\|", r"\Vert "), ("|", r"\vert "), (r"\operatorname{", r"\mathrm{")):
        tex = tex.replace(old, new)
    return tex
