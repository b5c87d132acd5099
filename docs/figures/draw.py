#!/usr/bin/env python3
"""Draws the figures of the handouts that show no run of a kernel (those are stills of traces): `draw.py` writes them beside itself.

Lines and letters are currentColor, fills are tints that read on light and on dark, and each has its text alternative. Where a
drawing is a file of its own, no page gives it a colour, and it takes the one for light or dark.
"""

from html import escape
from pathlib import Path

BLUE, ORANGE, GREY = "#3b82c4", "#d2781e", "#8a8f98"
FONT = 'font-family="system-ui, sans-serif"'
ALONE = "<style>svg:root { color: #1b1f24 } @media screen and (prefers-color-scheme: dark) { svg:root { color: #e6eaee } }</style>"


class Drawing:
    def __init__(self, width: int, height: int, title: str, description: str):
        self.head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
                     f'style="max-width: {width}px; width: 100%" {FONT} font-size="12" fill="currentColor">\n'
                     f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n{ALONE}\n")  # fmt: skip
        self.parts: list[str] = []

    def text(self, x: float, y: float, words: str, size: int = 12, anchor: str = "start", bold: bool = False) -> None:
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{weight}>{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, fill: str = "", opacity: float = 0.25, dashed: bool = False) -> None:
        colour = f'fill="{fill}" fill-opacity="{opacity:g}"' if fill else 'fill="none"'
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2" {colour} stroke="currentColor"{dash}/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = "currentColor") -> None:
        self.parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}"/>')

    def svg(self) -> str:
        return self.head + "\n".join(self.parts) + "\n</svg>\n"


# The handouts' drawings are as wide as a telephone shows: laid out once, they need neither scrolling nor a second layout.
WIDE = 350
LANE = 22  # pixels from one lane, or bank, to the next, of which 16 make a line


def threads() -> Drawing:
    d = Drawing(WIDE, 318, "Grid, blocks, warps, threads",
                "A launch starts a grid. The grid is many blocks of equal size. A block of 256 threads is cut into 8 warps. "
                "A warp is 32 lanes, one thread in each, and all lanes go through the program together.")  # fmt: skip
    d.text(0, 14, "A grid: all blocks of one launch", bold=True)
    for i in range(8):
        d.box(1 + i * 44, 22, 40, 30, BLUE, 0.5 if i == 2 else 0.15)
        d.text(21 + i * 44, 41, f"block {i}" if i < 7 else "...", size=10, anchor="middle")
    d.line(89, 52, 1, 76), d.line(129, 52, 349, 76)
    d.text(0, 90, "A block of 256 threads: 8 warps,", bold=True)
    d.text(0, 106, "which can wait for each other", bold=True)
    for i in range(8):
        d.box(1 + i * 44, 114, 40, 30, ORANGE, 0.5 if i == 3 else 0.15)
        d.text(21 + i * 44, 133, f"warp {i}", size=10, anchor="middle")
    d.line(133, 144, 1, 168), d.line(173, 144, 349, 168)
    d.text(0, 182, "A warp: 32 lanes, which take each step together", bold=True)
    for i in range(32):
        x, y = 1 + i % 16 * LANE, 190 + i // 16 * 28
        d.box(x, y, 18, 24, BLUE, 0.3)
        d.text(x + 9, y + 16, str(i), size=10, anchor="middle")
    d.text(0, 264, "Lane 0 of warp 3 in block 2 is threadIdx.x = 96.")
    d.text(0, 280, "In the whole grid it is number")
    d.text(0, 296, "blockIdx.x * blockDim.x + threadIdx.x")
    d.text(0, 312, "= 2 * 256 + 96 = 608.")
    return d


def devices() -> Drawing:
    d = Drawing(WIDE, 262, "Four devices, each with a shard",
                "An array is shared out among four devices. Each adds up its shard in its own memory, which leaves one sum per device. "
                "The sums of devices 1, 2 and 3 go over the links to device 0, where they are added up.")  # fmt: skip
    d.text(0, 14, "The array, shared out: each device adds up", bold=True)
    d.text(0, 30, "what is in its own memory", bold=True)
    for k in range(4):
        x = 1 + k * 88
        d.box(x, 40, 80, 130, GREY, 0.12)
        d.text(x + 8, 58, f"device {k}", bold=True)
        for i in range(4):
            d.box(x + 8 + i * 16, 66, 14, 22, BLUE, 0.3)
        for line, words in enumerate((f"shard {k}:", "billions of", "elements")):
            d.text(x + 8, 102 + 12 * line, words, size=10)
        d.box(x + 8, 134, 50, 26, ORANGE, 0.45)
        d.text(x + 33, 151, f"sum {k}", anchor="middle")
    for k in range(1, 4):
        y = 170 + 14 * k
        d.line(k * 88 + 34, 160, k * 88 + 34, y, ORANGE), d.line(k * 88 + 34, y, 14 + 10 * k, y, ORANGE)
        d.line(14 + 10 * k, y, 14 + 10 * k, 160, ORANGE)
    d.text(0, 238, "Over the links goes one number per device. When it")
    d.text(0, 254, "may be read, and who sees it, is what this lab is about.")
    return d


def memory() -> Drawing:
    d = Drawing(WIDE, 180, "Three kinds of memory",
                "Registers belong to one thread and take no time to reach. Shared memory belongs to one block, lies on the chip, and "
                "takes tens of cycles. Global memory belongs to all, lies beside the chip, and takes hundreds of cycles.")  # fmt: skip
    rows = [("Registers: one thread's own", "at once", 75, BLUE), ("Shared memory: one block's, on the chip", "tens of cycles", 175, ORANGE),
            ("Global memory: everyone's, beside the chip", "hundreds of cycles", WIDE - 2, GREY)]  # fmt: skip
    for i, (name, how_long, width, colour) in enumerate(rows):
        y = i * 60
        d.text(0, y + 14, name, bold=True)
        d.box(1, y + 22, width, 26, colour, 0.35)
        d.text(10, y + 39, how_long)
    return d


def sectors() -> Drawing:
    d = Drawing(WIDE, 288, "What a warp's request touches",
                "Above: 32 lanes read 32 neighbouring floats, which fill 4 sectors of 32 bytes. Below: lanes read every eighth float, "
                "so each lane touches a sector of its own, 32 in all, and an eighth of each is used.")  # fmt: skip

    def request(y: float, words: str, used: int) -> None:
        """Four sectors of eight floats, of which one in `used` is read."""
        for i in range(32):
            read = i % used == 0
            d.box(5 + i // 8 % 2 * 172 + i % 8 * 20.7, y + 4 + i // 16 * 50, 16, 20, BLUE if read else GREY, 0.55 if read else 0.12)
        for s in range(4):
            x, top = 1 + s % 2 * 172, y + s // 2 * 50
            d.box(x, top, 169.5, 28)
            d.text(x + 84, top + 42, words.format(s), size=11, anchor="middle")

    d.text(0, 14, "Neighbours: 32 floats in 4 sectors.", bold=True)
    d.text(0, 30, "All that is fetched is used.", bold=True)
    request(38, "sector {0}", 1)
    d.text(0, 162, "Eight apart: one float in each of 32 sectors", bold=True)
    d.text(0, 178, "(4 of them drawn). An eighth is used.", bold=True)
    request(186, "sector {0}, for lane {0}", 8)
    return d


def banks() -> Drawing:
    d = Drawing(WIDE, 276, "Banks of shared memory",
                "Shared memory has 32 banks; word i lies in bank i modulo 32. When lanes read words 0, 2, 4 and so on to 62, lane 0 and "
                "lane 16 meet in bank 0, lane 1 and lane 17 in bank 2, and so on: two passes. Half the banks stand idle.")  # fmt: skip
    d.text(0, 14, "32 banks (grey). Word i lies in bank i % 32.", bold=True)
    d.text(0, 34, "A stride of 2: lane i reads word 2 * i. Lanes 0 to 15")
    d.text(0, 50, "and lanes 16 to 31 (orange) meet in the same 16 banks.")
    for bank in range(32):
        x, y = 1 + bank % 16 * LANE, 62 + bank // 16 * 92
        d.box(x, y, 18, 20, GREY, 0.15)
        d.text(x + 9, y + 14, str(bank), size=10, anchor="middle")
        for lane in (bank // 2, bank // 2 + 16) if bank % 2 == 0 else ():
            below = y + (26 if lane < 16 else 50)
            d.box(x, below, 18, 20, ORANGE, 0.5)
            d.text(x + 9, below + 14, str(lane), size=10, anchor="middle")
    d.text(0, 254, "The request takes two passes.")
    d.text(0, 270, "The second pass is a bank conflict.")
    return d


def launch() -> Drawing:
    d = Drawing(700, 404, "The life of a launch",
                "From the program's launch through the layers runtime, fatbin, ptx and machine, of which the middle two work once per kernel. "
                "From the machine two ways lead on: each operation's counters become counts beside source lines, and each access and "
                "barrier goes to the checker, which finds hazards. Both end in the report, which lab, kit and notebook read.")  # fmt: skip

    def stage(x: float, y: float, width: float, name: str, colour: str, *words: str) -> None:
        d.box(x, y, width, 20 + 16 * len(words), colour, 0.3)
        d.text(x + 8, y + 15, name, bold=True)
        for at, line in enumerate(words):
            d.text(x + 8, y + 31 + 16 * at, line)

    def down(x: float, y1: float, y2: float) -> None:
        d.line(x, y1, x, y2), d.line(x - 4, y2 - 6, x, y2), d.line(x + 4, y2 - 6, x, y2)

    stage(0, 4, 334, "the program, compiled by nvcc", GREY, "kernel<<<grid, block>>>(...): cudaLaunchKernel")
    down(167, 40, 58)
    stage(0, 58, 334, "runtime", BLUE, "which kernel? are grid, block and shared memory", "within the limits? which stream's turn is it?")
    down(167, 110, 214)
    stage(366, 58, 334, "fatbin", BLUE, "the PTX out of the program")
    down(533, 94, 112)
    stage(366, 112, 334, "ptx", BLUE, "text to functions and instructions; where paths", "reconverge; which source line each belongs to")
    d.line(334, 84, 366, 76)
    d.text(392, 178, "once per kernel", size=11)
    d.line(533, 164, 533, 200), d.line(533, 200, 260, 200)
    down(260, 200, 214)
    stage(0, 214, 700, "machine", ORANGE,
          "decoder: each instruction to one operation. Grid: blocks on the cores of the host, in any order.",
          "Block: its warps in turn, until all have left. Warp: one operation after the other, 32 lanes at a time.")  # fmt: skip
    down(167, 266, 296)
    d.text(177, 286, "each operation's counters", size=11)
    down(533, 266, 296)
    d.text(543, 286, "each access, barrier, fence", size=11)
    stage(0, 296, 334, "watch: counters", ORANGE, "added up by source line and by launch")
    stage(366, 296, 334, "watch: checker", ORANGE, "ordered by a barrier? written before? allowed?")
    down(167, 332, 354)
    down(533, 332, 354)
    stage(
        0,
        354,
        700,
        "the report",
        GREY,
        "counts beside lines, hazards with both their lines: for a verdict, ./kit profile, ./kit emulate, a notebook",
    )
    return d


FIGURES = {"launch": launch, "threads": threads, "memory": memory, "sectors": sectors, "banks": banks,
           "devices": devices}  # fmt: skip


def main() -> None:
    for name, draw in FIGURES.items():
        Path(__file__).with_name(f"{name}.svg").write_text(draw().svg())


if __name__ == "__main__":
    main()
