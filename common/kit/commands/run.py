"""`kit run LAB --rung R`: the rung on the numbers 1 to 9, with the array after each step."""

import json

from .. import options as shared
from ..console import width
from ..programs import rungs
from ..trace import small, words

PURPOSE = "run a rung on 1 to 9, and print every step"
GROUP = "learn"
ORDER = 58


def arguments(parser) -> None:
    rungs.arguments(parser)
    parser.add_argument("--rung", metavar="R", help="the rung to run (default: the lab's only one)")
    shared.json(parser)


def run(options) -> int:
    options.n = options.n or str(small.USUAL_N)
    lab = rungs.find(options)
    found = small.run(lab, rungs.one_to_trace(lab, options.rung, "run step by step"), options)
    if options.json:
        print(json.dumps(found.answer | {"right": found.right, "steps": [
            {"launch": step.launch, "words": words.sentences(step),
             "arrays": {array.name: small.values_of(found, step, index, array) for index, array in enumerate(step.arrays)}}
            for step in found.steps
        ]}, indent=1))  # fmt: skip
    else:
        small.show(found, width())
    return 0 if found.right else 1
