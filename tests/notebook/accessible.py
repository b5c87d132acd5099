"""Whether pages can be read by everyone, as far as axe can tell: light and dark, wide and on a telephone."""

import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import support

WIDTHS = (1280, 390)
# A picture is one thing with a name; its thousands of cells would take minutes. A frame is looked at as a page of its own.
WITHOUT_CELLS = """() => document.querySelectorAll("svg > :not(title, desc), iframe").forEach(each => each.remove())"""
OVERLAPS = """() => [...document.querySelectorAll("th.number")].some((number, index, all) => index > 0 &&
    all[index - 1].getBoundingClientRect().bottom > number.getBoundingClientRect().bottom)"""


def problems(pages: list[Path], browser) -> list[str]:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        print("no axe for Python: how accessible the pages are was not looked at")
        return []
    axe, found = Axe(), []
    page = browser.new_page()
    for path in pages:
        page.goto(path.as_uri())
        page.evaluate(WITHOUT_CELLS)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                # What is not about colours is the same in both.
                options = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
                for violation in axe.run(page, options=options).response["violations"]:
                    where = violation["nodes"][0]
                    found.append(f"{path.name} at {width}, {scheme}: {violation['id']}, {len(violation['nodes'])} times, first "
                                 f"{where['target']}: {' '.join(where['failureSummary'].split())}")  # fmt: skip
            if page.evaluate(OVERLAPS):
                found.append(f"{path.name} at {width}: the number of a line overlaps the next")
    page.close()
    return found


def other_pages(site: Path, folder: Path) -> list[Path]:
    """A trace, which is a page inside a handout; a profile; and a student's feedback."""
    frame = re.search(r' srcdoc="([^"]*)"', (site / "handouts" / "02_tree.html").read_text())
    pages = {"trace": unescape(frame[1]), "profile": profile(), "feedback": feedback()}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return [folder / f"{name}.html" for name in pages]


def profile() -> str:
    from kit.profile import annotate, page

    source = support.ROOT / "docs" / "examples" / "neighbours.cu"
    counted = {"executions": 2, "warp_instructions": 10, "thread_instructions": 310, "global_load_requests": 2, "global_load_sectors": 8}
    lines = [{"file": str(source), "line": line, **counted} for line in (5, 7, 10, 17, 20)]  # with an empty one between
    launch = {"kernel": "neighbours", "grid": [1, 1, 1], "block": [64, 1, 1], "lines": lines,
              "counters": {"warp_instructions": 50, "thread_instructions": 1550, "blocks": 1}}  # fmt: skip
    hazard = {"kind": "race-shared", "message": "m", "file": str(source), "line": 10, "why": "w.", "advice": "a."}
    report = {"launches": [launch], "hazards": [hazard]}
    run = SimpleNamespace(rung="neighbours", verdict=("hazard: m", "red"), size=", n = 64", placeless_hazards=[])
    return page.page("example", [(run, annotate.kernels(report))])


def feedback() -> str:
    from classroom.course import config, roster
    from classroom.feedback import pages
    from classroom.marking import marks
    from kit import states

    source = (support.ROOT / "labs" / "02_tree" / "tree.cu").read_text()
    hazard = {"kind": "race-shared", "message": "m", "file": "tree.cu", "line": 40, "why": "w.", "advice": "a.", "read": "docs"}
    detail = {
        "diagnosis": {"kind": "k", "text": "A diagnosis."},
        "hazards": [hazard],
        "busiest": {"n": 64, "lines": {"40": {"barriers": 1}}},
    }
    rungs = [marks.RungMark(f"rung_{state.name}", state.name, "a reason", 0, 1, detail=detail) for state in states.STATES]
    mark = marks.Mark(roster.Student("eve", "Eve"), "02_tree", 9, 3.0, "graded", "a remark", rungs, days_late=1, comments=["A comment."])
    return pages.feedback(config.Course(), [mark], {"02_tree": source})
