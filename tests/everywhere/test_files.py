"""The files for containers, Codespaces, Binder and GitHub say what the kit says, and are well formed."""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

from kit.errors import KitError  # noqa: E402
from kit.paths import VENV  # noqa: E402
from kit.setup import environment, system  # noqa: E402
from kit.setup.lock import exclusive  # noqa: E402

CONTAINERFILE = (ROOT / "Containerfile").read_text()
DEVCONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
NEEDED = {need.packages["apt-get"] for need in [system.COMPILER, system.PKG_CONFIG, *system.LIBRARIES]}


def debian_packages(text: str) -> set[str]:
    """What an apt-get install in the text installs."""
    words = re.search(r"apt-get install ([^&\"]*)", text.replace("\\\n", " "))[1].split()
    return {word for word in words if not word.startswith("-")}


class Packages(unittest.TestCase):
    """Each place installs what the kit would install."""

    def test_container(self):
        self.assertLessEqual(NEEDED | {"git", "python3", "python3-venv"}, debian_packages(CONTAINERFILE))

    def test_codespaces(self):
        self.assertLessEqual(NEEDED | {"python3", "python3-venv"}, debian_packages(DEVCONTAINER["onCreateCommand"]))

    def test_binder(self):
        self.assertEqual(set((ROOT / ".binder" / "apt.txt").read_text().split()), NEEDED)

    def test_binder_runs_the_handouts_on_the_versions_that_the_kit_does(self):
        pins = {line for line in (ROOT / ".binder" / "requirements.txt").read_text().splitlines() if line and line[0] != "#"}
        self.assertEqual(pins, {*environment.requirements("handouts"), *environment.requirements("notebook")})


class Forms(unittest.TestCase):
    def test_containerfile(self):
        """Instructions of Dockerfile's reference, in an order that builds; nothing runs as root after the user is made."""
        lines = [line for line in CONTAINERFILE.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
        words = [line.split()[0] for line in lines]
        known = {"FROM", "RUN", "USER", "WORKDIR", "COPY", "ARG", "ENV", "CMD"}
        self.assertLessEqual(set(words), known)
        self.assertEqual(words[0], "FROM")
        self.assertEqual(words[-1], "CMD")
        self.assertLess(words.index("USER"), words.index("COPY"))
        self.assertIn("--chown=student", lines[words.index("COPY")])

    def test_an_image_ignores_what_a_clone_has_built(self):
        ignored = (ROOT / ".containerignore").read_text()
        self.assertIn(".kit", ignored.split())
        self.assertEqual(ignored, (ROOT / ".dockerignore").read_text())

    def test_devcontainer(self):
        """The schema's own server cannot be asked here, so: known keys, of the right types."""
        types = {"name": str, "image": str, "remoteUser": str, "onCreateCommand": str, "postCreateCommand": str, "customizations": dict}
        self.assertEqual({key: type(value) for key, value in DEVCONTAINER.items()}, types)
        extensions = DEVCONTAINER["customizations"]["vscode"]["extensions"]
        self.assertTrue(all(re.fullmatch(r"[\w-]+\.[\w-]+", name) for name in extensions), extensions)

    def test_binder_scripts(self):
        for name in ("postBuild", "start"):
            path = ROOT / ".binder" / name
            self.assertTrue(os.access(path, os.X_OK), name)
            self.assertEqual(subprocess.run(["bash", "-n", path]).returncode, 0, name)
        # repo2docker gives `start` the command of the server.
        ran = subprocess.run([ROOT / ".binder" / "start", "sh", "-c", "echo $WARPFOLD_NATIVE"], text=True, capture_output=True)
        self.assertEqual(ran.stdout, "false\n")

    def test_github_workflows(self):
        workflows = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
        if not workflows:
            self.skipTest("there are none")
        try:
            with exclusive():
                environment.install("schemas", "it checks workflows")
        except KitError as error:
            self.skipTest(str(error))
        command = [VENV / "bin" / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows]
        said = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(said.returncode, 0, said.stdout)

    def test_a_hosted_run_is_an_ordinary_user_s_who_lacks_every_library(self):
        text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
        added = re.findall(r"user: student, packages: ([^}]*)}", text)
        self.assertTrue(added)
        for packages in added:
            self.assertEqual(set(packages.split()) & NEEDED, {"g++"})
        self.assertEqual(text.count("su ${{ matrix.user }} -c"), 2)


class FrontDoor(unittest.TestCase):
    def test_each_handout_has_a_card_with_its_question(self):
        sys.path.insert(0, str(ROOT / "docs"))
        import cards

        handouts = {path.stem: path for path in (ROOT / "docs" / "handouts").glob("[0-9][0-9]_*.md")}
        self.assertLessEqual(set(cards.CARDS), set(handouts))
        page = cards.html()
        self.assertEqual(page.count('class="card"'), len(handouts))
        for stem, path in handouts.items():
            title, question = cards.question(path)
            self.assertGreater(len(question), 40, stem)
            self.assertIn(f'href="handouts/{stem}.html"', page)
        # Only what is shown may lie there: the whole folder goes into the site.
        self.assertEqual({path.stem for path in cards.PICTURES.iterdir()}, set(cards.CARDS), "draw them: python3 docs/cards.py")


if __name__ == "__main__":
    unittest.main()
