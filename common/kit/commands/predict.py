"""`kit predict RUNG COUNTER=NUMBER...`: a prediction, compared with the counts once the rung is filled in; and with `--gpus P`
the time that a model predicts for a sum over P GPUs."""

import json
import sys
from dataclasses import asdict

from .. import options as shared
from ..console import say, width
from ..errors import USAGE, KitError
from ..ladder import guesses
from ..many_gpus import scaling_listing
from ..programs import folder, labs, rungs
from ..progress import course

PURPOSE = "predict a rung's counts before you see them"
MORE = "Your prediction of a count is kept, and shown beside the count. With --gpus, the time on many GPUs is predicted."
GROUP = "learn"
ORDER = 44


def arguments(parser) -> None:
    parser.add_argument(
        "rung",
        metavar="RUNG",
        nargs="?",
        help="the rung, such as sequential or 02_tree/sequential; for a lab, such as 02_tree, show all predictions",
    )
    parser.add_argument(
        "values",
        nargs="*",
        metavar="COUNTER=NUMBER",
        help="what you predict, such as atomics=2^20 or sectors=131072; if you give none, you are asked",
    )
    parser.add_argument("--over", metavar="R", help="the numbers are ratios: multiples of the counts of rung R of the same lab")
    parser.add_argument("--n", metavar="N", help="number of elements, such as 1000 or 2^20; with --gpus over all GPUs (default: 2^33)")
    parser.add_argument("--rows", metavar="R", help="rows of the matrix of N elements, for a lab that sums rows")
    parser.add_argument("--block", metavar="B", help="threads per block")
    rungs.solutions(parser)
    parser.add_argument(
        "--gpus",
        metavar="P",
        help="instead: the time that a model predicts for the sum of N floats on P GPUs (H200, 1 to 16384), by each method: lab 12's rungs, one_kernel with a host thread per GPU, and NCCL's all-reduce",
    )
    shared.json(parser)


def run(options) -> int:
    if options.gpus is not None:
        return over_gpus(options)
    if options.rung is None:
        raise KitError("name a rung, or give --gpus", "./kit predict 02_tree/sequential barriers=36864, or ./kit predict --gpus 64", USAGE)
    if options.solutions:
        rungs.require_solutions("--solutions")
    build = folder.prepare()
    known = labs.find(build, solved=options.solutions)
    if lab := next((lab for lab in known if options.rung.strip("/") in (lab.name, f"labs/{lab.name}")), None):
        if options.values or options.over:
            raise KitError(
                f"{lab.name} is a lab; name one of its rungs", f"./kit predict {lab.name}/RUNG {' '.join(options.values)}".rstrip(), USAGE
            )
        chosen = [guess for guess in guesses.kept() if guess.lab == lab.name]
        if not chosen:
            raise KitError(f"there are no predictions for {lab.name} yet", f"./kit predict {lab.name}/RUNG atomics=1000")
    else:
        rung = course.named(course.rungs(build, known), options.rung)
        lab = rung.lab
        if options.over:
            course.named([each for each in course.rungs(build, known) if each.lab == lab], options.over)
        chosen = [entered(lab, rung.name, options)]
    labs.compile(build, [lab])
    return show(lab, chosen, options.json)


def over_gpus(options) -> int:
    for name in ("values", "over", "rows", "block", "solutions"):
        if getattr(options, name):
            raise KitError(
                f"--gpus predicts a time, so it does not go with {' '.join(options.values) if name == 'values' else '--' + name}",
                code=USAGE,
            )
    gpus, n = (whole(text, option) for text, option in ((options.gpus, "--gpus"), (options.n or "2^33", "--n")))
    way = options.rung.strip("/").rpartition("/")[2] if options.rung else None
    found = scaling_listing.entries(n, gpus, way)
    print(json.dumps(found, indent=1) if options.json else scaling_listing.text(found))
    return 0


def whole(text: str, option: str) -> int:
    value = guesses.number(text)
    if value != int(value):
        raise KitError(f"{option} {text}: give a whole number", code=USAGE)
    return int(value)


def entered(lab: labs.Lab, rung: str, options) -> guesses.Guess:
    """The prediction from the command line, or asked for one number at a time; it is saved."""

    def whole(value: str | None) -> int | None:
        return None if value is None else int(guesses.number(value))

    guess = guesses.Guess(lab.name, rung, {}, options.over or "", whole(options.n), whole(options.rows), whole(options.block))
    for word in options.values:
        name, is_given, value = word.partition("=")
        if not is_given:
            raise KitError(f"{word}: give a counter and a number", f"For example, {word}=4096", USAGE)
        guess.values[guesses.counter_named(name)] = guesses.number(value)
    if not options.values:
        ask(guess)
    if not guess.values:
        raise KitError("nothing was predicted", f"./kit predict {lab.name}/{rung} atomics=1000", USAGE)
    guesses.keep(guess)
    return guess


def ask(guess: guesses.Guess) -> None:
    if not sys.stdin.isatty():
        raise KitError("no number was given", f"./kit predict {guess.lab}/{guess.rung} atomics=1000", USAGE)
    print(f"{guess.where}: what do you expect? Type a number, or press Enter to skip.")
    for key in guesses.USUAL:
        while answer := input(f"  {guesses.counters.CATALOGUE[key].label}: ").strip():
            try:
                guess.values[key] = guesses.number(answer)
                break
            except KitError as error:
                print(f"  {error}. {error.advice}")


def show(lab: labs.Lab, chosen: list[guesses.Guess], as_json: bool) -> int:
    answers = []
    for guess in chosen:
        found = guesses.counted(lab, guess)
        answers.append(asdict(guess) | {"counted": found})
        if as_json:
            continue
        if found is None:
            say(f"{guess.where}: recorded. It is shown beside the counts once the rung is right: ./kit watch, or ./kit predict {guess.lab}")
        else:
            print("\n".join(guesses.lines(guess, found, width())))
    if as_json:
        print(json.dumps(answers, indent=1))
    return 0
