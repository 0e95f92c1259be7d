"""Events: a bouncing ball, with its impacts and its highest points.   python examples/bouncing_ball.py"""

import pliant


def fall(t, x):
    """Height and speed."""
    return [x[1], -9.81]


def bounce(t, x):
    """80 % of the speed is kept."""
    return [0.0, -0.8 * x[1]]


floor = pliant.Root(lambda t, x: x[0], direction=-1, update=bounce, name="floor")
top = pliant.Root(lambda t, x: x[1], direction=-1, name="top")  # nothing changes there: it is only noted

ball = pliant.ode(fall, [1.0, 0.0], names=["h", "v"], roots=[floor, top])
result = ball.simulate(stop=3.0, rtol=1e-8)
for event in result.events:
    print(f"{event}, h = {event.before[0]:.6f}")
result.plot("h", "v", file="bouncing_ball.png")
