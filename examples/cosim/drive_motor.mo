// An electric motor with a filter in its supply and a load on its shaft: stiff, its fastest time constant is 20 us.
//   pliant cosim examples/cosim/drive.toml
model DriveMotor "Supply filter, armature, rotor and load"
  parameter Real R(unit = "Ohm") = 0.5, L(unit = "H") = 0.005 "Armature";
  parameter Real Rf(unit = "Ohm") = 0.2, C(unit = "F") = 1e-4 "Filter";
  parameter Real k(unit = "N.m/A") = 0.8 "Torque constant, and V.s/rad";
  parameter Real J(unit = "kg.m2") = 0.05, Jl(unit = "kg.m2") = 0.5 "Rotor and load";
  parameter Real stiffness(unit = "N.m/rad") = 200, damping(unit = "N.m.s/rad") = 0.5 "Shaft";
  parameter Real fan(unit = "N.m.s2/rad2") = 0.01;
  input Real u(unit = "V") "Voltage of the converter";
  input Real load(unit = "N.m") "Torque against the load";
  Real uf(unit = "V", start = 0, fixed = true) "Voltage behind the filter";
  output Real i(unit = "A", start = 0, fixed = true) "Current";
  Real twist(unit = "rad", start = 0, fixed = true) "Of the shaft";
  output Real w(unit = "rad/s", start = 0, fixed = true) "Speed of the rotor";
  Real wl(unit = "rad/s", start = 0, fixed = true) "Speed of the load";
  Real torque(unit = "N.m") = stiffness*twist + damping*(w - wl);
equation
  C*der(uf) = (u - uf)/Rf - i;
  L*der(i) = uf - R*i - k*w;
  J*der(w) = k*i - torque;
  der(twist) = w - wl;
  Jl*der(wl) = torque - fan*wl*abs(wl) - load;
end DriveMotor;
