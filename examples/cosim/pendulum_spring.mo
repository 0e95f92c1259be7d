// The spring between the bobs of two pendula: forces from places, nothing to integrate. Every signal goes straight
// through it, which a master has to know.
model PendulumSpring "Spring of stiffness k and length d0, pivots at a distance D"
  parameter Real k(unit = "N/m") = 10;
  parameter Real D(unit = "m") = 1;
  parameter Real d0(unit = "m") = 1;
  input Real s1, c1 "First bob";
  input Real s2, c2 "Second bob";
  Real dx = D + s2 - s1;
  Real dy = c1 - c2;
  Real d = sqrt(dx^2 + dy^2);
  Real F = k*(d - d0);
  output Real pull1 = F*dx/d, lift1 = F*dy/d;
  output Real pull2 = -F*dx/d, lift2 = -F*dy/d;
end PendulumSpring;
