// The circuit of Cellier's lecture on algebraic loops: one state, one loop.
//   pliant simulate examples/circuit.mo --stop 10 --save circuit.csv
model Circuit "Three resistors, a coil and a source"
  parameter Real R1 = 1 "Resistance in Ohm";
  parameter Real R2 = 2 "Resistance in Ohm";
  parameter Real R3 = 3 "Resistance in Ohm";
  parameter Real L = 0.5 "Inductance in H";
  parameter Real U = 11 "Amplitude of the source in V";
  parameter Real w = 2 "Angular frequency of the source in rad/s";
  Real u0 "Voltage of the source";
  Real u1, u2, u3 "Voltages of the resistors";
  Real uL "Voltage of the coil";
  Real i0 "Current of the source";
  Real i1, i2, i3 "Currents of the resistors";
  Real iL(start = 0, fixed = true) "Current of the coil";
equation
  u0 = U*sin(w*time);
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
