"""Studies on Dask: a cluster on this machine, a worker killed in the middle."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pliant

distributed = pytest.importorskip("distributed")

TEXT = """
model Decay
  parameter Real k = 1;
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x;
  assert(x > 0.01, "too small");
end Decay;
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_study_on_dask_survives_a_killed_worker(client: Any) -> None:
    model = pliant.load(TEXT)
    design = pliant.design.grid({"k": np.linspace(0.5, 6.0, 4000)})
    expected = model.simulate_many(design, stop=1.0, keep="final")
    killed = threading.Event()

    def kill(progress: pliant.StudyProgress) -> None:
        if progress.done > 8 and not killed.is_set():
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            killed.set()

    study = model.simulate_many(design, stop=1.0, keep="final", executor=client.get_executor(), progress=kill)
    assert killed.is_set()
    assert study.complete
    assert sorted(study.failures) == sorted(expected.failures)
    assert [one for one in study if isinstance(one, dict)] == [one for one in expected if isinstance(one, dict)]


def test_a_client_stands_for_its_executor(client: Any) -> None:
    model = pliant.load(TEXT)
    design = pliant.design.grid({"k": [1.0, 2.0, 3.0]})
    study = model.simulate_many(design, stop=1.0, keep="final", executor=client)
    assert list(study) == [model.simulate(stop=1.0, parameters={"k": k}).final for k in (1.0, 2.0, 3.0)]
