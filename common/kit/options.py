"""Arguments that several commands take, so that each is described once."""


def json(parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text, for other programs to read")


def rungs(parser) -> None:
    parser.add_argument("--rung", action="append", default=[], metavar="R", help="use only this rung; may be repeated")
