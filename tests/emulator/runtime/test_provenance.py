"""Where the results of small kernels come from (programs/provenance.cu), as the emulator follows their values."""

import json
import subprocess
import sys
import unittest
from collections import Counter

PROGRAM = sys.argv.pop()
BARE = {0: "constant", 1: "argument", 2: "thread"}
LOADED, HOST, COMPUTED, SELECTED, PACKED = range(5)


class Graph:
    def __init__(self, addresses: list[str], text: str):
        self.input, self.result = map(int, addresses)
        self.json = json.loads(text)
        self.roots = self.json["roots"]

    def of(self, node: int) -> Counter:
        """How often each element, or what else there is, counts in a node, if each operation on the way adds."""
        if node in BARE:
            return Counter()
        kind, width, _, _, address, first, count = self.json["nodes"][node - len(BARE)]
        if kind == LOADED:
            inside = address - self.input
            return Counter({inside / 4 if 0 <= inside < 1024 else "result" if address >= self.result else "unknown": 1})
        if kind == HOST:
            return Counter(host=1)
        total = Counter()
        for operand, bits in self.json["operands"][first : first + (1 if kind == SELECTED else count)]:
            total += self.of(operand)
            if operand in BARE and bits:
                total[BARE[operand]] += 1
        return total

    def results(self, count: int = 1) -> list[dict]:
        return [dict(self.of(root)) for root in self.roots[:count]]


def graphs() -> dict[str, Graph]:
    out = subprocess.run([PROGRAM], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for part in out.split("\nend\n")[:-1]:
        head, text = part.split("\n", 1)
        name, *addresses = head.split()
        found[name] = Graph(addresses, text)
    return found


class Provenance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graphs = graphs()

    def expect(self, name: str, *results: dict):
        self.assertEqual(self.graphs[name].results(len(results)), list(results), name)

    def test_moves(self):
        self.expect("copied", {63.0: 1}, {62.0: 1}, {61.0: 1})
        self.expect("chosen", {4.0: 1})
        self.expect("local", {0.0: 1})
        self.expect("vectors", {12.0: 1, 14.0: 1})
        self.expect("narrow", {1.0: 1, 2.25: 1})

    def test_every_element_counts_once_in_a_tree(self):
        self.expect("tree", {float(i): 1 for i in range(64)})
        self.expect("shuffled", {float(i): 1 for i in range(32, 64)})
        self.expect("two_launches", {float(i): 1 for i in range(64)})

    def test_atomics(self):
        once = {float(i): 1 for i in range(64)}
        self.expect("atomics", once | {5.0: 2, "result": 1})
        self.expect("swapped", once | {"result": 1})

    def test_asynchronous_copies(self):
        self.expect("asynchronous", {7.0: 1, 9.0: 1})

    def test_calls(self):
        self.expect("called", {1.0: 2, 2.0: 1})

    def test_products_of_matrices(self):
        def row(first: int) -> dict:
            return {float(first + 2 * i): 1 for i in range(8)} | {"constant": 8}

        self.expect("multiplied", *[row(0)] * 4, row(16))
        self.assertEqual(self.graphs["multiplied"].results(33)[32], row(1))

    def test_what_is_no_element(self):
        self.expect("index_added", {63.0: 1, "thread": 1})
        self.expect("nothing", {"result": 1})

    def test_copies(self):
        self.expect("copied_on_the_device", {8.0: 1}, {9.0: 1})
        self.expect("over_the_host", {63.0: 1}, {"host": 1})

    def test_what_is_overwritten_unread(self):
        self.expect("overwritten", {40.0: 1})
        graph = self.graphs["overwritten"]
        lost = [(graph.of(node), place, by) for node, place, _, by in graph.json["losses"] if place == "place"]
        self.assertEqual([elements for elements, _, _ in lost], [{0.0: 1}])
        self.assertEqual(lost[0][2][3], 40)  # the thread

    def test_what_the_host_overwrites(self):
        graph = self.graphs["zeroed_afterwards"]
        [(node, by)] = [(node, by) for node, _, _, by in graph.json["losses"] if by]
        self.assertEqual(len(graph.of(node)), 64)
        self.assertEqual(graph.json["places"][by[0]][2], 0)  # no line: the host

    def test_what_nothing_reads(self):
        graph = self.graphs["copied"]
        self.assertEqual([loss for loss in graph.json["losses"] if loss[1].startswith("place")], [])
        self.assertTrue(all(graph.json["complete"] for graph in self.graphs.values()))


if __name__ == "__main__":
    unittest.main()
