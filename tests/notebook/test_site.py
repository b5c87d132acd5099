"""Builds the instructor's edition of the site as `./kit docs` does, which executes the handouts on the solutions; judges what their cells
show, follows the links, and looks at the pages in a browser where there is one."""

import io
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import support

support.use_python_with("sphinx", "myst_nb", "furo", "matplotlib", "ipykernel")

import accessible  # noqa: E402
import executed  # noqa: E402
import nbformat  # noqa: E402
from docutils import nodes, utils  # noqa: E402
from kit.handouts import links  # noqa: E402
from kit.setup import system  # noqa: E402

LEAST_LETTER = 7.5  # pixels
# With the trace, the profile and the feedback these are ten pages, one or more of each kind.
CHECKED = ["index.html", "handouts/00_start.html", "handouts/02_tree.html", "handouts/08_hazards.html", "handouts/09_speed_of_light.html",
           "reference/report.html", "results/many_gpus.html"]  # fmt: skip


def build(folder: Path) -> Path:
    out = folder / "site"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-t", "instructor", "-b", "html"]
    command += ["-d", str(folder / "trees"), str(support.ROOT / "docs"), str(out)]
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.exit(f"FAILED: Sphinx\n{result.stdout}")
    return out


def executed_handouts(folder: Path) -> list[str]:
    """Of the notebooks that Sphinx executed and left there."""
    found, shown = [], 0
    paths = sorted((folder / "jupyter_execute" / "handouts").glob("*.ipynb"))
    if [path.stem for path in paths] != sorted(path.stem for path in executed.HANDOUTS.glob("*.md")):
        return [f"of the handouts, Sphinx left these: {', '.join(path.stem for path in paths)}"]
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        found += [f"{path.stem}: {problem}" for problem in executed.problems(path.stem, notebook, solved=True, not_built=sys.argv[2:])]
        shown += len(executed.given_away(notebook))
    if shown < 50:
        found.append(f"of the solutions' lines, {shown} were seen, so on the stubs none would be")
    return found


def stale_counts() -> list[str]:
    """The counts that an edition without solutions shows in the first handout are those of the solved lab."""
    import warpfold
    from warpfold import own_rungs

    counted = warpfold.open("01_naive_atomic").solved.counters("naive_atomic", n=1000)["naive_atomic"]
    shipped = own_rungs.counts_of("01_naive_atomic", "naive_atomic", 1000)
    return [] if shipped == counted else [f"docs/results/first_counts.json has {shipped}, but the solved lab counts {counted}"]


class Tags(set):
    """As Sphinx gives them to conf.py."""

    has = set.__contains__


def linked() -> str:
    """A verdict's link to another notebook, as the site has it; the solutions' verdicts have none."""
    document = utils.new_document("")
    document += nodes.raw("", '<a href="00_start.md#Bank-conflicts">', format="html")
    runpy.run_path(str(support.ROOT / "docs" / "conf.py"), {"tags": Tags()})["link_pages"](None, document, "")
    return document.astext()


def look(site: Path, browser) -> list[str]:
    """Every page in light and dark, wide and at 390 pixels: no error on the console, nothing wider than the page."""
    problems = []
    for width, scheme in ((1280, "light"), (390, "dark")):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        for path in sorted(site.rglob("*.html")):
            said.clear()
            page.goto(path.as_uri())
            name = f"{path.relative_to(site)} at {width}"
            problems += [f"{name}: {text}" for text in said]
            if page.evaluate("document.documentElement.scrollWidth") > width:
                problems.append(f"{name}: wider than the window")
        context.close()
    return problems


def step(site: Path, browser) -> list[str]:
    """The plot is there, and the trace moves by button and by key; on paper it is one step."""
    page = browser.new_page()
    page.goto((site / "handouts" / "02_tree.html").as_uri())
    problems = [] if page.locator("figure svg[aria-label*='what the rungs cost']").count() else ["02_tree: no plot"]
    frame = page.frame_locator("iframe").first
    frame.get_by_role("button", name="Forward").click()
    if "Step 2" not in frame.locator("body").inner_text():
        problems.append("02_tree: the button does not step forward")
    frame.locator("body").press("ArrowLeft")
    if "Step 1" not in frame.locator("body").inner_text():
        problems.append("02_tree: the left arrow does not step back")
    page.emulate_media(media="print")
    if page.locator("iframe:visible, footer:visible").count() or not page.locator(".warpfold-printed svg:visible").count():
        problems.append("02_tree: on paper, the trace is not one whole step, or the page's foot is printed")
    return problems


def readable(site: Path, browser) -> list[str]:
    """On a telephone, the letters of every picture of a handout are large enough to be read."""
    page = browser.new_page(viewport={"width": 390, "height": 900})
    problems = []
    for path in sorted((site / "handouts").glob("*.html")):
        page.goto(path.as_uri())
        small = page.evaluate("""() => [...document.querySelectorAll(".cell_output svg text")].filter(text => text.checkVisibility())
            .map(text => [text.getScreenCTM().a * parseFloat(getComputedStyle(text).fontSize), text.textContent]).sort((a, b) => a[0] - b[0])[0]""")
        if small and small[0] < LEAST_LETTER:
            problems.append(f"{path.name} at 390: '{small[1]}' is {small[0]:.1f} pixels high")
    page.close()
    return problems


def files_readable(site: Path, browser) -> list[str]:
    """The same of drawings that are files, each of which has one scale. A card's picture is decoration."""
    page, drawing, problems = browser.new_page(viewport={"width": 390, "height": 900}), browser.new_page(), []
    for path in (site / "index.html", *sorted((site / "reference").glob("*.html")), *sorted((site / "results").glob("*.html"))):
        page.goto(path.as_uri())
        shown = page.evaluate("""() => [...document.querySelectorAll("img[src$='.svg']:not(.card img)")].filter(image => image.checkVisibility())
            .map(image => [image.src, image.getBoundingClientRect().width])""")
        for source, width in shown:
            drawing.goto(source)
            letter = drawing.evaluate("""() => Math.min(...[...document.querySelectorAll("text")].map(text => parseFloat(getComputedStyle(text).fontSize)))
                / document.documentElement.viewBox.baseVal.width""")
            if letter * width < LEAST_LETTER:
                problems.append(f"{path.name} at 390: the letters of {source.rpartition('/')[2]} are {letter * width:.1f} pixels high")
    page.close()
    drawing.close()
    return problems


def follow(site: Path, browser) -> list[str]:
    """Drawings that are files are dark on a dark page, whether its reader or the reader's system asked for that."""
    from matplotlib.image import imread

    page, problems = browser.new_page(), []
    page.goto((site / "index.html").as_uri())
    for system_s, chosen in (("light", "auto"), ("dark", "auto"), ("light", "dark"), ("dark", "light")):
        page.emulate_media(color_scheme=system_s)
        page.evaluate("chosen => document.body.dataset.theme = chosen", chosen)
        dark = (system_s if chosen == "auto" else chosen) == "dark"
        for drawing in ("img[src*=tree]", "img[src*='00_start']", "img[src*='02_tree']", "img[src*=ladder]"):
            bright = imread(io.BytesIO(page.locator(drawing).first.screenshot()), format="png")[..., :3].mean() > 0.5
            if bright == dark:
                problems.append(
                    f"index: {drawing} is {'bright' if bright else 'dark'} where the system is {system_s} and the page is {chosen}"
                )
    page.close()
    return problems


def main() -> int:
    os.environ |= {"PYTHONPATH": str(support.PACKAGE), "WARPFOLD_SOLVED": "1", "WARPFOLD_BUILD": sys.argv[1]}
    with tempfile.TemporaryDirectory() as folder:
        site = build(Path(folder))
        page = site / "handouts" / "linked.html"
        page.write_text(linked())
        problems = links.check(site) + executed_handouts(Path(folder)) + stale_counts()
        page.unlink()
        program = system.find_browser()
        try:
            from playwright.sync_api import sync_playwright
        except ImportError:
            program = None
        if program:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else [])
                problems += look(site, browser) + step(site, browser) + readable(site, browser)
                problems += files_readable(site, browser) + follow(site, browser)
                problems += accessible.problems([*(site / name for name in CHECKED), *accessible.other_pages(site, Path(folder))], browser)
                browser.close()
        else:
            print("no browser, or no Playwright for Python: the pages were not looked at")
    print(*(f"FAILED: {problem}" for problem in problems), sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
