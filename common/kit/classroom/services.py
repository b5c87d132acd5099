"""Services that grade each submission as it comes in: what they are given, and what they expect back.

Gradescope: https://gradescope-autograders.readthedocs.io (specifications of setup.sh, run_autograder, results.json).
PrairieLearn: https://prairielearn.readthedocs.io/en/latest/externalGrading/."""

import io
import re
import zipfile
from pathlib import Path

from . import archive, config, grader, handin, marks, release, results, version
from .archive import Entry
from .handin import Stub
from .index import Found
from .regions import NotALab, splice
from .roster import Student
from .sandbox import Sandbox

FORMS = ("gradescope", "prairielearn", "json")


# ---- grading one submission


def newest(folder: Path, stub: Stub) -> str | None:
    """The newest text of this lab among the files of a submission, within a student's limits."""
    found = []
    with archive.listed(folder) as listed:
        for entry in archive.read([each for each in listed if isinstance(each, archive.Listed)]):
            if not isinstance(entry, Entry) or entry.data is None:
                continue
            name, _ = handin.as_named(entry.path)
            if not handin.lab_of(name, entry.data, [stub]):
                continue
            try:
                text = handin.as_source(name, entry.data, stub)
                touched = not splice(stub.text, text).untouched >= {rung for rung, _ in stub.keys}
                found.append((touched, entry.time, entry.path, text))
            except NotALab:
                found.append((False, entry.time, entry.path, entry.data.decode(errors="replace")))
    return max(found)[3] if found else None


def grade_one(lab: version.Lab, folder: Path, course: config.Course, hidden: grader.Hidden, sandbox: Sandbox, work: Path) -> marks.Mark:
    """The mark for one submission, which is in a folder."""
    student = Student("submission", "submission")
    most = sum(course.points_of(lab.name, rung) for rung in lab.rungs)
    text = newest(folder, Stub(lab.name, lab.file, lab.pristine.read_text()))
    if text is None:
        return marks.Mark(student, lab.name, most, 0.0, "missing", f"no file of {lab.name} was handed in: {lab.file}, or its handout")
    result = grader.grade(lab, text, hidden, sandbox)
    found = Found(work, lab.name, "submission")
    results.write(
        results.place(work, lab.name, found.key) if result["graded"] else results.failure_place(work, lab.name, found.key), result
    )
    return marks.mark(work, course, student, lab.name, lab.rungs, found, {})


def text_of(rung: marks.RungMark) -> str:
    parts = [f"{rung.state}: {rung.reason}" if rung.reason else rung.state, rung.detail.get("diagnosis", {}).get("text", "")]
    for hazard in rung.detail.get("hazards", [])[:3]:
        parts.append(
            "\n".join(
                each
                for each in (
                    f"{hazard['kind']}: {hazard['message']} ({hazard['file']}:{hazard['line']})",
                    hazard.get("why", ""),
                    hazard.get("advice", ""),
                )
                if each
            )
        )
    return "\n".join(part for part in parts if part)


def as_gradescope(mark: marks.Mark, seconds: float) -> dict:
    """results.json. It has no score if nothing could be graded: Gradescope then shows an error, not a zero."""
    told: dict = {
        "visibility": "visible",
        "execution_time": round(seconds, 1),
        "output": mark.why or f"{mark.lab}: {mark.points:g} of {mark.most:g} points",
    }
    if mark.points is None:
        return told | {"tests": []}
    tests = [
        {
            "name": rung.name,
            "score": rung.points,
            "max_score": rung.most,
            "status": "passed" if rung.state == "pass" else "failed",
            "output": text_of(rung),
            "visibility": "visible",
        }
        for rung in mark.rungs
    ]
    passed = sum(rung.state == "pass" for rung in mark.rungs)
    return told | {"score": mark.points, "tests": tests, "leaderboard": [{"name": "Rungs that pass", "value": passed, "order": "desc"}]}


def as_prairielearn(mark: marks.Mark) -> dict:
    told: dict = {"gradable": mark.points is not None, "message": mark.why or f"{mark.lab}: {mark.points:g} of {mark.most:g} points"}
    if mark.points is None:
        return told | {"format_errors": [mark.why]}
    tests = [
        {
            "name": rung.name,
            "description": rung.state,
            "points": rung.points,
            "max_points": rung.most,
            "message": "" if rung.state == "pass" else text_of(rung),
        }
        for rung in mark.rungs
    ]
    return told | {"score": round(mark.points / mark.most, 6) if mark.most else 0.0, "tests": tests}


def as_form(form: str, mark: marks.Mark, seconds: float) -> dict:
    if form == "gradescope":
        return as_gradescope(mark, seconds)
    if form == "prairielearn":
        return as_prairielearn(mark)
    return {
        "lab": mark.lab,
        "state": mark.state,
        "why": mark.why,
        "points": mark.points,
        "most": mark.most,
        "flags": mark.flags,
        "rungs": [rung.detail for rung in mark.rungs],
    }


# ---- what a service is given

SETUP = """#!/usr/bin/env bash
# Run once, when the image is made: installs and builds everything that grading needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ca-certificates python3 python3-venv g++ pkg-config ninja-build bubblewrap util-linux \\
  libfmt-dev nlohmann-json3-dev libcli11-dev liblz4-dev libzstd-dev
mkdir -p "$here/course"
tar -xzf "$here/course.tar.gz" -C "$here/course" --strip-components=1
cd "$here/course"
./kit autograder build --lab @LAB@
chmod -R go= "$here"  # the solutions are in there
"""
RUN = """#!/usr/bin/env bash
# Run once per submission, as root in a container of its own.
set -euo pipefail
top=${AUTOGRADER:-/autograder}
cd "$top/source/course"
exec ./kit autograder run --lab @LAB@ --form gradescope --class "$top/source/class" --submission "$top/submission" --results "$top/results/results.json"
"""
DOCKERFILE = """# The image of PrairieLearn's external grader. Build it here: docker build -t NAME .
FROM debian:12
COPY course.tar.gz setup.sh /grader/
COPY class /grader/class
RUN bash /grader/setup.sh
COPY run.sh /grader/run.sh
"""
PRAIRIELEARN_RUN = """#!/usr/bin/env bash
# The entrypoint: info.json of the question says "externalGradingOptions": {"enabled": true, "image": NAME, "entrypoint": "bash /grader/run.sh"}.
set -euo pipefail
top=${GRADE:-/grade}
mkdir -p "$top/results"
cd "${GRADER:-/grader}/course"
exec ./kit autograder run --lab @LAB@ --form prairielearn --class "${GRADER:-/grader}/class" --submission "$top/student" --results "$top/results/results.json"
"""
WORKFLOW = """# For a class on a git service. This file belongs in the instructor's own private repository of the full course, as
# .github/workflows/grade.yml. A student's repository holds no workflow and no token: what a student may edit never runs where the
# solutions can be read.
#
# Set there: the variable REPOSITORIES, a JSON list such as ["school/tree-ann", "school/tree-ben"], and the secret STUDENTS_TOKEN, which
# may read those repositories and write their commit statuses. No student may have any access to the instructor's repository.
name: Grade
on:
  workflow_dispatch:
  schedule:
    - cron: "17 * * * *"
permissions:
  contents: read
jobs:
  grade:
    runs-on: ubuntu-22.04  # where every user may create user namespaces
    timeout-minutes: 30
    strategy:
      fail-fast: false
      matrix:
        repository: "${{ fromJSON(vars.REPOSITORIES) }}"
    steps:
      - uses: actions/checkout@v4
        with: {path: course, persist-credentials: false}
      - uses: actions/checkout@v4
        with: {path: submission, repository: "${{ matrix.repository }}", token: "${{ secrets.STUDENTS_TOKEN }}", persist-credentials: false}
      - run: sudo apt-get update && sudo apt-get install -y bubblewrap
      - working-directory: course
        run: ./kit autograder build --lab @LAB@
      - working-directory: course
        run: ./kit autograder run --lab @LAB@ --form json --submission ../submission --results ../grade.json
      - if: always()
        env: {GH_TOKEN: "${{ secrets.STUDENTS_TOKEN }}", REPOSITORY: "${{ matrix.repository }}"}
        run: |
          commit=$(git -C submission rev-parse HEAD)
          points=$(python3 -c 'import json; mark = json.load(open("grade.json")); print(mark["points"], "of", mark["most"], "points")') || points="not graded"
          gh api "repos/$REPOSITORY/statuses/$commit" -f state=success -f context=@LAB@ -f description="$points"
      - uses: actions/upload-artifact@v4
        if: always()
        with: {name: "grade-${{ strategy.job-index }}", path: grade.json}
"""


def whole_course() -> bytes:
    """Everything that git tracks, as an archive: the grader needs the solutions as well."""
    import tempfile

    held = {}
    for name in release.files():
        path = release.ROOT / name
        held[name] = (
            (str(path.readlink()).encode(), 0o120000)
            if path.is_symlink()
            else (path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
        )
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "course.tar.gz"
        release.write_archive(target, held, "course")
        return target.read_bytes()


def write(kind: str, lab: str, out: Path, settings: dict[str, bytes]) -> None:
    """`settings`: course.toml and the like, by name."""
    fill = lambda text: text.replace("@LAB@", lab).encode()  # noqa: E731
    if kind == "git":
        out.write_bytes(fill(WORKFLOW))
    elif kind == "gradescope":
        files = {"setup.sh": fill(SETUP), "run_autograder": fill(RUN), "course.tar.gz": whole_course()} | {
            f"class/{name}": data for name, data in settings.items()
        }
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in files.items():
                entry = zipfile.ZipInfo(name)
                entry.external_attr = (0o100755 if name in ("setup.sh", "run_autograder") else 0o100644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                file.writestr(entry, data)
        out.write_bytes(packed.getvalue())
    else:
        out.mkdir(parents=True, exist_ok=True)
        for name, data in {
            "Dockerfile": fill(DOCKERFILE),
            "setup.sh": fill(SETUP),
            "run.sh": fill(PRAIRIELEARN_RUN),
            "course.tar.gz": whole_course(),
        }.items():
            (out / name).write_bytes(data)
        (out / "class").mkdir(exist_ok=True)
        for name, data in settings.items():
            (out / "class" / name).write_bytes(data)


def is_a_container() -> bool:
    """Whether this is a container that a service made for this one submission, in which no sandbox can be made."""
    return bool(re.search(r"docker|containerd|kubepods", Path("/proc/1/cgroup").read_text())) or Path("/.dockerenv").exists()
