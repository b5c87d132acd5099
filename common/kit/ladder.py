"""The ladder as text."""


def show(answers: list[dict]) -> None:
    for answer in answers:
        for rung in answer["rungs"]:
            print(rung["rung"], rung["state"])
