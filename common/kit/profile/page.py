"""The annotated source as one self-contained HTML page."""

from ..process import relative
from ..templates import escape, style, template
from .annotate import COLUMNS, SHARE, Excerpt, Kernel, Line, used_columns


def page(lab: str, profiled: list) -> str:
    used = {column.key for _, kernels in profiled for kernel in kernels for column in used_columns(kernel)}
    key = "\n".join(f"<dt>{escape(c.title)}</dt><dd>{escape(c.meaning)}</dd>" for c in [SHARE, *COLUMNS] if c.key in {SHARE.key, *used})
    return template("profile.html").substitute(
        title=escape(f"{lab}, line by line"), style=style(), key=key,
        contents=contents([each.rung for each, _ in profiled]),
        rungs="\n".join(section(each, kernels) for each, kernels in profiled),
    )  # fmt: skip


def contents(rungs: list[str]) -> str:
    if len(rungs) < 2:
        return ""
    links = ", ".join(f'<a href="#{escape(rung)}">{escape(rung)}</a>' for rung in rungs)
    return f'<nav aria-label="Rungs"><p>Rungs: {links}. <a href="#key">What the columns count</a>.</p></nav>'


def section(each, kernels: list[Kernel]) -> str:
    text, colour = each.verdict
    mark = ' class="bad"' if colour == "red" else ""
    parts = [f'<section aria-labelledby="{escape(each.rung)}">', f'<h2 id="{escape(each.rung)}">{escape(each.rung)}</h2>']
    parts.append(f"<p><span{mark}>{escape(text)}</span>{escape(each.size)}</p>")
    parts += [f'<p class="bad">{escape(hazard["kind"])}: {escape(hazard["message"])}</p>' for hazard in each.placeless_hazards]
    parts += [tables(kernel) for kernel in kernels]
    return "\n".join([*parts, "</section>"])


def tables(kernel: Kernel) -> str:
    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    columns = used_columns(kernel)
    return "\n".join(table(kernel, f"{launches}, {kernel.shape}", part, columns) for part in kernel.excerpts)


def table(kernel: Kernel, launched: str, part: Excerpt, columns: list) -> str:
    heads = "".join(f'<th scope="col" title="{escape(column.meaning)}">{escape(column.title)}</th>' for column in [SHARE, *columns])
    caption = f"<code>{escape(kernel.name)}</code>, {escape(launched)}. {escape(relative(part.file))}"
    rows = "\n".join(row(line, columns, part) for line in part.lines)
    return (
        f"<table><caption>{caption}</caption>\n<thead><tr>{heads}"
        f'<th scope="col">line</th><th scope="col" class="code">source</th></tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    )


def row(line: Line | None, columns: list, part: Excerpt) -> str:
    span = len(columns) + 3
    if line is None:
        return f'<tr class="fold"><td colspan="{span}">...</td></tr>'
    number = f'<th scope="row" class="number">{line.number}</th><td class="code">{escape(line.source)}</td>'
    notes = "".join(f'<tr class="hazard"><td colspan="{span}">{hazard_text(each, line, part)}</td></tr>' for each in line.hazards)
    if not line.counters:
        return f'<tr class="idle"><td class="count"></td>{"<td class=count></td>" * len(columns)}{number}</tr>{notes}'
    hot = ' <span class="hot">hottest</span>' if line.hottest else ""
    share = f'<td class="count share" data-title="{SHARE.title}">{100 * line.share:.0f}%{hot}</td>'
    cells = "".join(count_cell(line, column) for column in columns)
    return f'<tr class="counted" style="--share:{line.share:.3f}">{share}{cells}{number}</tr>{notes}'


def count_cell(line: Line, column) -> str:
    value = line.values.get(column.key)
    text = "" if value is None else column.text(value)
    return f'<td class="count" data-title="{escape(column.title)}">{escape(text)}</td>'


def hazard_text(hazard: dict, line: Line, part: Excerpt) -> str:
    if hazard.get("line") != line.number:
        return f"<strong>{escape(hazard['kind'])}</strong> together with line {hazard['line']}"
    text = f"<strong>{escape(hazard['kind'])}</strong>: {escape(hazard['message'])}."
    if hazard.get("other_line") and hazard["other_line"] != line.number:
        text += f" The other line: {hazard['other_line']}."
    for key in ("launch", "why", "advice"):
        if hazard.get(key):
            text += f"<br>{escape(hazard[key])}"
    return text
