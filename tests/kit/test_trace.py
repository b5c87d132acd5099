"""A block's trace: its steps, what goes wrong in them, the words, the picture and the page."""

import struct
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit.errors import USAGE, KitError
from kit.programs import labs, rungs
from kit.trace import animation, drawing, page, record, words
from kit.trace import steps as trace_steps
from test_profile import self_contained

SHARED, RESULT = 0, 1


def access(kind: str, line: int, elements: dict[int, int], array: int = SHARED, width: int = 4, **more) -> dict:
    """One warp's request: elements by thread."""
    warp = next(iter(elements)) // 32
    lanes = sum(1 << thread - 32 * warp for thread in elements)
    return {"at": kind, "file": "tree.cu", "line": line, "warp": warp, "lanes": lanes, "array": array, "width": width,
            "offsets": [width * element for element in elements.values()], "wavefronts": 1, "ideal": 1, **more}  # fmt: skip


def barrier(line: int) -> dict:
    return {"at": "barrier", "file": "tree.cu", "line": line, "barrier": 0, "whole_block": True}


def warp_barrier(line: int) -> dict:
    return {"at": "warp_barrier", "file": "tree.cu", "line": line, "warp": 0, "lanes": 0xFFFFFFFF}


def launch(*events: dict, threads: int = 64, elements: int = 64) -> dict:
    arrays = [
        {"name": "partial", "space": "shared", "bytes": 4 * elements, "offset": 0},
        {"name": "allocation 2 (4 bytes)", "space": "global", "bytes": 4, "offset": 0},
    ]
    return {"kernel": "tree", "grid": [1, 1, 1], "block": [threads, 1, 1], "truncated": False, "arrays": arrays, "events": list(events)}


def each(threads: range, shift: int = 0, factor: int = 1) -> dict[int, int]:
    return {thread: factor * thread + shift for thread in threads}


def tree_step(line: int, stride: int) -> list[dict]:
    work = range(stride)
    return [access("load", line, each(work)), access("load", line, each(work, stride)), access("store", line, each(work))]


RACE = {"kind": "race-shared", "group": "race", "file": "tree.cu", "line": 2, "other_file": "tree.cu", "other_line": 1}


def steps(*events: dict, hazards: tuple = (), **more) -> list[trace_steps.Step]:
    return trace_steps.steps_of(launch(*events, **more), list(hazards))


class Steps(unittest.TestCase):
    def test_a_step_ends_at_a_barrier_whichever_warp_came_first(self):
        stores = [access("store", 1, each(range(32, 64))), access("store", 1, each(range(32)))]
        found = steps(*stores, barrier(2), *tree_step(3, 32), barrier(4), barrier(4), access("load", 5, {0: 0}))
        self.assertEqual([len(step.requests) for step in found], [2, 3, 1])
        self.assertEqual([step.barrier_line for step in found], [2, 4, None])
        self.assertEqual([len(step.active()) for step in found], [64, 32, 1])

    def test_a_step_ends_where_a_warp_loads_again_what_it_has_stored(self):
        found = steps(*tree_step(3, 16), *tree_step(3, 8), *tree_step(3, 4))
        self.assertEqual([len(step.active()) for step in found], [16, 8, 4])

    def test_warps_without_barriers_do_not_end_each_others_steps(self):
        other = [access("load", 3, each(range(32, 64))), access("store", 3, each(range(32, 64)))]
        found = steps(*tree_step(3, 32), *tree_step(3, 16), *other)
        self.assertEqual([len(step.active()) for step in found], [64, 16])

    def test_syncwarp_parts_reading_from_writing(self):
        work = range(32)
        found = steps(access("load", 1, each(work, 16)), warp_barrier(2), access("store", 3, each(work)), warp_barrier(4), warp_barrier(4),
                      access("load", 5, each(work, 8)))  # fmt: skip
        self.assertEqual([step.requests[0].line for step in found], [1, 3, 5])

    def test_a_wide_access_touches_several_elements(self):
        found = steps(access("load", 1, {0: 0, 1: 1}, width=16), access("store", 2, {0: 9}), elements=64)
        self.assertEqual(found[0].requests[0].touches, {0: [0, 1, 2, 3], 1: [4, 5, 6, 7]})

    def test_values_are_what_was_stored_until_then(self):
        bits = struct.unpack("<2I", struct.pack("<2f", 1.5, 7))
        found = steps(access("store", 1, {0: 0, 1: 1}, bits=list(bits)), barrier(2), access("atomic", 3, {0: 1}))
        self.assertEqual(found[0].values[SHARED], dict(enumerate(bits)))
        self.assertEqual(found[1].values[SHARED], {0: bits[0]})

    def test_the_elements_of_a_vector_are_told_apart(self):
        """Such as a struct of two floats, which is stored at once and is no double."""
        bits = [0x41100000, 0x3FE5D8F7]  # 9 and 1.79568
        found = steps({**access("store", 1, {0: 0}, width=8, bits=bits), "elements": 2}, barrier(2))
        self.assertEqual(found[0].values[SHARED], dict(enumerate(bits)))
        self.assertEqual(found[0].arrays[SHARED].width, 4)

    def test_warps_pass_the_barrier_of_a_cluster_one_by_one(self):
        waits = [{"at": "cluster_wait", "file": "tree.cu", "line": 2, "warp": warp, "lanes": 0xFFFFFFFF} for warp in (0, 1)]
        after = [access("load", 3, each(range(32 * warp, 32 * warp + 32))) for warp in (0, 1)]
        found = steps(access("store", 1, {0: 0}), waits[0], after[0], waits[1], after[1])
        self.assertEqual([len(step.requests) for step in found], [1, 2])
        self.assertEqual([step.barrier_line for step in found], [2, None])

    def test_bits_that_are_numbers_of_either_kind(self):
        self.assertTrue(trace_steps.reads_as_float([0x3F800000, 0xC2280000, 0], 4))
        for integers in ([1, 2, 40000], [0xFFFFFFFF, 3], [0, 0]):
            self.assertFalse(trace_steps.reads_as_float(integers, 4))
        self.assertEqual(trace_steps.number(0xFFFFFFFE, 4, False), -2)
        self.assertEqual(trace_steps.number(0xC2280000, 4, True), -42)


class Conflicts(unittest.TestCase):
    def test_only_lanes_that_meet_in_a_bank(self):
        request = access("load", 1, {0: 0, 1: 32, 2: 5, 3: 5}, wavefronts=2, ideal=1)
        threads, elements = steps(request)[0].clashes()
        self.assertEqual(threads, {0, 1})
        self.assertEqual(elements, {(SHARED, 0), (SHARED, 32)})

    def test_none_where_each_lane_has_a_bank(self):
        self.assertEqual(steps(access("load", 1, each(range(32), 7)))[0].clashes(), (set(), set()))


class Races(unittest.TestCase):
    EVENTS = (access("store", 1, each(range(32, 64))), access("load", 2, each(range(32), 32)))

    def test_marked_where_the_check_found_one(self):
        race = steps(*self.EVENTS, hazards=(RACE,))[0].races
        self.assertEqual(len(race), 32)
        self.assertEqual((race[0].element, race[0].threads, race[0].lines), (32, (32, 0), (1, 2)))

    def test_not_where_it_found_none_or_found_it_between_other_lines(self):
        self.assertEqual(steps(*self.EVENTS)[0].races, [])
        self.assertEqual(steps(*self.EVENTS, hazards=(RACE | {"other_line": 7},))[0].races, [])

    def test_not_across_a_barrier_nor_syncwarp_of_the_same_warp(self):
        store, load = access("store", 1, each(range(32))), access("load", 2, each(range(31), 1))
        self.assertEqual([s.races for s in steps(store, warp_barrier(3), load, hazards=(RACE,))], [[], []])
        self.assertEqual([s.races for s in steps(store, barrier(3), load, hazards=(RACE,))], [[], []])
        self.assertEqual([len(s.races) for s in steps(store, load, hazards=(RACE,))], [0, 31])

    def test_not_between_atomics_or_reads(self):
        for kind in ("atomic", "load"):
            self.assertEqual(steps(access(kind, 1, {0: 5}), access(kind, 2, {32: 5}), hazards=(RACE,))[0].races, [])


class Words(unittest.TestCase):
    def test_runs_of_numbers(self):
        for numbers, text in [
            ([3], "3"), ([0, 1], "0, 1"), ([0, 1, 2], "0 to 2"), ([0, 2, 4, 6], "0 to 6 by 2"), ([5, 9, 30], "5, 9, 30"),
            ([0, 1, 2, 3, 8, 9, 10], "0 to 3, 8 to 10"),
        ]:  # fmt: skip
            self.assertEqual(words.runs(numbers), text)

    def test_a_step_of_the_tree(self):
        step = steps(*tree_step(3, 32), barrier(4))[0]
        self.assertEqual(words.summary(step), "32 of 64 threads at work.")
        self.assertEqual(
            words.sentences(step),
            ["Line 3: threads 0 to 31 read partial[0 to 31].", "Line 3: threads 0 to 31 read partial[32 to 63].",
             "Line 3: threads 0 to 31 write partial[0 to 31]."],
        )  # fmt: skip
        self.assertEqual(words.ending(step), "Then all threads wait at the barrier in line 4.")

    def test_warps_that_do_the_same_are_one_sentence(self):
        step = steps(access("store", 1, each(range(32))), access("store", 1, each(range(32, 64))))[0]
        self.assertEqual(words.sentences(step), ["Line 1: threads 0 to 63 write partial[0 to 63]."])

    def test_the_rounds_of_a_loop_are_one_sentence(self):
        loop = [access("load", 7, {0: element}) for element in range(16)]
        self.assertEqual(words.sentences(steps(*loop)[0]), ["Line 7: thread 0 reads partial[0 to 15] in 16 requests."])

    def test_sectors_of_global_memory(self):
        step = steps(access("load", 7, each(range(32)), RESULT, sectors=4), access("load", 7, each(range(32, 64)), RESULT, sectors=4))[0]
        self.assertEqual(words.sentences(step), ["Line 7: threads 0 to 63 read allocation 2[0 to 63], 8 sectors."])

    def test_one_thread_and_an_atomic(self):
        step = steps(access("atomic", 9, {0: 0}, RESULT))[0]
        self.assertEqual(words.sentences(step), ["Line 9: thread 0 updates atomically allocation 2[0]."])

    def test_conflicts_and_races_are_told(self):
        step = steps(*Races.EVENTS, access("load", 5, {0: 0, 1: 32}, wavefronts=2), hazards=(RACE,))[0]
        self.assertIn("1 bank conflict.", words.summary(step))
        self.assertIn("Race: threads 32 and 0 both access partial[32] and 31 more places", words.summary(step))


class Drawing(unittest.TestCase):
    def draw(self, step: trace_steps.Step, **more) -> ElementTree.Element:
        return ElementTree.fromstring(drawing.draw(step, **more))

    def groups(self, svg: ElementTree.Element) -> dict[str, tuple[str, str]]:
        found = {}
        for group in svg:
            if group.tag.endswith("}g"):
                title, rect, text = group
                found[title.text.split(":")[0].split(",")[0].split(" =")[0]] = (rect.get("class"), text.text or "")
        return found

    def test_idle_busy_read_and_written(self):
        drawn = self.groups(self.draw(steps(*tree_step(3, 16))[0]))
        self.assertEqual(len(drawn), 64 + 64)
        self.assertEqual(drawn["thread 15"], ("cell busy", "15"))
        self.assertEqual(drawn["thread 16"], ("cell idle", "16"))
        self.assertEqual([drawn[f"partial[{i}]"][0] for i in (15, 16, 32)], ["cell write", "cell read", "cell untouched"])

    def test_red_is_not_the_only_sign(self):
        drawn = self.groups(self.draw(steps(*Races.EVENTS, hazards=(RACE,))[0]))
        self.assertEqual(drawn["partial[32]"], ("cell race", "!"))
        clashing = self.groups(self.draw(steps(access("load", 1, {0: 0, 1: 32}, wavefronts=2))[0]))
        self.assertEqual(clashing["partial[32]"][0], "cell read clash")
        self.assertIn("stroke-dasharray", drawing.STYLE)

    def test_a_still_stands_alone_and_tells_itself(self):
        text = drawing.draw(steps(*tree_step(3, 32), barrier(4))[0], alone=True, title="a < b")
        svg = ElementTree.fromstring(text)
        self.assertEqual(svg.find("{*}title").text, "a < b")
        self.assertIn("threads 0 to 31 read partial[32 to 63]", svg.find("{*}desc").text)
        self.assertIn("prefers-color-scheme: dark", svg.find("{*}style").text)

    def test_a_link_from_each_thread_to_what_it_touches(self):
        links = [path for path in self.draw(steps(*tree_step(3, 4))[0]) if path.tag.endswith("}path")]
        self.assertEqual(len(links), 12)
        self.assertEqual(sum("stores" in path.get("class") for path in links), 4)

    def test_figures_fit_their_cells(self):
        for value, text in [(0, "0"), (12345, "12345"), (-12345, "-12k"), (123456, "123k"), (0.5, "0.5"), (-1e6, "-1M"), (25e9, "25G")]:
            self.assertEqual(drawing.value_text(value), text)
        for value in (1e-9, 1 / 3, -1 / 3, 99999.7, 16777216.0, 1e30, -1e30):
            self.assertLessEqual(len(drawing.value_text(value)), 6, value)


class Page(unittest.TestCase):
    def page(self) -> str:
        found = steps(*tree_step(3, 32), barrier(4), *tree_step(3, 16), hazards=(RACE,))
        traced = rungs.Run(SimpleNamespace(name="02_tree"), "sequential", {"state": "hazard", "reason": "a <race>"}, {})
        return page.page(traced, found, 0)

    def test_needs_nothing_beside_itself_and_says_each_step(self):
        read = self_contained(self, self.page())
        self.assertIn("Step 2 of 2", read.text)
        self.assertIn("a <race>", read.text)
        self.assertIn("Then all threads wait at the barrier in line 4.", read.text)

    def test_keys_labels_and_a_voice(self):
        text = self.page()
        for sign in ('aria-live="polite"', 'aria-label="Step"', "ArrowRight", "ArrowLeft", 'data-words="Step 1 of 2. 32 of 64',
                     "prefers-reduced-motion", "prefers-color-scheme: dark", "max-width: 40rem"):  # fmt: skip
            self.assertIn(sign, text)

    def test_without_script_all_steps_show(self):
        self.assertNotRegex(self.page(), r'<section class="step"[^>]* hidden')


class Choice(unittest.TestCase):
    def run_of(self, launches: list[dict]) -> SimpleNamespace:
        return SimpleNamespace(trace={"launches": launches}, report={"hazards": []})

    def test_a_block_that_is_not_there(self):
        with self.assertRaisesRegex(KitError, "--block-index 1: the launch has 1 block,"):
            record.steps_of(self.run_of([launch(*tree_step(3, 4))]), 1)

    def test_a_block_that_touches_nothing(self):
        with self.assertRaisesRegex(KitError, "accesses no memory"):
            record.steps_of(self.run_of([launch(barrier(2))]), 0)

    def test_of_several_devices_each_launch_says_on_which(self):
        launches = [launch(*tree_step(3, 4)) | {"device": device} for device in (0, 1, 0)]
        told = [step.launch for step in record.steps_of(self.run_of(launches), 0)]
        self.assertEqual(told, [f"launch {i} of 3, on device {device}: tree" for i, device in ((1, 0), (2, 1), (3, 0))])

    def test_a_rung_of_several_processes_is_refused(self):
        rung = {"name": "ranks", "state": "filled", "in_processes": True}
        lab = labs.Lab("12_x", Path("none"), Path("none"))
        for asked in (rung, rung | {"state": "todo", "todo": "write it", "file": "x.cu", "line": 1}):
            with mock.patch.object(labs, "ask", return_value={"rungs": [asked]}):
                with self.assertRaisesRegex(KitError, "ranks runs in several processes, one per device, .* cannot be traced") as raised:
                    rungs.one_to_trace(lab, "ranks")
            self.assertEqual(raised.exception.code, USAGE)
        with mock.patch.object(labs, "ask", return_value={"rungs": [rung]}), self.assertRaisesRegex(KitError, "cannot be run step by step"):
            rungs.one_to_trace(lab, "ranks", "run step by step")
        with mock.patch.object(labs, "ask", return_value={"rungs": [{"name": "alone", "state": "filled"}]}):
            self.assertEqual(rungs.one_to_trace(lab, "alone"), "alone")


class Animation(unittest.TestCase):
    def picture(self) -> ElementTree.Element:
        made = steps(*tree_step(1, 16), barrier(2), *tree_step(1, 8), barrier(2), *tree_step(1, 4), threads=32, elements=32)
        return ElementTree.fromstring(animation.animate(made, "a tree"))

    def test_shows_each_step_in_turn(self):
        frames = self.picture().findall("{*}g[@class='frame']")
        self.assertEqual(len(frames), 3)
        delays = [frame.get("style").split(";")[0] for frame in frames]
        self.assertEqual(delays, [f"animation-delay:{index * animation.SECONDS:g}s" for index in range(3)])
        captions = [frame.find("{*}text").text for frame in frames]
        self.assertTrue(all(caption.startswith(f"step {i} of 3: ") for i, caption in enumerate(captions, 1)), captions)

    def test_stands_still_for_those_who_ask_for_that_and_says_itself_in_words(self):
        picture = self.picture()
        self.assertIn("prefers-reduced-motion: reduce", picture.find("{*}style").text)
        self.assertIn("Step 3: ", picture.find("{*}desc").text)
        self.assertEqual(picture.find("{*}title").text, "a tree")


if __name__ == "__main__":
    unittest.main()
