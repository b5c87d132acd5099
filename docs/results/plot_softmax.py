#!/usr/bin/env python3
"""Write the tables of softmax.md and the picture softmax.svg from softmax_h200.json and softmax_h100.json, which tests/gpu/softmax.py
measured."""

import json
import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PAGE, PICTURE = HERE / "softmax.md", HERE / "softmax.svg"
RUNGS = ["three_reads", "online", "kept", "cluster", "bulk_copies", "longest_rows"]
OTHERS = ["torch softmax", "compiled softmax"]
NORMS = ["rms_norm", "torch rms_norm", "compiled rms_norm"]


def cell(row: dict, name: str) -> str:
    """Terabytes per second, and the quartiles' distance in percent."""
    if name not in row:
        return ""
    low, middle, high = row[name]["us"]
    return f"{row[name]['TB/s']:.2f} ± {50 * (high - low) / middle:.1f} %"


def table(rows: dict, names: list[str]) -> str:
    names = ["copy", *(name for name in names if any(name in row for row in rows.values()))]
    lines = ["| columns | " + " | ".join(f"`{name}`" if name in [*RUNGS, "rms_norm"] else name for name in names) + " |",
             "|---" * (len(names) + 1) + "|"]  # fmt: skip
    for columns, row in rows.items():
        lines.append(f"| 2^{int(columns).bit_length() - 1} | " + " | ".join(cell(row, name) for name in names) + " |")
    return "\n".join(lines)


def draw(tables: dict) -> None:
    plt.rcParams["svg.hashsalt"] = "warpfold"
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    for axis, (dtype, rows) in zip(axes, tables.items(), strict=True):
        for number, name in enumerate(["copy", *RUNGS, *OTHERS]):
            at = [(int(columns), row[name]["TB/s"]) for columns, row in rows.items() if name in row]
            style = "--" if name in OTHERS else ":" if name == "copy" else "-"
            if at:
                axis.plot(*zip(*at, strict=True), style, marker=".", color=f"C{number}", label=name)
        axis.set_xscale("log", base=2)
        axis.set_title(dtype)
        axis.set_xlabel("columns")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("TB/s, each element read once and written once")
    axes[0].set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=9, fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})


def fill(device: str, heading: str) -> dict:
    """Puts a device's tables between its marks in the page; returns them."""
    tables = json.loads((HERE / f"softmax_{device}.json").read_text())["tables"]
    parts = []
    for dtype, rows in tables.items():
        parts += [f"{heading} {dtype}", table(rows, [*RUNGS, *OTHERS]), table(rows, NORMS)]
    made = "\n\n".join(parts)
    marks = rf"(<!-- tables of {device} -->\n).*?(\n<!-- /tables of {device} -->)"
    PAGE.write_text(re.sub(marks, lambda m: f"{m[1]}\n{made}\n{m[2]}", PAGE.read_text(), flags=re.DOTALL))
    return tables


def main() -> None:
    draw(fill("h200", "##"))
    fill("h100", "###")


if __name__ == "__main__":
    main()
