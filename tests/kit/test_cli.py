"""Wrong command lines are answered, not met with a traceback; the help reads as the documentation says."""

import argparse
import contextlib
import errno
import io
import os
import re
import time
import unittest
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit import cli, console
from support import ROOT, CloneCase

# The pages with a row for each command: the kit's, and the class's.
REFERENCE, OF_CLASS = ROOT / "docs" / "reference" / "kit.md", ROOT / "docs" / "instructor" / "class.md"


def below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next((action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)), {})


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command: "grade" of the class is "class grade"."""
    found = {}
    for name, parser in below(cli.parser()).items():
        inner = {f"{name} {each}": its.complete() for each, its in below(parser.complete()).items()}
        found |= inner or {name: parser}
    return found


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings if name.startswith("--")} - {"--help"}


class Commands(unittest.TestCase):
    def test_each_module_says_what_the_command_line_needs(self):
        modules = cli.known_commands()
        of_class = {f"class {name}": each for name, each in cli.known_commands(package=modules["class"].COMMANDS).items()}
        self.assertGreaterEqual(len(of_class), 7)
        for name, module in (modules | of_class).items():
            self.assertRegex(module.PURPOSE, r"^[a-z].*[^.]$", name)
            self.assertIn(f"`kit {name}", module.__doc__, name)
            self.assertRegex(getattr(module, "MORE", "One."), r"^[A-Z].*[.]$", name)
        for some in (modules, of_class):
            orders = [module.ORDER for module in some.values()]
            self.assertEqual(len(set(orders)), len(orders), "two commands have the same ORDER")

    def test_in_40_columns_it_breaks_only_between_words(self):
        def told(columns: str) -> list[str]:
            with mock.patch.dict(os.environ, COLUMNS=columns):
                return [parser.format_help() for parser in [cli.parser(), *parsers().values()]]

        narrow, wide = told("40"), told("1000")
        self.assertLessEqual(max(map(len, narrow[0].splitlines())), 40)
        self.assertEqual(set(" ".join(narrow).split()), set(" ".join(wide).split()))

    def test_each_argument_is_described(self):
        for name, parser in parsers().items():
            for action in parser._actions:
                self.assertTrue(action.help, f"{name} {action.dest}")
                self.assertNotRegex(action.help, r"[.]$", f"{name} {action.dest}")


class Failures(unittest.TestCase):
    """A failure of the operating system is one line if the user can do something about it, and a traceback if the kit is mistaken."""

    def said(self, error: OSError) -> str:
        command = mock.Mock(run=mock.Mock(side_effect=error))
        printed = io.StringIO()
        with mock.patch.object(cli, "parser") as parser, contextlib.redirect_stderr(printed):
            parser.return_value.parse_args.return_value = command
            self.assertEqual(cli.main(["status"]), 1)
        return printed.getvalue()

    def test_places_that_are_missing_closed_or_full(self):
        for number in (errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EROFS):
            said = self.said(OSError(number, os.strerror(number), "a/marks.csv"))
            self.assertEqual(said, f"kit: error: a/marks.csv: {os.strerror(number)}\n")
        self.assertRegex(
            self.said(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))), r"No space left on device\nA whole set-up takes \d+ MB"
        )

    def test_other_failures_are_not_hidden(self):
        for error in (
            OSError(errno.EBADF, "bad"),
            OSError(errno.ENOENT, "no name"),
            BrokenPipeError(errno.EPIPE, "pipe"),
            OSError("only words"),
        ):
            with self.assertRaises(OSError):
                self.said(error)


class Waiting(unittest.TestCase):
    def test_long_work_is_never_silent(self):
        said = io.StringIO()
        with mock.patch.object(console, "SECONDS", 0.05), contextlib.redirect_stderr(said), console.waiting("installing jupyterlab"):
            time.sleep(0.3)
        self.assertRegex(said.getvalue(), r"kit: still installing jupyterlab, 0 s\n")

    def test_a_line_that_is_rewritten_is_cleared(self):
        """Without an escape, so that NO_COLOR has nothing to ask for; and what was longer leaves nothing behind."""
        screen = io.StringIO()
        line = console.Line(screen)
        line.show("step 10 of 12")
        line.show("step 9")
        self.assertEqual(screen.getvalue().split("\r")[-1], "step 9       ")
        line.clear()
        self.assertNotIn("\033", screen.getvalue())
        self.assertEqual(screen.getvalue().split("\r")[-2:], [" " * 6, ""])


class Reference(unittest.TestCase):
    """docs/reference/kit.md, held to the parser in both directions."""

    def rows(self) -> dict[str, str]:
        both = REFERENCE.read_text() + OF_CLASS.read_text()
        return dict(re.findall(r"^\| `\./kit ((?:class )?\w+)[^|]*\|(.*)\|$", both, re.MULTILINE))

    def test_it_has_a_row_for_each_command_in_the_order_of_the_help(self):
        self.assertEqual(list(self.rows()), sorted(parsers(), key=lambda name: name.startswith("class ")))

    def test_it_names_each_option_and_none_that_there_is_not(self):
        known = parsers()
        for name, row in self.rows().items():
            self.assertEqual(set(re.findall(r"`(--[a-z-]+)", row)), options_of(known[name]), name)

    def test_the_exit_codes_are_those_of_the_help(self):
        self.assertIn(cli.EXIT_CODES, " ".join(REFERENCE.read_text().split()))


class CommandLine(CloneCase):
    only = (
        "common/kit",
        "common/classroom",
        "common/emulator/analysis/counted.def",
        "common/lab/states.def",
        "kit",
        "meson.build",
        "requirements",
    )

    def test_the_help_fits_on_a_screen(self):
        lines = cli.parser().format_help().splitlines()
        self.assertLessEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_help_names_every_command(self):
        result = self.kit("--help")
        self.assertEqual(result.returncode, 0)
        for name in cli.known_commands():
            self.assertRegex(result.stdout, rf"(?m)^[\w ]+ {name}  ")
        of_class = self.kit("class")
        self.assertEqual(of_class.returncode, 0)
        for name in (each.removeprefix("class ") for each in parsers() if each.startswith("class ")):
            self.assertRegex(of_class.stdout, rf"\n    {name}\s")

    def test_help_of_every_command(self):
        for name in parsers():
            result = self.kit(*name.split(), "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
            self.assertIn(f"usage: ./kit {name}", result.stdout)

    def test_the_version_is_the_projects(self):
        build = (self.clone / "meson.build").read_text()
        self.assertEqual(self.kit("--version").stdout, f"Warpfold {re.search(r'version: .([0-9.]+)', build)[1]}\n")
        (self.clone / "meson.build").write_text(build.replace(re.search(r"version: '[^']+'", build)[0], "version: '7.8.9'", 1))
        self.assertEqual(self.kit("--version").stdout, "Warpfold 7.8.9\n")

    def test_no_command_shows_the_help(self):
        result = self.kit()
        self.assertEqual(result.returncode, 0)
        self.assertIn("COMMAND", result.stdout)

    def test_unknown_command(self):
        self.assertFails(self.kit("dance"), 2, "invalid choice: 'dance'", "--help")

    def test_unknown_option(self):
        self.assertFails(self.kit("demo", "--faster"), 2, "--faster", "./kit demo --help lists its options")

    def test_missing_argument(self):
        self.assertFails(self.kit("watch", "--rung", "sequential"), 2, "--rung needs a lab")
        self.assertFails(self.kit("trace"), 2, "LAB")
        self.assertFails(self.kit("emulate"), 2, "program")

    def test_numbers_that_make_no_sense(self):
        self.assertFails(self.kit("watch", "01", "--times", "0"), 2, "at least 1")
        self.assertFails(self.kit("bench", "--workers", "0"), 2, "at least 1")
        self.assertFails(self.kit("bench", "--workers", "many"), 2, "invalid int value")


if __name__ == "__main__":
    unittest.main()
