"""What MkDocs is told beyond mkdocs.yml: generated pages, the home page, and links as a site has them."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent.parent
sys.path[:0] = [str(HOME), str(Path(__file__).parent)]

import mermaid  # noqa: E402
import pages  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402

from matchwood.bench import page_with_charts  # noqa: E402

ROOT_PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md"}
"""Files of the repository's root that are pages of the site."""
GENERATED = {"reference/commands.md": pages.commands, "reference/options.md": pages.engine_options}

_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_BLOCK = re.compile(r"^```(\w+) ([\w.-]+)$", re.MULTILINE)
_CODE_LINK = re.compile(r"(?<!\[)`docs/([\w-]+)\.md`(?!\])")
_FILE_LINK = re.compile(r"\[([\w-]+)\.md\]\(([\w./-]+\.md)")
_ROOT_LINK = re.compile(r"\]\(docs/")
_TABLE_CODE = re.compile(r"(?<=[|`(, ])`[^`\n]*\\\|[^`\n]*`")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages; home.md is the front page, since index.md describes `Index`."""
    for place, write in GENERATED.items():
        files.append(File.generated(config, place, content=write()))
    for place, name in ROOT_PAGES.items():
        text = (HOME / name).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=_ROOT_LINK.sub("](", text)))
    _moved(files.get_file_from_path("index.md"), "the-index", "the-index/index.html")
    _moved(files.get_file_from_path("home.md"), "index", "index.html")
    return files


def _moved(file: Any, name: str, place: str) -> None:
    """Give a page another address; MkDocs takes the one named `index` at the top for the front page."""
    file.name = name
    file.dest_uri = place


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn what reads well in a checkout into what reads well on the site."""
    here = posixpath.dirname(page.file.src_uri)
    markdown = page_with_charts(markdown, HOME / "docs" / "figures")
    markdown = _MERMAID.sub(lambda found: mermaid.drawn(found[1]), markdown)
    markdown = _FILE_BLOCK.sub(r'```\1 title="\2"', markdown)
    markdown = _TABLE_CODE.sub(lambda code: code[0].replace("\\|", "|"), markdown)
    markdown = _CODE_LINK.sub(lambda found: _link(f"{found[1]}.md", here, files), markdown)
    return _FILE_LINK.sub(lambda found: f"[{_title(posixpath.join(here, found[2]), files)}]({found[2]}", markdown)


def _link(place: str, here: str, files: Any) -> str:
    return f"[{_title(place, files)}]({posixpath.relpath(place, here or '.')})"


def _title(place: str, files: Any) -> str:
    """The first heading of a page."""
    file = files.get_file_from_path(posixpath.normpath(place))
    found = _TITLE.search(file.content_string) if file else None
    return found[1] if found else place
