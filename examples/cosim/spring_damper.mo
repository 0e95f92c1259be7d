// The whole triple spring, triple damper in one model, to compare the coupled halves with.
// Andersson, Fuehrer and Akesson (2016), equation (16).
model SpringDamper "Two masses, three springs, three dampers"
  parameter Real m1 = 1, m2 = 1, k1 = 10, k2 = 25, k3 = 50, c1 = 1, c2 = 0.1, c3 = 2;
  Real x1(unit = "m", start = 10, fixed = true), v1(unit = "m/s", start = 0, fixed = true);
  Real x2(unit = "m", start = 0, fixed = true), v2(unit = "m/s", start = 0, fixed = true);
equation
  der(x1) = v1;
  der(x2) = v2;
  m1*der(v1) = -(k1 + k2)*x1 - (c1 + c2)*v1 + k2*x2 + c2*v2;
  m2*der(v2) = -(k3 + k2)*x2 - (c3 + c2)*v2 + k2*x1 + c2*v1;
end SpringDamper;
