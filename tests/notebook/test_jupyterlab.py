"""A handout in JupyterLab, in a real browser: it opens as a notebook with nothing in front, runs, and when saved keeps its bytes."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import support

support.use_python_with("jupyterlab", "jupytext", "ipykernel", "playwright")

from kit.handouts import notebooks  # noqa: E402
from kit.setup import system  # noqa: E402
from kit.trace import page as trace_page  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from warpfold import traces  # noqa: E402

sys.path.append(str(support.ROOT / "tests" / "kit"))
import test_trace  # noqa: E402

PATIENCE = 120  # seconds, on a machine that has other work too


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def serve(root: Path, port: int, token: str) -> subprocess.Popen:
    """As `./kit notebook` starts it, but for the folder, and without this user's settings and open tabs."""
    notebooks.SETTINGS = root / "jupyter"
    own = {name: str(root / "own") for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")}
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={root}",
        f"--port={port}",
        "--no-browser",
        "--allow-root",
        *notebooks.ARGUMENTS,
    ]
    return subprocess.Popen(command, env=notebooks.surroundings() | own | {"JUPYTER_TOKEN": token}, cwd=root, stderr=subprocess.DEVNULL)


def wait_for(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.2)
    sys.exit("FAILED: JupyterLab does not start")


def use(page, address: str, handout: Path) -> list[str]:
    before = handout.read_bytes()
    page.goto(address)
    page.get_by_text("(ipykernel) | Idle").wait_for()  # before that a key may be lost
    page.wait_for_timeout(2000)  # JupyterLab asks for the kernel's language only now
    problems = []
    if page.locator(".lm-TabBar-tab.jp-mod-dirty").count():
        problems.append("the notebook is unsaved before anything was written")
    cell = page.locator(".jp-Notebook .jp-CodeCell").first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-InputPrompt", has_text="[1]").wait_for()
    if page.locator(".jp-Dialog:visible, .Toastify__toast:visible").count():
        problems.append("something stands in front of the notebook")
    opened = handout.stat().st_mtime_ns
    page.keyboard.press("Control+s")
    end = time.monotonic() + PATIENCE
    while handout.stat().st_mtime_ns == opened and time.monotonic() < end:
        page.wait_for_timeout(100)
    if handout.stat().st_mtime_ns == opened:
        problems.append("nothing was saved")
    written = time.monotonic() + 5  # the new time stands there before the last byte
    while handout.read_bytes() != before and time.monotonic() < written:
        page.wait_for_timeout(100)
    if handout.read_bytes() != before:
        problems.append(f"{handout.name} changed when it was saved")
    return problems


def cells_of_kernels(page, address: str) -> list[str]:
    """A cell that begins with %%lab is C++: its keywords and comments are told apart as C++ has them."""
    page.goto(address)
    page.get_by_text("(ipykernel) | Idle").wait_for()
    cell = page.locator(".jp-Notebook .jp-CodeCell", has_text="%%lab naive_atomic").first
    cell.scroll_into_view_if_needed()
    try:
        # A comment with two slashes is none in Python.
        page.wait_for_function("""() => [...document.querySelectorAll('.jp-CodeCell')].some(cell => cell.textContent.includes('%%lab naive_atomic')
            && [...cell.querySelectorAll('.cm-line span')].some(span => span.textContent.startsWith('// your')))""")
    except Exception:
        return ["a cell with %%lab is not shown as C++"]
    if not cell.locator(".cm-lineNumbers").count():
        return ["the lines of a cell are not numbered"]
    return []


def frame_of_a_trace(page) -> list[str]:
    """It is as tall as its page, at each step and each width: it ends at no heading."""
    found = test_trace.steps(*test_trace.tree_step(3, 32), test_trace.barrier(4), *test_trace.tree_step(3, 16))
    traced = test_trace.rungs.Run(SimpleNamespace(name="02_tree"), "sequential", {"state": "pass"}, {})
    html = traces.Frame(trace_page.page(traced, found, 0), "a trace", "")._repr_mimebundle_()["text/html"]
    problems = []
    for width in (1000, 500):
        page.set_viewport_size({"width": width, "height": 700})
        page.set_content(html)
        page.frame_locator("iframe").locator("#counter", has_text="1 of 2").wait_for()
        for _ in found:
            tall, needed, last = page.evaluate("""() => {
                const frame = document.querySelector("iframe"), inside = frame.contentDocument;
                return [frame.clientHeight, inside.documentElement.scrollHeight, inside.querySelector("main").getBoundingClientRect().bottom];
            }""")
            if tall < needed or last > tall:
                problems.append(f"the frame of a trace is {tall} pixels tall, its page {needed}, at {width} pixels")
            page.frame_locator("iframe").locator("#forward").click(force=True, no_wait_after=True)
        if picture := os.environ.get("WARPFOLD_PICTURES"):
            page.screenshot(path=f"{picture}/frame{width}.png", full_page=True)
    return problems


def main() -> int:
    program = system.find_browser()
    if not program:
        print("SKIP: no browser")
        return support.SKIP
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        handouts = Path(shutil.copytree(support.ROOT / "docs" / "handouts", root / "docs" / "handouts"))
        port, token = free_port(), secrets.token_hex()
        server = serve(root, port, token)
        try:
            wait_for(port)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else [])
                page = browser.new_page()
                page.set_default_timeout(1000 * PATIENCE)
                address = f"http://localhost:{port}/lab/tree/docs/handouts/00_start.md?token={token}"
                problems = use(page, address, handouts / "00_start.md")
                problems += cells_of_kernels(page, address.replace("00_start", "01_naive_atomic"))
                problems += frame_of_a_trace(browser.new_page())
                if folder_for_pictures := os.environ.get("WARPFOLD_PICTURES"):
                    page.screenshot(path=f"{folder_for_pictures}/jupyterlab.png")
                browser.close()
        finally:
            server.terminate()
            server.wait()
    print(*(f"FAILED: {problem}" for problem in problems), sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
