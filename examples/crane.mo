// A crane: trolley, rope and load, the load in Cartesian coordinates. Index 3, the rope is wound up on the way.
//   pliant simulate examples/crane.mo --stop 20 --save crane.csv
model Crane "A trolley carries a load on a rope"
  parameter Real M = 200 "Mass of the trolley in kg";
  parameter Real m = 500 "Mass of the load in kg";
  parameter Real g = 9.81 "Gravity in m/s2";
  parameter Real k = 400 "Gain of the trolley's controller in N/m";
  parameter Real d = 800 "Damping of the trolley's controller in N.s/m";
  parameter Real goal = 5 "Where the trolley shall go in m";
  parameter Real long = 6 "Length of the rope at first in m";
  parameter Real short = 4 "Length of the rope at last in m";
  parameter Real lift = 8 "When the load is lifted in s";
  Real s(start = 0, fixed = true) "Position of the trolley";
  Real v(start = 0, fixed = true) "Velocity of the trolley";
  Real x(start = 0, fixed = true), y(start = -6) "Position of the load, up is positive";
  Real vx(start = 0, fixed = true), vy "Velocity of the load";
  Real length "Length of the rope";
  Real tension "Force in the rope per length";
  Real drive "Force of the drive";
equation
  der(s) = v;
  der(x) = vx;
  der(y) = vy;
  length = long + (short - long)*(1 + tanh(time - lift))/2;
  drive = k*(goal - s) - d*v;
  M*der(v) = drive + tension*(x - s);
  m*der(vx) = -tension*(x - s);
  m*der(vy) = -tension*y - m*g;
  (x - s)^2 + y^2 = length^2;
end Crane;
