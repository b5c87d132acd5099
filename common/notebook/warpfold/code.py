"""C++ in a notebook, with colours and the numbers of its lines; where Pygments is missing, without colours."""

from html import escape

from .theme import themed

STYLE = (
    "<style>\n.warpfold-code { overflow-x: auto; margin: 0.3em 0; font-family: var(--jp-code-font-family, monospace); font-size: 0.92em; line-height: 1.4; }\n"
    ".warpfold-code td { border: 0; padding: 0 0.6em; vertical-align: top; text-align: left; }\n"
    ".warpfold-code td.number { text-align: right; opacity: 0.8; user-select: none; }\n"
    ".warpfold-code td.text { white-space: pre-wrap; overflow-wrap: break-word; }\n"
    + themed(".warpfold-code .k", "color: #8250df", "color: #d2a8ff")  # keywords
    + themed(".warpfold-code .c", "color: #57606a; font-style: italic", "color: #9da7b3; font-style: italic")  # comments
    + themed(".warpfold-code .m", "color: #0550ae", "color: #79c0ff")  # numbers
    + themed(".warpfold-code .s", "color: #0a3069", "color: #a5d6ff")  # strings
    + themed(".warpfold-code .t", "color: #953800", "color: #ffa657")  # types
    + "</style>"
)


def table(text: str, first: int, mark: int | None = None) -> str:
    """Lines of C++ as rows with their numbers; `mark`: the number of the one that is meant."""
    rows = []
    for number, line in enumerate(coloured(text), first):
        style = ' style="background: rgba(214, 66, 58, 0.15)"' if number == mark else ""
        rows.append(f'<tr{style}><td class="number">{number}</td><td class="text">{line}</td></tr>')
    return f'<div class="warpfold-code"><table>{"".join(rows)}</table></div>'


def coloured(text: str) -> list[str]:
    """Each line as HTML."""
    try:
        from pygments.lexers import CppLexer
        from pygments.token import Comment, Keyword, Number, String
    except ImportError:
        return [escape(line) for line in text.split("\n")]
    kinds = [(Keyword.Type, "t"), (Keyword, "k"), (Comment, "c"), (Number, "m"), (String, "s")]
    lines = [""]
    # A comment ends at the end of its line: one in the last line needs that too, and it is taken off again.
    for token, piece in CppLexer(stripnl=False, ensurenl=False).get_tokens(text + "\n"):
        name = next((short for kind, short in kinds if token in kind), "")
        for index, part in enumerate(piece.split("\n")):
            if index:
                lines.append("")
            if part:
                lines[-1] += f'<span class="{name}">{escape(part)}</span>' if name else escape(part)
    return lines[:-1]
