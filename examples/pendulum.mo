// A pendulum in Cartesian coordinates: index 3. No choice of states is good for a whole swing.
//   pliant simulate examples/pendulum.mo --stop 10 --save pendulum.csv
model Pendulum "A mass on a rod of constant length"
  parameter Real g = 9.81 "Gravity in m/s2";
  parameter Real l = 1 "Length of the rod in m";
  parameter Real m = 1 "Mass in kg";
  Real x(start = 1, fixed = true) "Horizontal position";
  Real y(start = 0) "Vertical position, up is positive";
  Real vx, vy(start = 0, fixed = true) "Velocities";
  Real F "Force of the rod per length";
  Real energy "Kinetic and potential energy";
equation
  der(x) = vx;
  der(y) = vy;
  m*der(vx) = -F*x;
  m*der(vy) = -F*y - m*g;
  x^2 + y^2 = l^2;
  energy = 0.5*m*(vx^2 + vy^2) + m*g*y;
end Pendulum;
