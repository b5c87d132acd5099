"""The ladder: every solved rung of the course beside the others."""

from . import clone, plots
from .labs import has_solutions, left_out
from .progress import Progress
from .verdict import LabError

GPU_SIZES = (1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 26)


def ladder(*labs: str, n: int = 1 << 16, solved: bool = True) -> plots.Picture | plots.Note:
    """Time against n on a GPU, with the line that reading alone takes; without one, counts for each element.

    `labs`: names or numbers; all of them without. `solved=False` shows the student's own rungs instead, and so does an edition
    without solutions.
    """
    solved = solved and has_solutions()
    if labs and not solved:
        labs = tuple(name for name in labs if left_out(name) is None)
        if not labs:
            return plots.Note("This edition includes none of the labs that would be shown here.")
    with Progress() as progress:
        chosen = [clone.named(name, solved, progress) for name in labs] or clone.all_labs(solved, progress)
        for lab in chosen:
            clone.build(lab, progress)
        answers = [clone.ask(lab, progress, f"counting {lab.name}", "--profile", "--n", str(n)) for lab in chosen]
        device = next((answer["device"] for answer in answers if answer.get("device")), None)
        if device and device["kind"] == "gpu":
            return timed(chosen, device["name"], progress)
    return counted(answers)


def counted(answers: list[dict]) -> plots.Picture | plots.Note:
    found = {}
    for answer in answers:
        for rung in answer["rungs"]:
            if profile := rung.get("profile"):
                size = profile["n"]
                found[rung["name"]] = {key: profile["counters"].get(key, 0) / size for key in plots.TELLING} | {"n": size}
    if not found:
        instead = ", or use ladder(solved=True)" if has_solutions() else ""
        return plots.Note(f"No rung of these labs passes yet: fill in a TODO first{instead}.")
    return plots.bars(found, plots.TELLING, "The ladder: counts per element")


def timed(chosen: list, device: str, progress: Progress) -> plots.Picture:
    series: dict[str, list[dict]] = {}
    for n in GPU_SIZES:
        for lab in chosen:
            for rung in clone.ask(lab, progress, f"timing {lab.name}, n = {n:,}", "--time", "--n", str(n))["rungs"]:
                if rung.get("time"):
                    series.setdefault(rung["name"], []).append(rung["time"])
    if not series:
        raise LabError("the GPU gave no times; `lab.check()` may say why")
    return plots.roofline(series, device)
