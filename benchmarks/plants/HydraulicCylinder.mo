model HydraulicCylinder "Servo valve, two chambers and a piston with friction against a spring load; pressures in bar"
  parameter Real E = 1.4e4 "bar";
  parameter Real A[2] = {12.6e-4, 8.8e-4} "m2";
  parameter Real V[2] = {2e-4, 2e-4} "m3";
  parameter Real stroke = 0.4 "m";
  parameter Real m = 120 "kg";
  parameter Real k = 2e4 "N/m";
  parameter Real Fc = 250 "N";
  parameter Real d = 1500 "N.s/m";
  parameter Real q = 6e-5 "m3/s at 1 bar, valve open";
  parameter Real leak = 2e-8 "m3/s/bar";
  input Real u(start = 0) "opening of the valve, -1 .. 1";
  input Real load(start = 0) "N";
  Real p[2](start = {35, 50}, each fixed = true);
  Real x(start = 0.2, fixed = true), v(start = 0, fixed = true);
  Real Q[2], dp[2];
equation
  dp[1] = if u > 0 then 160 - p[1] else p[1] - 5;
  dp[2] = if u > 0 then p[2] - 5 else 160 - p[2];
  Q[1] = q*u*dp[1]/(dp[1]^2 + 1)^0.25;
  Q[2] = -q*u*dp[2]/(dp[2]^2 + 1)^0.25;
  (V[1] + A[1]*x)/E*der(p[1]) = Q[1] - A[1]*v - leak*(p[1] - p[2]);
  (V[2] + A[2]*(stroke - x))/E*der(p[2]) = Q[2] + A[2]*v + leak*(p[1] - p[2]);
  der(x) = v;
  m*der(v) = 1e5*(A[1]*p[1] - A[2]*p[2]) - k*(x - 0.2) - d*v - Fc*tanh(v/2e-3) - load;
end HydraulicCylinder;
