"""Shared by all tests: compiled models go to a folder of this session, never to the user's cache."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("PLIANT_CACHE")
    os.environ["PLIANT_CACHE"] = str(tmp_path_factory.mktemp("models"))
    yield
    if before is None:
        del os.environ["PLIANT_CACHE"]
    else:
        os.environ["PLIANT_CACHE"] = before
