"""Where cells of tables may break: names between their words, numbers with their error or interval not at all."""

import re

from docutils import nodes

# Wider tables keep every break that they can get: what does not fit has to be scrolled to.
WIDEST_WITH_WHOLE_NUMBERS = 9
# Shorter names, such as report.html, stay whole.
SHORTEST_TO_BREAK = 16


def keep_numbers_whole(app, doctree, name):
    """``0.63 ± 0.02`` and ``[-0.04, +0.36]`` stay on one line."""
    for table in doctree.findall(nodes.tgroup):
        if int(table["cols"]) > WIDEST_WITH_WHOLE_NUMBERS:
            continue
        texts = [text for entry in table.findall(nodes.entry) for text in entry.findall(nodes.Text)]
        for text in texts:
            whole = re.sub(r"(?<=\d) ± (?=\d)", "\xa0±\xa0", text)
            whole = re.sub(r"(\[[-+.\d]+,) ([-+.\d]+\])", "\\1\xa0\\2", whole)
            if whole != text:
                text.parent.replace(text, nodes.Text(whole))


def break_names(app, page, template, context, doctree):
    """Code in cells breaks after marks and between words: ``solvers.design.KernelDesign``, not ``KernelDesig n``."""
    if "body" in context:
        context["body"] = re.sub(r"<t[dh]\b.*?</t[dh]>", break_cell, context["body"], flags=re.DOTALL)


def break_cell(cell):
    return re.sub(r'(<span class="pre">)(.*?)(</span>)', break_name, cell[0])


def break_name(span):
    if len(span[2]) < SHORTEST_TO_BREAK:
        return span[0]
    # Not within an entity, such as &lt;, which has none of these marks and no capital.
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\w_)(?=[a-z])|(?<=[./(=,])(?=\w)", "<wbr>", span[2])
    return span[1] + name + span[3]


def setup(app):
    app.connect("doctree-resolved", keep_numbers_whole)
    app.connect("html-page-context", break_names)
    return {"parallel_read_safe": True}
