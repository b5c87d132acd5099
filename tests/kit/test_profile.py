"""The annotated source, from a report as the emulator writes it: in a terminal, as JSON, as a page."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit import process
from kit.commands import emulate, profile
from kit.errors import KitError
from kit.profile import annotate, listing, page
from kit.programs import rungs

SOURCE = """__global__ void tree(float* data) {
  extern __shared__ float partial[];
  partial[2 * threadIdx.x] = data[threadIdx.x];

  // first
  // second
  // third
  // fourth
  // fifth
  // sixth

  __syncthreads();
  if (threadIdx.x < 16) data[0] = partial[0]; // "a<b"
}
"""
COUNTERS = ["warp_instructions", "thread_instructions", "branches", "divergent_branches", "global_load_requests", "global_load_sectors",
            "global_load_waits", "global_store_requests", "global_store_sectors", "bank_conflicts", "shuffles", "atomic_requests", "atomic_operations", "barriers"]  # fmt: skip


def counted(**given) -> dict:
    return {key: given.get(key, 0) for key in COUNTERS}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name).resolve() / "tree.cu"
        self.file.write_text(SOURCE)

    def launch(self, **more) -> dict:
        def line(number: int, executions: int, **counters) -> dict:
            return {"file": str(self.file), "line": number, "executions": executions, **counted(**counters)}

        lines = [
            line(3, 8, warp_instructions=40, thread_instructions=1280, global_load_requests=8, global_load_sectors=36, bank_conflicts=8),
            line(12, 8, warp_instructions=10, thread_instructions=320, barriers=4),
            line(13, 24, warp_instructions=50, thread_instructions=800, branches=8, divergent_branches=2),
        ]
        counters = counted(warp_instructions=100) | {"blocks": 4}
        return {"kernel": "tree", "grid": [4, 1, 1], "block": [64, 1, 1], "counters": counters, "lines": lines} | more

    def report(self, *hazards: dict) -> dict:
        return {"launches": [self.launch()], "hazards": list(hazards)}

    def race(self) -> dict:
        return {"kind": "race-shared", "file": str(self.file), "line": 13, "other_file": str(self.file), "other_line": 3,
                "message": "thread 0 reads partial[<1>]", "why": "Any order.", "advice": "Wait first.", "fails_check": True, "of_host": False}  # fmt: skip

    def shown(self, report: dict, columns: int = 160, asked: str = "") -> str:
        out = io.StringIO()
        with mock.patch.dict(os.environ, {"COLUMNS": str(columns)}), contextlib.redirect_stdout(out):
            for kernel in annotate.kernels(report):
                listing.legend(listing.show(kernel, annotate.named(asked)))
        return out.getvalue()


class Counts(Case):
    def lines(self, report: dict) -> dict[int, annotate.Line]:
        return {line.number: line for line in annotate.kernels(report)[0].excerpts[0].lines if line}

    def test_ratios_are_of_the_line(self):
        lines = self.lines(self.report())
        self.assertEqual(lines[3].values["executions_per_warp"], 1)  # 8 times by 4 blocks of 2 warps
        self.assertEqual(lines[13].values["executions_per_warp"], 3)
        self.assertEqual(lines[3].values["sectors_per_request"], 4.5)
        self.assertEqual(lines[3].values["bank_conflicts"], 8)
        self.assertEqual(lines[13].values["simt_efficiency"], 0.5)
        self.assertEqual(lines[13].values["divergent_share"], 0.25)
        self.assertIsNone(lines[13].values["sectors_per_request"])

    def test_the_hottest_line_is_the_one_with_most_instructions(self):
        self.assertEqual([number for number, line in self.lines(self.report()).items() if line.hottest], [13])

    def test_lanes_that_queue_at_an_atomic_make_its_line_the_hottest(self):
        """Not the computation of the index, which has more instructions and costs next to nothing beside them."""
        launch = self.launch()
        launch["lines"][1] |= {"atomic_requests": 8, "atomic_operations": 256}
        self.assertEqual([number for number, line in self.lines({"launches": [launch], "hazards": []}).items() if line.hottest], [12])

    def test_launches_of_one_kernel_are_added_up(self):
        kernel = annotate.kernels({"launches": [self.launch(), self.launch(grid=[1, 1, 1])], "hazards": []})[0]
        self.assertEqual((kernel.launches, kernel.warps, kernel.counters["warp_instructions"]), (2, 16, 200))
        lines = {line.number: line for line in kernel.excerpts[0].lines if line}
        self.assertEqual(lines[3].values["bank_conflicts"], 16)
        self.assertEqual(lines[3].values["executions_per_warp"], 1)

    def test_lines_that_do_nothing_are_folded(self):
        numbers = [line.number if line else None for line in annotate.kernels(self.report())[0].excerpts[0].lines]
        self.assertEqual(numbers, [2, 3, 4, None, 11, 12, 13, 14])

    def test_what_lies_in_a_librarys_headers_is_said_but_not_shown(self):
        launch = self.launch()
        header = self.file.parent / "include" / "cub.cuh"
        header.parent.mkdir()
        header.write_text("one\n")
        launch["lines"].append({"file": str(header), "line": 1, "executions": 1, **counted(warp_instructions=100)})
        launch["counters"]["warp_instructions"] = 200
        kernel = annotate.kernels({"launches": [launch], "hazards": []})[0]
        self.assertEqual([part.file for part in kernel.excerpts], [self.file])
        self.assertEqual(kernel.elsewhere, 0.5)

    def test_a_path_relative_to_the_folder_of_the_compiler(self):
        self.assertEqual(annotate.source_of("../tree.cu", self.file.parent / "build"), Path("../tree.cu"))
        (self.file.parent / "build").mkdir()
        self.assertEqual(annotate.source_of("../tree.cu", self.file.parent / "build"), self.file)


class Terminal(Case):
    def test_counts_stand_beside_the_code(self):
        text = self.shown(self.report())
        self.assertIn("tree  1 launch, grid 4, block 64", text)
        self.assertRegex(text, r"(?m)^  inst\. +exec\. active +sectors +bank$")
        self.assertRegex(text, r"(?m)^  share per warp  lanes divergent per req\. conflicts barriers  line$")
        self.assertRegex(text, r"(?m)^    40%        1   100% +4\.5 +8 +3    partial\[2 \* threadIdx\.x\]")
        self.assertRegex(text, r"(?m)^>   50%        3    50%       25% +13    if \(threadIdx\.x < 16\)")

    def test_the_legend_says_what_each_column_counts(self):
        text = self.shown(self.report(), 300)
        for column in [annotate.SHARE, *annotate.used_columns(annotate.kernels(self.report())[0])]:
            self.assertRegex(text, rf"(?m)^  {column.title} +{re.escape(column.meaning)}")

    def test_the_legend_explains_only_what_is_shown(self):
        text = self.shown(self.report(), 70)
        self.assertIn("too narrow for: barriers", text)
        self.assertNotIn("a barrier of the whole block", text)
        self.assertIn("32-byte sectors", text)

    def wide(self) -> dict:
        """A report with long lines of code, whose lines all have 32 active lanes, once per warp."""
        self.file.write_text(
            SOURCE.replace("// first", "partial[threadIdx.x] = first_of_many[blockIdx.x * blockDim.x + threadIdx.x] + another_operand;")
        )
        lines = [
            {"file": str(self.file), "line": number, "executions": 8,
             **counted(warp_instructions=10, thread_instructions=320, global_load_requests=8, global_load_sectors=8 * number,
                       bank_conflicts=number, barriers=number, shuffles=number, atomic_operations=number)}
            for number in (3, 6, 12)
        ]  # fmt: skip
        return {"launches": [self.launch(lines=lines)], "hazards": []}

    def test_the_code_keeps_50_columns(self):
        text = self.shown(self.wide(), 100)
        starts = [line.index("partial[threadIdx.x] =") for line in text.splitlines() if "partial[threadIdx.x] =" in line]
        self.assertLessEqual(starts[0], 50)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_first_go_the_columns_that_are_the_same_on_every_line(self):
        text = self.shown(self.wide(), 100)
        self.assertIn("the same on every line: executions per warp 1, active lanes 100%", text)
        self.assertRegex(text, r"(?m)sectors +bank\n.* line$")  # more needed than barriers and shuffles
        self.assertIn("too narrow for: barriers, shuffles", text)

    def test_what_was_asked_for_stays(self):
        text = self.shown(self.wide(), 100, "barriers,active")
        self.assertRegex(text, r"(?m)^  share +lanes .*barriers  line$")
        self.assertNotIn("same on every line: active", text)
        with self.assertRaisesRegex(KitError, "no such column"):
            annotate.named("escalators")

    def test_at_40_columns_no_word_is_broken_or_lost(self):
        for report in (self.wide(), self.report(self.race())):
            whole, narrow = self.shown(report, 300), self.shown(report, 40)
            self.assertLessEqual(max(map(len, narrow.splitlines())), 40)
            source = self.file.read_text().splitlines()
            for line in (3, 6, 12, 13):
                if f"{line}  {source[line - 1]}" in whole:
                    for word in re.findall(r"\w+", source[line - 1]):
                        self.assertRegex(narrow, rf"\b{word}\b")

    def test_no_colour_where_none_is_wanted(self):
        terminal = mock.Mock(wraps=io.StringIO(), isatty=lambda: True)
        with mock.patch.dict(os.environ, {"TERM": "xterm", "COLUMNS": "100"}):
            for wanted in (True, False):
                with mock.patch.dict(os.environ, {} if wanted else {"NO_COLOR": "1"}), mock.patch("sys.stdout", terminal):
                    terminal.write.reset_mock()
                    os.environ.pop("NO_COLOR", None) if wanted else None
                    listing.show(annotate.kernels(self.report())[0], [])
                written = "".join(call.args[0] for call in terminal.write.call_args_list)
                self.assertEqual("\033[" in written, wanted)

    def test_a_hazard_stands_at_its_line_and_points_to_the_other(self):
        text = self.shown(self.report(self.race()), 200).splitlines()
        at = next(i for i, line in enumerate(text) if "if (threadIdx.x < 16)" in line)
        self.assertIn("race-shared: thread 0 reads partial[<1>]", text[at + 1])
        self.assertIn("other line: 3", text[at + 2])
        self.assertEqual([line.strip() for line in text[at + 3 : at + 5]], ["why: Any order.", "try: Wait first."])
        other = next(i for i, line in enumerate(text) if "partial[2 *" in line and "other line" not in line)
        self.assertIn("race-shared with line 13", text[other + 1])

    def test_json_has_the_same(self):
        kernel = annotate.to_json(annotate.kernels(self.report(self.race())))[0]
        lines = {line["line"]: line for line in kernel["files"][0]["lines"]}
        self.assertEqual(sorted(lines), [3, 12, 13])
        self.assertEqual((lines[13]["share"], lines[13]["hottest"], lines[13]["simt_efficiency"]), (0.5, True, 0.5))
        self.assertEqual(lines[13]["hazards"][0]["advice"], "Wait first.")


class Processes(Case):
    """A rung that runs in several processes: the program's own report is empty."""

    def run_of(self, profile: dict) -> rungs.Run:
        answer = {"rungs": [{"name": "ranks", "state": "pass" if profile else "wrong"} | profile]}
        lab = SimpleNamespace(name="12_x")
        with mock.patch.object(rungs, "observed", return_value=(answer, {"launches": [], "hazards": []}, None)):
            return rungs.run(lab, "ranks", SimpleNamespace())

    def shown(self, found: rungs.Run) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch.dict(os.environ, {"NO_COLOR": "1"}):
            profile.show([(found, annotate.kernels(found.report, found.folder))], [])
        return out.getvalue()

    def test_the_counts_of_rank_0_are_shown(self):
        counts = {"n": 64, "rows": 1, "report": {"launches": [self.launch()], "hazards": []}}
        told = self.shown(self.run_of({"profile": counts}))
        self.assertIn("n = 64; of its processes, rank 0's counts", told)
        self.assertIn("partial[2 * threadIdx.x] = data[threadIdx.x];", told)

    def test_where_nothing_was_counted_a_sentence_says_so_and_there_is_no_legend(self):
        told = self.shown(self.run_of({}))
        self.assertIn("There are no counts to show per line", told)
        self.assertNotIn("marks the hottest line", told)


class Reader(HTMLParser):
    """What a browser would fetch, and whether tags are closed in order."""

    VOID = {"meta", "br", "input", "link", "img"}

    def __init__(self, text: str):
        super().__init__()
        self.fetched, self.open, self.text, self.ids, self.targets = [], [], "", set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.fetched += [given[key] for key in ("src", "srcset", "data") if key in given]
        self.fetched += [given["href"]] if tag == "link" else []
        self.targets += [given["href"]] if tag == "a" else []
        self.ids.add(given.get("id"))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


def self_contained(case: unittest.TestCase, text: str) -> Reader:
    read = Reader(text)
    case.assertEqual(read.open, [])
    case.assertEqual(read.fetched, [])
    for target in read.targets:
        case.assertTrue(target.startswith("#") and target[1:] in read.ids, target)
    case.assertIsNone(re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text))
    case.assertNotRegex(text, r"\$\w")  # a placeholder that nothing filled
    return read


class Page(Case):
    def page(self, *hazards: dict, state: str = "pass") -> str:
        report = self.report(*hazards)
        result = {"state": state, "reason": "a < b", "profile": {"n": 4096, "rows": 1}}
        run = rungs.Run(SimpleNamespace(name="02_tree"), "sequential", result, report)
        return page.page("02_tree", [(run, annotate.kernels(report))])

    def test_needs_nothing_beside_itself(self):
        read = self_contained(self, self.page(self.race()))
        self.assertIn('data[0] = partial[0]; // "a<b"', read.text)
        self.assertIn("thread 0 reads partial[<1>]", read.text)

    def test_heat_is_told_in_words_too(self):
        text = self.page()
        self.assertIn(
            'style="--share:0.500"><td class="count share" data-title="instruction share">50% <span class="hot">hottest</span>', text
        )
        self.assertIn('<th scope="row" class="number">13</th>', text)

    def test_a_wrong_rung_says_so(self):
        self.assertIn('<span class="bad">wrong: a &lt; b</span>', self.page(state="wrong"))

    def test_both_colour_schemes_and_narrow_screens(self):
        text = self.page()
        self.assertIn("prefers-color-scheme: dark", text)
        self.assertRegex(text, r"@media \(max-width")
        self.assertIn('name="viewport"', text)


class Emulate(Case):
    def conclude(self, report: dict, status: int = 0, leaks: bool = False) -> tuple[int, str, str]:
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            code = emulate.conclude(status, report, SimpleNamespace(profile=True, check=True, leaks=leaks))
        return code, out.getvalue(), said.getvalue()

    def test_hazards_go_to_stderr_and_decide_the_code(self):
        code, out, said = self.conclude(self.report(self.race()))
        self.assertEqual(code, emulate.HAZARDS_FOUND)
        self.assertIn("race-shared: thread 0 reads partial[<1>]", said)
        self.assertIn("partial[2 * threadIdx.x]", out)

    def test_a_leak_is_told_and_counts_only_when_asked(self):
        leak = self.report(
            {"kind": "leak", "file": "", "line": 0, "message": "never freed: 4 bytes", "fails_check": False, "of_host": False}
        )
        code, _, said = self.conclude(leak)
        self.assertEqual(code, 0)
        self.assertIn("never freed: 4 bytes", said)
        self.assertEqual(self.conclude(leak, leaks=True)[0], emulate.HAZARDS_FOUND)

    def test_advice_never_counts(self):
        advice = {"kind": "pageable-copy", "file": "", "line": 0, "message": "waits", "fails_check": False, "of_host": True}
        self.assertEqual(self.conclude(self.report(advice), leaks=True)[0], 0)

    def test_a_clean_program_keeps_its_code(self):
        self.assertEqual(self.conclude(self.report())[0], 0)
        self.assertEqual(self.conclude(self.report(self.race()), 3)[0], 3)

    def test_without_source_lines_the_table_and_what_to_do(self):
        launch = self.launch()
        for line in launch["lines"]:
            line["file"], line["line"] = "", 0
        _, out, said = self.conclude({"launches": [launch], "hazards": []})
        self.assertIn("whole launch", out)
        self.assertIn("-lineinfo", said)


class Bad(unittest.TestCase):
    def test_the_file_of_a_page(self):
        for path, text in [(Path("/"), "is a folder"), (Path("/nowhere/at/all.html"), "no folder /nowhere/at")]:
            with self.assertRaisesRegex(Exception, text):
                process.require_writable(path, "--html")


if __name__ == "__main__":
    unittest.main()
