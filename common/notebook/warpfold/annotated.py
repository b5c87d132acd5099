"""The annotated source in a notebook: the kit's profile, as a table that takes its colours from the page around it."""

from html import escape
from pathlib import Path

from .verdict import explanation

STYLE = """<style>
.warpfold-profile { overflow-x: auto; margin: 0.4em 0; }
.warpfold-profile table { border-collapse: collapse; font-size: 0.85em; font-variant-numeric: tabular-nums; width: 100%; }
.warpfold-profile table { table-layout: auto; }
.warpfold-profile caption { text-align: left; padding: 0.3em 0; }
.warpfold-profile th, .warpfold-profile td { padding: 0.05em 0.3em; text-align: right; vertical-align: top; border: 0; }
.warpfold-profile td { white-space: nowrap; }
.warpfold-profile th { white-space: normal; vertical-align: bottom; font-size: 0.85em; }
.warpfold-profile th[title] { cursor: help; }
.warpfold-profile .hot { display: block; font-weight: 700; }
.warpfold-profile td.code { text-align: left; white-space: pre-wrap; overflow-wrap: break-word; font-family: monospace; width: 100%; min-width: 16em;
  padding-left: 2.5em; text-indent: -2em; }
.warpfold-profile tr.idle td.code { opacity: 0.65; }
.warpfold-profile tr.hazard td { text-align: left; white-space: normal; border-left: 4px solid #d6423a; padding-left: 0.8em; }
</style>"""


class Annotated:
    def __init__(self, runs: list, still_open: list[str], folder: Path):
        from kit.profile import annotate

        self.still_open = still_open
        self.profiled = [(run, annotate.kernels(run.report, folder)) for run in runs]

    def lines(self, rung: str) -> list:
        """The counted lines of a rung's kernels: .number, .source, .counters, .values."""
        return [
            line for run, kernels in self.profiled if run.rung == rung
            for kernel in kernels for part in kernel.excerpts for line in part.lines if line and line.counters
        ]  # fmt: skip

    def todo(self) -> str:
        return f"Still to be filled in: {', '.join(self.still_open)}." if self.still_open else ""

    def __str__(self) -> str:
        text = []
        for run, kernels in self.profiled:
            text.append(f"{run.rung}: {run.result['state']}")
            for kernel in kernels:
                columns, rows = table(kernel)
                text.append(f"{kernel.name}, {kernel.shape}")
                widths = [max(8, len(column.title)) for column in columns] + [5]
                if rows:
                    text.append(
                        "  ".join(f"{title:>{w}}" for title, w in zip([*(column.title for column in columns), "line"], widths, strict=True))
                    )
                text += ["  ".join([*(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True)), source]) for cells, source, _ in rows]
        return "\n".join([*text, self.todo()]).strip()

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        parts = [STYLE, '<div class="warpfold-profile" tabindex="0" role="group" aria-label="Counts beside each line">']
        for run, kernels in self.profiled:
            for kernel in kernels:
                parts.append(html_table(kernel, f"{run.rung} ({run.result['state']})"))
        if self.still_open:
            parts.append(f'<p data-open="{escape(" ".join(self.still_open))}">{escape(self.todo())}</p>')
        return "\n".join([*parts, "</div>"])


def table(kernel) -> tuple[list, list[tuple[list[str], str, object]]]:
    """The columns of counts, and for each line of source its cells (the last is its number), its text, and the line itself (None: lines left out)."""
    from kit.profile import annotate

    columns = annotate.used_columns(kernel)
    rows = []
    for part in kernel.excerpts:
        for line in part.lines:
            if line is None:
                rows.append(([""] * (len(columns) + 2), "...", None))
                continue
            share = f"{100 * line.share:.0f}%" if line.counters else ""
            values = [line.values.get(column.key) for column in columns]
            cells = ["" if value is None else column.text(value) for column, value in zip(columns, values, strict=True)]
            rows.append(([share, *cells, str(line.number)], line.source, line))
    return [annotate.SHARE, *columns], rows


def html_table(kernel, rung: str) -> str:
    columns, rows = table(kernel)
    launched = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    head = "".join(f'<th scope="col" title="{escape(column.meaning)}">{escape(column.title)}</th>' for column in columns)
    body = "\n".join(html_row(cells, source, line, len(columns) + 2) for cells, source, line in rows)
    caption = f"<strong>{escape(rung)}</strong> <code>{escape(kernel.name)}</code>, {launched}, {escape(kernel.shape)}"
    return f'<table><caption>{caption}</caption><thead><tr>{head}<th scope="col">line</th><th scope="col" style="text-align:left">source</th></tr></thead><tbody>\n{body}\n</tbody></table>'


def html_row(cells: list[str], source: str, line, span: int) -> str:
    kind, heat, hot = "idle", "", ""
    if line is not None and line.counters:
        kind, heat = "counted", f' style="background: rgba(224, 130, 30, {0.55 * line.share:.3f})"'
        if line.hottest:
            hot = '<span class="hot">hottest</span>'
    shown = "".join(f"<td>{escape(cell)}{hot if index == 0 else ''}</td>" for index, cell in enumerate(cells))
    row = f'<tr class="{kind}"{heat}>{shown}<td class="code">{escape(source)}</td></tr>'
    for hazard in getattr(line, "hazards", None) or []:
        sentence = f"{hazard['message']}. {explanation(hazard)}"
        row += f'<tr class="hazard"><td colspan="{span}"><strong>{escape(hazard["kind"])}</strong>: {escape(sentence)}</td></tr>'
    return row
