"""Runs in compare50's own environment: with_compare50.py FOLDER COUNT MOST. FOLDER has 0.cu, 1.cu, ... and stub.cu; prints [[a, b, score,
share of the shorter one's code]], most alike first."""

import json
import sys
from pathlib import Path

from compare50 import Submission, _api
from compare50.passes import structure

folder, count, most = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
_api.Executor = _api.FauxExecutor  # so small a task needs no processes


def submission(name: str) -> Submission:
    chosen = structure.preprocessors

    def preprocessor(tokens):
        for each in chosen:
            tokens = each(tokens)
        return tokens

    return Submission(folder, [name], preprocessor=preprocessor)


def covered(spans) -> int:
    """Characters in any of these."""
    total, end = 0, -1
    for span in sorted(spans, key=lambda span: span.start):
        total += max(0, span.end - max(span.start, end))
        end = max(end, span.end)
    return total


submissions = [submission(f"{number}.cu") for number in range(count)]
numbers = {each.id: number for number, each in enumerate(submissions)}
stub = list(submission("stub.cu"))
with _api.progress_bar("", disable=True):
    scores = _api.rank(submissions, [], stub, structure, n=most)
    compared = structure.comparator.compare(scores, stub)
answer = []
for score, comparison in zip(scores, compared, strict=True):
    shares = []
    for sub, side in ((comparison.sub_a, 0), (comparison.sub_b, 1)):
        (file,) = sub.files
        code = covered(file.tokens()) - covered([span for span in comparison.ignored_spans if span.file == file])
        shares.append(min(1.0, covered([match[side] for match in comparison.span_matches]) / max(1, code)))
    answer.append([numbers[score.sub_a.id], numbers[score.sub_b.id], round(score.score, 1), round(max(shares), 3)])
print(json.dumps(answer))
