"""Runs with very many events: they become objects when somebody asks for them."""

from __future__ import annotations

import json
import pickle

import pliant

TEXT = """
model M
  Real x(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(x) = 1;
  when sample(0, 1e-4) then
    n = pre(n) + 1;
  end when;
  when x > 1.50005 then
    terminate("enough");
  end when;
end M;
"""


def test_many_events_read_like_a_few() -> None:
    result = pliant.load(TEXT).simulate(2.0, points=11)
    events = result.events
    assert len(events) == result.stats.n_events == 15_001
    assert abs(events[14_999].time - 1.5) < 1e-12
    assert events[-1].terminal
    assert "enough" in events[-1].message
    assert [len(one.roots) for one in events[-2:]] == [0, 1]
    assert sum(one.terminal for one in events) == 1
    assert [one.time for one in events] == [events[k].time for k in range(len(events))]
    again = pickle.loads(pickle.dumps(result)).events
    assert (len(again), str(again[-1])) == (15_001, str(events[-1]))
    assert len(json.loads(json.dumps(result.as_dict()))["events"]) == 15_001
