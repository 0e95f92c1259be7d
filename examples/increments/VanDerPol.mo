// Van der Pol's oscillator, scaled so that it is very stiff, with nominal values that can be chosen badly.
//   pliant simulate examples/increments/VanDerPol.mo --stop 2e6 --method radau5 --rtol 1e-9 --save van_der_pol.csv
// In the coordinates of Liénard: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, section IV.1. Numbers
// and nominal values are those of T. Renström, On the Selection of Increments in Jacobian Approximations for Numerical Solvers
// of Ordinary Differential Equations, Master's thesis, Lund 2024:E8, listing 1.
//
// Tolerances follow the nominal values: with y_nom = 1e6 and rtol = 1e-6 an absolute error of 0.01 is let pass. Give atol, or
// load "model Right extends VanDerPol(y_nom = 1); end Right;".
model VanDerPol "Slow on two branches, with jumps between them"
  parameter Real mu(unit = "1") = 1e6 "Stiffness: the slow time is mu, the fast one 1/mu";
  parameter Real y_nom(unit = "1") = 1e6 "Nominal value of both states; 1 would be right";
  Real y1(unit = "1", start = 2, fixed = true, nominal = y_nom) "Jumps from 1 to -2 and from -1 to 2";
  Real y2(unit = "1", start = -2/3, fixed = true, nominal = y_nom) "Slow, between -2/3 and 2/3";
equation
  der(y1) = mu*(y1 - y1^3/3 - y2);
  der(y2) = y1/mu;
end VanDerPol;
