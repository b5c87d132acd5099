"""Arguments that several commands take, so that each is described once."""


def json(parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for other programs to read, in place of text")


def rungs(parser) -> None:
    parser.add_argument("--rung", action="append", default=[], metavar="R", help="take only this rung; may be repeated")
