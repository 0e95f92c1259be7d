"""From a numeric model to a result: binding, initial values, step loop, events, results."""
