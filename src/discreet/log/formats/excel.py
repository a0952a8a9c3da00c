"""Reading Excel workbooks: one sheet, every cell as text."""

from __future__ import annotations

from pathlib import Path

from discreet.log.columns import RawTable, below_header
from discreet.log.errors import LogError, option
from discreet.log.files import readable


def read_excel(path: Path, sheet: str | None = None) -> RawTable:
    """The named sheet, or the only one. Each cell becomes text by itself, not by its column."""
    try:
        import fastexcel
    except ImportError:
        raise LogError(
            f"reading {path.name} needs fastexcel; pip install 'discreet[excel]', or save the "
            "sheet as CSV UTF-8"
        ) from None
    with readable(path):
        data = path.read_bytes()
    try:
        book = fastexcel.read_excel(data)
        names = book.sheet_names
        if sheet is None and len(names) != 1:
            raise LogError(
                f"{path.name} has the sheets {', '.join(map(repr, names))}; name one with "
                f"{option('sheet')}"
            )
        if sheet is not None and sheet not in names:
            raise LogError(
                f"{path.name} has no sheet {sheet!r}, given as {option('sheet')}; it has "
                f"{', '.join(map(repr, names))}"
            )
        table = book.load_sheet(sheet or names[0], dtypes="string").to_polars()
    except fastexcel.FastExcelError as error:
        reason = str(error).strip().partition("\n")[0]
        raise LogError(f"{path.name} is not a readable Excel file: {reason}") from None
    return RawTable(path.name, table, below_header).without_blanks()
