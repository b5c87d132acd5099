"""Wrong command lines are answered, not met with a traceback; the help reads as the documentation says."""

import unittest

from support import CloneCase


class CommandLine(CloneCase):
    only = ("common/kit", "kit", "requirements")

    def test_help_names_every_command(self):
        result = self.kit("--help")
        self.assertEqual(result.returncode, 0)
        for name in ["demo", "test", "status", "watch", "emulate", "bench", "setup"]:
            self.assertRegex(result.stdout, rf"\n    {name} ")

    def test_no_command_shows_the_help(self):
        result = self.kit()
        self.assertEqual(result.returncode, 0)
        self.assertIn("COMMAND", result.stdout)

    def test_unknown_command(self):
        self.assertFails(self.kit("dance"), 2, "invalid choice: 'dance'", "--help")

    def test_unknown_option(self):
        self.assertFails(self.kit("demo", "--faster"), 2, "--faster")

    def test_missing_argument(self):
        self.assertFails(self.kit("watch"), 2, "LAB")
        self.assertFails(self.kit("emulate"), 2, "program")

    def test_numbers_that_make_no_sense(self):
        self.assertFails(self.kit("watch", "01", "--times", "0"), 2, "at least 1")
        self.assertFails(self.kit("bench", "--workers", "0"), 2, "at least 1")
        self.assertFails(self.kit("bench", "--workers", "many"), 2, "invalid int value")


if __name__ == "__main__":
    unittest.main()
