"""Tables and the picture of a run."""


def render(rows, picture=None):
    return ""
