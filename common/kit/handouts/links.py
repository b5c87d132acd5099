"""Checks that the links of a built site lead somewhere, and that it loads nothing from elsewhere."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
NOT_LOADED = {"canonical", "next", "prev", "search", "index"}  # of <link rel>


class Page(HTMLParser):
    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []  # the target, and whether the browser loads it by itself
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list) -> None:
        known = dict(attributes)
        self.anchors.update(known[key] for key in ("id", "name") if known.get(key))
        for key in ("href", "src"):
            if known.get(key) is not None:
                loaded = (tag, key) in LOADED and known.get("rel") not in NOT_LOADED
                self.links.append((known[key], loaded))

    handle_startendtag = handle_starttag


def check(site: Path) -> list[str]:
    """One sentence for each broken link. Links to other sites are allowed; loading from them is not."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        for target, loaded in page.links:
            if problem := wrong(path, target, loaded, pages):
                problems.append(f"{path.relative_to(site.resolve())}: {target}: {problem}")
    return problems


def wrong(path: Path, target: str, loaded: bool, pages: dict[Path, Page]) -> str:
    parts = urlsplit(target)
    if parts.scheme in ("http", "https") or parts.netloc:
        return "is loaded from elsewhere" if loaded else ""
    if parts.scheme:  # mailto, data, javascript
        return ""
    place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if place.is_dir():
        place = place / "index.html"
    if not place.exists():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and place in pages and anchor not in pages[place].anchors and anchor != "top":
        return "the page has no such anchor"
    return ""
