model Column "Binary distillation with constant molar flows; tray 1 is the reboiler"
  parameter Integer n = 12;
  parameter Integer feed = 6;
  parameter Real alpha = 2.4;
  parameter Real tray = 12 "mol";
  parameter Real drum = 60 "mol";
  parameter Real V = 1.6 "mol/s";
  input Real reflux(start = 1.1) "mol/s";
  input Real F(start = 1.0) "mol/s";
  input Real z(start = 0.5);
  Real x[n](start = {0.04 + 0.92*(i - 1)/(n - 1) for i in 1:n}, each fixed = true);
  Real y[n];
  output Real top, bottom;
equation
  for i in 1:n loop
    y[i] = alpha*x[i]/(1 + (alpha - 1)*x[i]);
  end for;
  drum*der(x[1]) = (reflux + F)*x[2] - V*y[1] - (reflux + F - V)*x[1];
  for i in 2:feed - 1 loop
    tray*der(x[i]) = (reflux + F)*(x[i + 1] - x[i]) + V*(y[i - 1] - y[i]);
  end for;
  tray*der(x[feed]) = reflux*x[feed + 1] - (reflux + F)*x[feed] + V*(y[feed - 1] - y[feed]) + F*z;
  for i in feed + 1:n - 1 loop
    tray*der(x[i]) = reflux*(x[i + 1] - x[i]) + V*(y[i - 1] - y[i]);
  end for;
  drum*der(x[n]) = V*(y[n - 1] - x[n]);
  top = x[n];
  bottom = x[1];
end Column;
