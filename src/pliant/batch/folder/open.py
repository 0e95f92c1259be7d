"""open_study: a study from its folder, also while it is being written, without its model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.arguments import as_path
from pliant.batch.cases import Case
from pliant.batch.folder.store import FolderKeeping, read_manifest, variable_name
from pliant.batch.study import Study
from pliant.calls import by_keyword
from pliant.errors import ArgumentError


class StoredCases:
    """The cases of a folder, as a table."""

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet

        try:
            table = pyarrow.parquet.read_table(folder / "cases.parquet")
        except (OSError, pyarrow.ArrowException) as error:
            raise ArgumentError(
                f"{folder / 'cases.parquet'} cannot be read: {error}", hint="is this a study?"
            ) from None
        self.found = {
            variable_name(name): table.column(name).to_numpy() for name in table.column_names if name != "case"
        }
        self.n = int(table.num_rows)

    def __len__(self) -> int:
        return self.n

    def columns(self) -> dict[str, Any]:
        """By name."""
        return dict(self.found)

    def case(self, k: int) -> Case:
        """Numbers of a case, as its table has them."""
        names = self.found.get("name")
        numbers = {name: float(column[k]) for name, column in self.found.items() if name != "name"}
        numbers = {name: value for name, value in numbers.items() if not np.isnan(value)}
        return Case("" if names is None else str(names[k]), numbers)


@by_keyword
def open_study(folder: Any) -> Study:
    """Open a study that ``simulate_many(..., save=folder)`` or ``pliant sweep --save`` wrote."""
    path = as_path("the folder", folder)
    if not path.is_dir():
        raise ArgumentError(f"there is no folder {path}", hint="check the path")
    if not (path / "manifest.json").exists():
        raise ArgumentError(f"{path} holds no study: there is no manifest.json", hint="give the folder of save=")
    manifest = read_manifest(path)
    cases: Any = StoredCases(path)
    keeping = FolderKeeping(path, manifest, cases)
    study = Study(cases, keeping=keeping, workers=0, model_name=str(manifest["model"]["name"]))
    study.seconds = float(np.nansum(keeping.seconds()))
    return study
