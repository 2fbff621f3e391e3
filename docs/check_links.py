"""Every link of the built site leads to a page, a file or a heading that is there: python docs/check_links.py FOLDER.

Links to other sites are not followed: builds need no network.
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The targets and the links of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


read = cache(Page)


def broken(path, link):
    """Whether a link of a page leads nowhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return True
    return bool(parts.fragment) and target.suffix == ".html" and unquote(parts.fragment) not in read(target).ids


def main(folder):
    pages = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    links = [(path, link) for path in pages for link in read(path).links]
    found = [f"{path.relative_to(folder)}: {link}" for path, link in links if broken(path, link)]
    print(f"{len(pages)} pages, {len(links)} links, {len(found)} of them broken", *found, sep="\n")
    return 1 if found or not links else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
