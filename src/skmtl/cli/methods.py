"""``skmtl methods``: the table of penalties."""

from typing import Annotated

import typer

from skmtl.cli.console import methods_markdown, show_table


def methods(
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
) -> None:
    """List the methods: name, reference and penalty."""
    from skmtl.penalties import PENALTIES

    if markdown:
        print(methods_markdown())
    else:
        show_table(["name", "reference", "R(A)"], ([p.name, p.reference, p.tex] for p in PENALTIES.values()))
