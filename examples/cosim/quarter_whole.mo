// Body, wheel and damper in one model, to compare the coupled parts with.
model QuarterWhole "A quarter of a vehicle"
  parameter Real mb = 350, mw = 40, kb = 20000, kw = 200000, push = 900, pull = 2200, lag = 0.002, knee = 0.02;
  input Real road;
  Real zb(start = 0, fixed = true), zw(start = 0, fixed = true), vb(start = 0, fixed = true), vw(start = 0, fixed = true);
  Real F(start = 0, fixed = true);
  Real v = vw - vb;
  Real share = 0.5*(1 + tanh(v/knee));
equation
  der(zb) = vb;
  der(zw) = vw;
  mb*der(vb) = kb*(zw - zb) + F;
  mw*der(vw) = kw*(road - zw) - kb*(zw - zb) - F;
  lag*der(F) = (push*share + pull*(1 - share))*v - F;
end QuarterWhole;
