"""Which lab a name means, and what stands beside it for the solutions."""

from .labs import Lab, has_solutions, left_out, solved_by_default, tree
from .own_rungs import OwnRungs
from .verdict import LabError


def open(name: str) -> Lab:
    """The lab of that name; its number or any unmistakable part of its name will do. Its `solved` is the same lab from solutions/,
    or, where there are none, what the student's own rungs show once they are right."""
    folders = sorted(path.name for path in tree().iterdir() if path.is_dir())
    found = [each for each in folders if each == name] or [each for each in folders if name in each]
    if not found and (absent := left_out(name)):
        return solved(absent)
    if len(found) != 1:
        raise LabError(f"{name}: {'could be several labs' if found else 'no such lab'}. The labs: {', '.join(found or folders)}")
    lab = Lab(found[0], solved_by_default())
    lab.solved = solved(lab.name)
    return lab


def solved(name: str) -> Lab:
    return Lab(name, True) if has_solutions() else OwnRungs(name)
