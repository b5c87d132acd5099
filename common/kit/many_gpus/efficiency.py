"""Sums over several GPUs, and what follows from their times: GB/s in all, and the efficiency of strong and of weak scaling.

Strong scaling: n elements in all, however many GPUs share them. Weak scaling: so many elements per GPU. In both

    efficiency on p GPUs = (GB/s on p GPUs) / (p * GB/s on one GPU)

where one GPU has the same n in strong scaling, and what each has in weak scaling. What is divided by is the time of the same line
on one GPU; and of the champion of lab 09, which brings nothing together, if that has been measured in the same run.
"""

from collections.abc import Callable
from dataclasses import dataclass

BYTES = 4  # of an element
SMALLEST, LARGEST = 20, 33  # powers of two: the elements in all of strong scaling
PER_GPU = 1 << 32  # elements, of weak scaling
CHAMPION = "champion, parts alone"


@dataclass(frozen=True)
class Time:
    us: float
    low: float | None = None  # the quartiles, if it was measured
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """One way of adding up."""

    name: str
    times: dict[tuple[int, int], Time]  # by GPUs and elements in all


@dataclass(frozen=True)
class Scaling:
    device: str  # NVIDIA H200
    gpus: int
    lines: list[Line]
    predicted: bool = False

    def counts(self) -> list[int]:
        """The numbers of GPUs of weak scaling: 1, 2, 4 ... and all."""
        weak = {gpus for line in self.lines for gpus, n in line.times if n == gpus * PER_GPU and gpus <= self.gpus}
        return sorted(weak)

    def sizes(self) -> list[int]:
        """The n of strong scaling."""
        strong = {n for line in self.lines for gpus, n in line.times if gpus == self.gpus and 1 << SMALLEST <= n <= 1 << LARGEST}
        return sorted(n for n in strong if n & (n - 1) == 0)

    def champion(self) -> Line | None:
        return next((line for line in self.lines if line.name == CHAMPION), None)


def gb_per_s(line: Line, gpus: int, n: int) -> float | None:
    time = line.times.get((gpus, n))
    return 1e-3 * BYTES * n / time.us if time else None


def strong(line: Line, gpus: int, n: int, over: Line | None = None) -> float | None:
    """`over`: the line whose figure on one GPU counts as 1; its own, if not said otherwise."""
    return part(gb_per_s(line, gpus, n), gb_per_s(over or line, 1, n), gpus)


def weak(line: Line, gpus: int, over: Line | None = None) -> float | None:
    return part(gb_per_s(line, gpus, gpus * PER_GPU), gb_per_s(over or line, 1, PER_GPU), gpus)


def part(together: float | None, alone: float | None, gpus: int) -> float | None:
    return together / (gpus * alone) if together and alone else None


def predict(device: str, gpus: int, names: list[str], us: Callable[[str, int, int], float | None]) -> Scaling:
    """`us`: predicted microseconds by name, elements in all and GPUs, as far as there is a prediction."""
    sizes = [1 << exponent for exponent in [*range(SMALLEST, LARGEST, 3), LARGEST]]
    points = {(count, n) for count in (1, gpus) for n in sizes} | {(count, count * PER_GPU) for count in powers_up_to(gpus)}
    lines = []
    for name in names:
        known = {(count, n): us(name, n, count) for count, n in sorted(points)}
        times = {point: Time(value) for point, value in known.items() if value is not None}
        if times:
            lines.append(Line(name, times))
    return Scaling(device, gpus, lines, predicted=True)


def powers_up_to(gpus: int) -> list[int]:
    """1, 2, 4 ... and the number itself."""
    return [1 << k for k in range((gpus - 1).bit_length())] + [gpus]


def as_json(scaling: Scaling) -> dict:
    """For other programs to read; "of_champion" is the efficiency over the champion's time on one GPU."""
    champion = scaling.champion()

    def row(line: Line, gpus: int, n: int, own: float | None, of_champion: float | None) -> dict:
        time = line.times[gpus, n]
        known = {"name": line.name, "gpus": gpus, "n": n, "us": time.us, "low_us": time.low, "high_us": time.high,
                 "gb_per_s": gb_per_s(line, gpus, n), "efficiency": own, "of_champion": of_champion}  # fmt: skip
        return {key: value for key, value in known.items() if value is not None}

    return {
        "device": scaling.device,
        "gpus": scaling.gpus,
        "predicted": scaling.predicted,
        "strong": [
            row(line, scaling.gpus, n, strong(line, scaling.gpus, n), strong(line, scaling.gpus, n, champion) if champion else None)
            for line in scaling.lines
            for n in scaling.sizes()
            if (scaling.gpus, n) in line.times
        ],
        "weak": [
            row(line, count, count * PER_GPU, weak(line, count), weak(line, count, champion) if champion else None)
            for line in scaling.lines
            for count in scaling.counts()
            if (count, count * PER_GPU) in line.times
        ],
    }
