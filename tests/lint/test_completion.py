"""What an editor offers in a lab's file: clangd is asked over its own protocol, as VS Code asks it."""

import json
import os
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "common"))

from kit.paths import VENV
from kit.programs import folder
from kit.setup import toolchain

ROOT = Path(__file__).resolve().parents[2]


class Clangd:
    """A language server: requests and answers, each a JSON object behind its length."""

    def __init__(self) -> None:
        command = [VENV / "bin" / "clangd", "--background-index=false", "--log=error"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.watchdog = threading.Timer(240, self.process.kill)  # reading from it would else never end
        self.watchdog.start()
        self.last = self.version = 0
        self.ask("initialize", {"processId": os.getpid(), "rootUri": ROOT.as_uri(), "capabilities": {}})

    def send(self, message: dict) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()

    def receive(self) -> dict:
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if not length:
            raise RuntimeError("clangd has ended")
        return json.loads(self.process.stdout.read(length))

    def ask(self, method: str, parameters: dict):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": parameters})
        while (answer := self.receive()).get("id") != self.last:
            pass
        return answer["result"]

    def offered(self, path: Path, words: str) -> set[str]:
        """The names that it offers behind `words`, written into a function at the end of that file."""
        text = path.read_text() + f"\nvoid tried() {{\n  {words}\n}}\n"
        self.version += 1
        document = {"uri": path.as_uri(), "languageId": "cuda-cpp", "version": self.version, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        said = {}
        while said.get("version") != self.version:  # until it has read the headers, it only guesses
            said = self.receive().get("params", {})
        place = {"line": text.count("\n") - 2, "character": len(words) + 2}
        for _ in range(10):  # the very first answer may come before it has read enough
            found = self.ask("textDocument/completion", {"textDocument": {"uri": path.as_uri()}, "position": place})
            if found["items"]:
                break
            time.sleep(0.5)
        self.send({"method": "textDocument/didClose", "params": {"textDocument": {"uri": path.as_uri()}}})
        return {item.get("filterText") or item["label"].strip() for item in found["items"]}

    def close(self) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()


@unittest.skipUnless(os.environ.get("WARPFOLD_KIT_TEST"), "needs the tools in .kit/venv: run by ./kit test")
class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder.configured(toolchain.prepare(tests=True), tests=True)
        cls.clangd = Clangd()
        cls.addClassCleanup(cls.clangd.close)

    def test_a_lab_completes_names_of_the_lab_library_and_of_cuda(self):
        lab = ROOT / "labs/02_tree/tree.cu"
        self.assertLessEqual({"ceil_div", "scratch", "all_lanes", "main"}, self.clangd.offered(lab, "lab::"))
        for begun, name in {
            "threadI": "threadIdx", "__shfl_do": "__shfl_down_sync", "atomicA": "atomicAdd", "__syncw": "__syncwarp",
            "threadIdx.": "x", "__thread": "__threadfence", "cudaMems": "cudaMemset",
        }.items():  # fmt: skip
            with self.subTest(begun=begun):
                self.assertIn(name, self.clangd.offered(lab, begun))

    def test_a_file_of_the_emulator_completes_its_own_names(self):
        names = self.clangd.offered(ROOT / "common/emulator/analysis/counters.cpp", "warpfold::analysis::Counters().")
        self.assertLessEqual({"shuffles", "bank_conflicts"}, names)


if __name__ == "__main__":
    unittest.main()
