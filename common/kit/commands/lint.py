"""`kit lint`: the tree's conventions, checked by tools with pinned versions, so that everyone gets the same result."""

from ..console import paint, say
from ..lint import clang, pages, stubs, text
from ..lint.check import Check, named, tree
from ..setup import environment
from ..setup.lock import exclusive

PURPOSE = "check that the files keep the conventions"
MORE = "The labs beside their solutions, layout, clang-tidy, ruff, shell, links and paragraphs of pages, commits, and what editors show."
GROUP = "work on the kit"
ORDER = 25
CHECKS: dict[str, Check] = {
    check.name: check
    for check in [
        stubs.STUBS, clang.LAYOUT, text.PYTHON_LAYOUT, text.PYTHON_HABITS, text.SHELL_HABITS, text.LINKS, pages.FILLED, text.WORKFLOW, text.COMMITS, clang.EDITORS, clang.TIDY,
    ]
}  # fmt: skip


def arguments(parser) -> None:
    parser.add_argument(
        "--only", action="append", choices=list(CHECKS), metavar="CHECK", help=f"one of {', '.join(CHECKS)}; may be repeated"
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="correct what the tools can correct: the stubs, the layout, the paragraphs and some of ruff's findings",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="check these files or folders (default: all)")


def run(options) -> int:
    with exclusive():
        environment.install("lint", "they check the conventions")
    everything = named(options.files) if options.files else tree()
    found = 0
    for name in options.only or CHECKS:
        check = CHECKS[name]
        files = check.chosen(everything)
        if not files and (check.files or options.files):
            continue
        looked_at = f" ({len(files)} {'file' if len(files) == 1 else 'files'})" if files else ""
        say(f"{name}: checking that {check.purpose}{looked_at}")
        problems = check.run(files, options.fix and check.mends)
        found += len(problems)
        for problem in problems:
            print(problem)
        if problems and check.mends and not options.fix:
            say(f"{name}: ./kit lint --fix --only {name} corrects what the tools can correct")
    print(paint("clean" if not found else f"{found} {'thing' if found == 1 else 'things'} to correct", "red" if found else "green"))
    return 1 if found else 0
