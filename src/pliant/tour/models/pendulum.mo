model Pendulum "A mass on a rod of constant length"
  parameter Real g = 9.81 "Gravity in m/s2";
  Real x(start = 1, fixed = true), y(start = 0) "Position in m";
  Real vx, vy(start = 0, fixed = true) "Velocity in m/s";
  Real F "Force of the rod per length and mass";
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -F*x;
  der(vy) = -F*y - g;
  x^2 + y^2 = 1;
end Pendulum;
