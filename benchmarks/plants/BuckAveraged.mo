model BuckAveraged "Step-down converter, averaged over a switching period"
  parameter Real L = 47e-6 "H";
  parameter Real C = 220e-6 "F";
  parameter Real r_L = 0.02 "Ohm";
  parameter Real r_C = 0.01 "Ohm";
  parameter Real r_on = 0.015 "Ohm";
  input Real duty(start = 0.4);
  input Real v_in(start = 12) "V";
  input Real load(start = 2) "A";
  Real i(start = 2, fixed = true), v(start = 4.7, fixed = true);
  output Real v_out;
equation
  L*der(i) = duty*(v_in - r_on*i) - r_L*i - v_out;
  C*der(v) = i - load;
  v_out = v + r_C*(i - load);
end BuckAveraged;
