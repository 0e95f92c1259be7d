"""From a model and a step size to code for real time: linearise, search what may go, check, write C, measure."""
