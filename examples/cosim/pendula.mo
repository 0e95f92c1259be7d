// Two pendula coupled by a spring in one model, to compare the coupled parts with.
model Pendula "Two pendula and a spring"
  parameter Real g = 9.81, amplitude = 5, k = 10, D = 1, d0 = 1;
  constant Real pi = 3.141592653589793;
  Real theta1(start = 0.7853981633974483, fixed = true), omega1(start = 0, fixed = true);
  Real theta2(start = -0.5235987755982988, fixed = true), omega2(start = 0, fixed = true);
  Real dx = D + sin(theta2) - sin(theta1);
  Real dy = cos(theta1) - cos(theta2);
  Real d = sqrt(dx^2 + dy^2);
  Real F = k*(d - d0);
  Real push = amplitude*sin(2*pi*time);
equation
  der(theta1) = omega1;
  der(theta2) = omega2;
  der(omega1) = (-g + F*dy/d)*sin(theta1) + (push + F*dx/d)*cos(theta1);
  der(omega2) = (-g - F*dy/d)*sin(theta2) + (push - F*dx/d)*cos(theta2);
end Pendula;
