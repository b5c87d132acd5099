"""What a service is given so that it grades each submission as it comes in.

Gradescope: https://gradescope-autograders.readthedocs.io (setup.sh, run_autograder).
PrairieLearn: https://prairielearn.readthedocs.io/en/latest/externalGrading/."""

import io
import zipfile
from pathlib import Path

from ..course import release

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
./kit class autograder build --lab @LAB@
chmod -R go= "$here"  # the solutions are in there
"""
RUN = """#!/usr/bin/env bash
# Run once per submission, as root in a container of its own.
set -euo pipefail
top=${AUTOGRADER:-/autograder}
cd "$top/source/course"
exec ./kit class autograder run --lab @LAB@ --form gradescope --class "$top/source/class" --submission "$top/submission" --results "$top/results/results.json"
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
exec ./kit class autograder run --lab @LAB@ --form prairielearn --class "${GRADER:-/grader}/class" --submission "$top/student" --results "$top/results/results.json"
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
        run: ./kit class autograder build --lab @LAB@
      - working-directory: course
        run: ./kit class autograder run --lab @LAB@ --form json --submission ../submission --results ../grade.json
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
