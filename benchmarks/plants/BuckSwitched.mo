model BuckSwitched "Step-down converter with its switch, 20 kHz"
  parameter Real T = 50e-6 "s";
  parameter Real L = 100e-6 "H";
  parameter Real C = 220e-6 "F";
  parameter Real r = 0.05 "Ohm";
  parameter Real R = 2.5 "Ohm";
  input Real duty(start = 0.4);
  input Real v_in(start = 12) "V";
  Real i(start = 1.9, fixed = true), v(start = 4.7, fixed = true);
  discrete Real begin(start = 0, fixed = true);
  Boolean on;
equation
  when sample(0, T) then
    begin = time;
  end when;
  on = time - begin < duty*T;
  L*der(i) = (if on then v_in else 0) - r*i - v;
  C*der(v) = i - v/R;
end BuckSwitched;
