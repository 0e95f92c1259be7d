model Circuit "Three resistors, a coil and a source"
  parameter Real R1 = 1, R2 = 2, R3 = 3 "Resistances in Ohm";
  parameter Real L = 0.5 "Inductance in H";
  Real u0, u1, u2, u3, uL "Voltages";
  Real i0, i1, i2, i3 "Currents";
  Real iL(start = 0, fixed = true) "Current of the coil";
equation
  u0 = 11*sin(2*time);
  u1 = R1*i1;
  u2 = R2*i2;
  u3 = R3*i3;
  uL = L*der(iL);
  u0 = u1 + u3;
  uL = u1 + u2;
  u3 = u2;
  i0 = i1 + iL;
  i1 = i2 + i3;
end Circuit;
