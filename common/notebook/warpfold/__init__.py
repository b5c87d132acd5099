"""Warpfold in a notebook: fill in a kernel in a cell, check it, and see what each line costs.

import warpfold                       # also defines the cell magic %%lab
lab = warpfold.open("01_naive_atomic")
lab.check()                           # the verdict; a rung that fails, fails the cell
lab.profile("naive_atomic")           # the source with counts beside each line
lab.compare("warp_instructions")      # a plot of the lab's rungs
warpfold.ladder()                     # all rungs of the course
warpfold.example("neighbours")        # what pictures, profiles and traces look like
"""

from .examples import example
from .figures import figure
from .labs import Lab
from .ladders import ladder
from .measured import measured
from .opening import open
from .verdict import BuildFailed, CheckFailed, LabError

__all__ = ["BuildFailed", "CheckFailed", "Lab", "LabError", "example", "figure", "ladder", "load_ipython_extension", "measured", "open"]


def load_ipython_extension(shell) -> None:
    """`%load_ext warpfold`; importing the package in a notebook does the same."""
    from .magics import register

    register(shell)


def _register_where_there_is_a_notebook() -> None:
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None:
        load_ipython_extension(shell)


_register_where_there_is_a_notebook()
