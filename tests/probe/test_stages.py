"""One bar for the whole command."""

from jaxdoctor.probe.stages import STAGES, Staged


class Heard:
    def __init__(self):
        self.titles, self.amounts = [], []

    def stage(self, title, total=None):
        assert total == len(STAGES)
        self.titles.append(title)

    def reached(self, amount):
        self.amounts.append(amount)


def test_stages_are_counted_and_the_bar_never_goes_back():
    """What belongs to no stage, or to one that is over, counts with the one under way."""
    heard = Heard()
    staged = Staged(heard, "hand, 1 of 2, ")
    for title, total, amount in [
        ("reading the model", None, 0),
        ("measuring products", 16, 8),
        ("compiling the step", None, 0),
        ("replaying the named precisions", 100, 50),
        ("something else", 10, 1),
        ("reading on", None, 0),
        ("taking single steps", 50, 60),
    ]:
        staged.stage(title, total)
        staged.reached(amount)

    assert heard.titles[0] == "hand, 1 of 2, 1 of 5: reading the model"
    assert [title.partition(": ")[0][-6:] for title in heard.titles] == [
        "1 of 5", "2 of 5", "3 of 5", "4 of 5", "4 of 5", "4 of 5", "5 of 5",
    ]  # fmt: skip
    assert heard.amounts == [0, 1, 1.5, 2, 3, 3.5, 3, 3.1, 3, 4, 5]
