"""Read HFiles: sorted keys and their values, in blocks that an index finds."""


class HFileError(ValueError):
    """Bytes are not an HFile; ``offset`` counts from the start of the HFile."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem, offset)
        self.problem = problem
        self.offset = offset

    def __str__(self) -> str:
        return f"at byte {self.offset}: {self.problem}"
