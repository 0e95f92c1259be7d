model SpringDamperRight "A mass between the first mass and a wall"
  parameter Real m2(unit = "kg") = 1;
  parameter Real k2(unit = "N/m") = 25 "Spring to the first mass";
  parameter Real k3(unit = "N/m") = 50 "Spring to the wall";
  parameter Real c2(unit = "N.s/m") = 0.1 "Damper to the first mass";
  parameter Real c3(unit = "N.s/m") = 2 "Damper to the wall";
  input Real x1(unit = "m") "Place of the first mass";
  input Real v1(unit = "m/s") "Speed of the first mass";
  Real x(unit = "m", start = 0, fixed = true) "Place of the second mass";
  Real v(unit = "m/s", start = 0, fixed = true) "Speed of the second mass";
equation
  der(x) = v;
  m2*der(v) = -(k3 + k2)*x - (c3 + c2)*v + k2*x1 + c2*v1;
end SpringDamperRight;
