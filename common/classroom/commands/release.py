"""`kit class release`: the students' edition, as a folder or an archive."""

from pathlib import Path

from kit.console import say
from kit.process import relative

from ..course import config, course_folder, release

PURPOSE = "write the students' edition: the course without solutions, answers and history"
ORDER = 200


def arguments(parser) -> None:
    parser.add_argument("target", type=Path, metavar="FOLDER", help="a new folder, or a file that ends in .tar.gz")
    parser.add_argument(
        "--labs", action="append", default=[], metavar="LAB,...", help="only these labs, which the class then counts; may be repeated"
    )
    course_folder.argument(parser)
    parser.add_argument("--force", action="store_true", help="replace an edition that is already in FOLDER, with everything added to it")


def run(options) -> int:
    labs = release.chosen_labs([name for each in options.labs for name in each.split(",") if name])
    held = release.contents(labs)
    if options.target.name.endswith(".tar.gz"):
        release.write_archive(options.target, held)
    else:
        release.write_folder(options.target, held, options.force)
    names = [name for name in held if name.startswith("labs/") and name.count("/") == 2]
    say(f"wrote {relative(options.target)}: {len(held)} files, {len({name.split('/')[1] for name in names})} labs")
    if labs and (said := config.preset(options.folder, labs)):
        say(said)
    return 0
