// A pendulum with mass and length 1, driven at its pivot and pulled by a spring at its bob.
// Andersson, Fuehrer and Akesson (2016), equation (18). Two of them and a spring:
//   pliant cosim examples/cosim/pendula.toml
model PendulumPart "Pendulum in polar coordinates"
  parameter Real g(unit = "m/s2") = 9.81;
  parameter Real amplitude = 5 "Of the excitation at the pivot";
  parameter Real angle(unit = "rad") = 0.7853981633974483 "At the start";
  constant Real pi = 3.141592653589793;
  input Real pull "Force of the spring, horizontal";
  input Real lift "Force of the spring, vertical";
  Real theta(unit = "rad", start = angle, fixed = true);
  Real omega(unit = "rad/s", start = 0, fixed = true);
  output Real s = sin(theta) "Bob beside its pivot";
  output Real c = cos(theta) "Bob below its pivot";
equation
  der(theta) = omega;
  der(omega) = (-g + lift)*sin(theta) + (amplitude*sin(2*pi*time) + pull)*cos(theta);
end PendulumPart;
