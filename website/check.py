"""`python website/check.py build/site`: every link of the built site leads somewhere, nothing is loaded from elsewhere.

Pages, files and anchors within the site are followed. Links to other sites are only listed (`--external`): whether
they answer is not for a build to depend on.
"""

from __future__ import annotations

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src")}
_FOLLOWED = {("a", "href"), *_LOADED}
_NEVER_LOADED = {"canonical", "prev", "next", "alternate", "edit"}
_CSS_URL = re.compile(r"url\((?!data:|#)[\"']?(https?:)?//")


class Page(NamedTuple):
    """What a page links to, what it loads, and the anchors that it has."""

    links: list[str]
    loaded: list[str]
    anchors: set[str]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page([], [], set())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.page.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        for name, value in given.items():
            if value and (tag, name) in _FOLLOWED:
                self.page.links.append(value)
                if (tag, name) in _LOADED and given.get("rel") not in _NEVER_LOADED:
                    self.page.loaded.append(value)


def read(path: Path) -> Page:
    """The links and anchors of one file."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def problems(site: Path) -> list[str]:
    """Every broken link of a site, and everything that it would load from another host, in words."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site).as_posix()
        broken = (link for link in page.links if not _leads_somewhere(link, path, site, pages))
        found += [f"{where}: {link} leads nowhere" for link in broken]
        found += [f"{where}: {link} is loaded from another host" for link in page.loaded if urlsplit(link).netloc]
    for style in sorted(site.rglob("*.css")):
        if _CSS_URL.search(style.read_text(encoding="utf-8")):
            found.append(f"{style.relative_to(site).as_posix()}: something is loaded from another host")
    return found


def _leads_somewhere(link: str, path: Path, site: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = _target(unquote(parts.path), path, site)
    if target is None:
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].anchors


def _target(place: str, path: Path, site: Path) -> Path | None:
    """The file that an address means, if it is there."""
    if not place:
        return path
    target = (site / place.lstrip("/") if place.startswith("/") else path.parent / place).resolve()
    target = target / "index.html" if target.is_dir() else target
    return target if target.is_file() else None


def main() -> int:
    """Print what is wrong; the exit status is 1 if anything is."""
    asked = argparse.ArgumentParser(description="check the links of the built site")
    asked.add_argument("site", type=Path, help="where the site was built")
    asked.add_argument("--external", action="store_true", help="list the links to other sites")
    arguments = asked.parse_args()
    site = arguments.site.resolve()
    pages = list(site.rglob("*.html"))
    if arguments.external:
        print("\n".join(sorted({link for page in pages for link in read(page).links if urlsplit(link).netloc})))
    found = problems(site)
    print("\n".join(found) or f"{len(pages)} pages, every link leads somewhere, nothing is loaded from another host")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
