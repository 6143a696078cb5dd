"""What a table may hold, when some outcomes are unknown.

A row's model is the set of values that it may have. A write that was acknowledged maps every one of them; one whose outcome is
unknown adds the mapped ones to those that were there. What is read must be one of them, and is then the only one.
"""


class Cells:
    """Rows by key; each has a set of possible values, `None` being no row."""

    def __init__(self):
        self.possible = {}

    def of(self, key) -> set:
        return self.possible.get(key, {None})

    def write(self, key, change, known: bool):
        """Applies `change` (a function from value to value) that was acknowledged (`known`) or may or may not have happened."""
        before = self.of(key)
        after = {change(value) for value in before}
        self.possible[key] = after if known else before | after

    def check(self, rows: dict, what: str):
        """Compares everything that was read with everything that may be there."""
        wrong = []
        for key in self.possible.keys() | rows.keys():
            seen = rows.get(key)
            if seen not in self.of(key):
                wrong.append(f"{key}: read {seen!r}, possible {sorted(self.of(key), key=repr)!r}")
            self.possible[key] = {seen}
        assert not wrong, f"{what}: {len(wrong)} rows are wrong, for instance\n  " + "\n  ".join(wrong[:10])
