model SpringDamperLeft "A mass between a wall and the second mass"
  parameter Real m1(unit = "kg") = 1;
  parameter Real k1(unit = "N/m") = 10 "Spring to the wall";
  parameter Real k2(unit = "N/m") = 25 "Spring to the second mass";
  parameter Real c1(unit = "N.s/m") = 1 "Damper to the wall";
  parameter Real c2(unit = "N.s/m") = 0.1 "Damper to the second mass";
  input Real x2(unit = "m") "Place of the second mass";
  input Real v2(unit = "m/s") "Speed of the second mass";
  Real x(unit = "m", start = 10, fixed = true) "Place of the first mass";
  Real v(unit = "m/s", start = 0, fixed = true) "Speed of the first mass";
equation
  der(x) = v;
  m1*der(v) = -(k1 + k2)*x - (c1 + c2)*v + k2*x2 + c2*v2;
end SpringDamperLeft;
