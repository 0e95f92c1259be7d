// A hydraulic damper, softer when it is pushed together than when it is pulled, with oil that is compressed first.
model Damper "Force from speed"
  parameter Real push(unit = "N.s/m") = 900, pull(unit = "N.s/m") = 2200;
  parameter Real lag(unit = "s") = 0.002 "Of the oil";
  parameter Real knee(unit = "m/s") = 0.02 "In which it changes from one to the other";
  input Real v(unit = "m/s") "Speed, positive where it is pushed together";
  output Real F(unit = "N", start = 0, fixed = true, nominal = 1000) "Force";
  Real share = 0.5*(1 + tanh(v/knee));
equation
  lag*der(F) = (push*share + pull*(1 - share))*v - F;
end Damper;
