"""The first page's cards, one per handout: its question (from the handout itself), what is learned, how long it takes, a picture.

Run as a program it draws the pictures anew, from traces, and the front page's animation with them: python3 docs/cards.py (it builds the
labs, and needs no GPU)."""

import re
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURES = HERE / "figures" / "cards"

FRONT = ("02_tree", "sequential")  # whose animation README.md and the front page show

# By handout: what is learned; how long a first reader takes, in minutes; and whose trace the picture is (lab, rung, step). A
# handout that has no row gets a card with its question alone.
CARDS = {
    "00_start": ("threads, warps, blocks, memory, and how this course counts", 30, None),
    "01_naive_atomic": ("atomics, coalescing, and why many threads can be slow", 30, ("01_naive_atomic", "naive_atomic", 1)),
    "02_tree": ("shared memory, barriers, divergence, bank conflicts", 120, ("02_tree", "sequential", 3)),
    "03_warp_unroll": ("what a warp may do without a barrier, and what it may not", 60, ("03_warp_unroll", "unroll_last_warp", 3)),
    "04_shuffle": ("values from register to register", 60, ("04_shuffle", "warp_shuffle", 2)),
    "05_grid_stride": ("a grid that fits the machine, loads in flight", 90, ("05_grid_stride", "grid_stride_tree", 2)),
    "06_operators": ("associativity, identities, templates", 45, ("06_operators", "max", 2)),
    "07_precision": ("rounding, error bounds, the same bits on every run", 60, ("07_precision", "tree_float", 2)),
    "08_hazards": ("reading a verdict and finding the line", 120, ("08_hazards", "missing_barrier", 3)),
    "09_speed_of_light": ("wide loads, one wave of blocks, the last block; beat the library", 120, ("09_speed_of_light", "last_block", 2)),
    "10_opencl": ("what carries over to other makers' devices", 60, ("02_tree", "in_place_sequential", 2)),
    "11_row_sums": ("choosing who works on what, by the shape of the data", 60, ("11_row_sums", "warp_per_row", 1)),
    "12_many_gpus": ("streams, events, access between GPUs, NCCL, MPI", 120, None),
    "13_softmax": ("two reductions as one, rows kept on the chip, clusters, bulk copies, tensor cores", 180, ("13_softmax", "online", 1)),
}


def question(handout: Path) -> tuple[str, str]:
    """The handout's title, and the first paragraph below it."""
    title, rest = re.search(r"^# (.+?)\n\n(.+?)\n\n", handout.read_text(), re.MULTILINE | re.DOTALL).groups()
    return title, " ".join(rest.split())


def plain(text: str) -> str:
    return re.sub(r"[*_`]", "", text)


def minutes(count: int) -> str:
    return f"{count} minutes" if count < 60 else "1 hour" if count == 60 else f"{count / 60:g} hours"


def html() -> str:
    cards = []
    for path in sorted((HERE / "handouts").glob("[0-9][0-9]_*.md")):
        title, asked = question(path)
        picture = more = ""
        if path.stem in CARDS:
            learned, time, _ = CARDS[path.stem]
            # Beside a title that says it all, a picture that cannot be read aloud is decoration.
            picture = f'<img src="_static/{path.stem}.svg" alt="" loading="lazy">'
            more = f"<small>You learn {escape(learned)}. About {minutes(time)}.</small>"
        cards.append(
            f'<a class="card" href="handouts/{path.stem}.html">{picture}<strong>{escape(plain(title))}</strong>'
            f"<span>{escape(plain(asked))}</span>{more}</a>"
        )
    return '\n```{raw} html\n<div class="cards">\n' + "\n".join(cards) + "\n</div>\n```\n"


def on_a_ground(drawing: str) -> str:
    """A handout's drawing on a ground like that of the others, which are stills of traces."""
    from kit.trace.drawing import COLOURS

    width, height = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawing).groups()
    ground = f'<style>{COLOURS}</style>\n<rect width="{width}" height="{height}" fill="var(--ground)"/>'
    return drawing.replace("</desc>", f"</desc>\n{ground}", 1)


def draw() -> None:
    import sys
    from argparse import Namespace

    sys.path.insert(0, str(HERE.parent / "common"))
    from kit.errors import KitError
    from kit.programs import folder, labs
    from kit.trace import animation, record

    for stem, figure in (("00_start", "threads"), ("12_many_gpus", "devices")):
        (PICTURES / f"{stem}.svg").write_text(on_a_ground((HERE / "figures" / f"{figure}.svg").read_text()))
    build = folder.prepare()
    for stem, (_, _, whose) in CARDS.items():
        if whose is None:
            continue
        name, rung, number = whose
        # The bugs are the student's own copy: the solved one has none.
        lab = labs.named(labs.find(build, solved=name != "08_hazards"), name)
        labs.compile(build, [lab])
        try:
            traced = record.record(lab, rung, Namespace(n=None, block="32", rows=None, block_index=0))
        except KitError:  # it takes no block as small
            traced = record.record(lab, rung, Namespace(n=None, block=None, rows=None, block_index=0))
        steps = record.steps_of(traced, 0)
        step = next((each for each in steps if each.races), steps[min(number, len(steps)) - 1])
        (PICTURES / f"{stem}.svg").write_text(animation.still(step, columns=16))
        if whose[:2] == FRONT:
            (PICTURES.parent / "tree.svg").write_text(animation.animate(steps, "Lab 02, sequential: one block of a tree, step by step"))


if __name__ == "__main__":
    draw()
