"""Events: a ball bounces until its impacts are slow, then the run ends.   python examples/bouncing_ball.py"""

import pliant


def fall(t, x):
    """Height and speed."""
    return [x[1], -9.81]


def bounce(t, x):
    """80 % of the speed is kept."""
    return [0.0, -0.8 * x[1]]


# The second event counts the time of flight: speed zero, at the top, below 10 cm.
floor = pliant.Root(lambda t, x: x[0], direction=-1, update=bounce, name="floor")
low = pliant.Root(lambda t, x: x[1] if x[0] < 0.1 else 1.0, direction=-1, terminal=True, name="low")

ball = pliant.ode(fall, [1.0, 0.0], names=["h", "v"], roots=[floor, low])
result = ball.simulate(stop=10.0, rtol=1e-8)
for event in result.events:
    print(event)
result.plot("h", "v", file="bouncing_ball.png")
