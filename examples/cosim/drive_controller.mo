// Cascade of a speed and a current controller. The measured values go straight through to the voltage.
model DriveController "PI controllers of speed and current"
  parameter Real kw = 2, Tw(unit = "s") = 0.2 "Speed";
  parameter Real ki = 2, Ti(unit = "s") = 0.02 "Current";
  parameter Real rise(unit = "s") = 0.1 "The wanted speed is approached in this time";
  input Real wanted(unit = "rad/s");
  input Real w(unit = "rad/s") "Measured speed";
  input Real i(unit = "A") "Measured current";
  Real reference(unit = "rad/s", start = 0, fixed = true);
  Real sw(start = 0, fixed = true), si(start = 0, fixed = true) "Integrals";
  Real ew = reference - w;
  Real ei = kw*(ew + sw/Tw) - i;
  output Real u(unit = "V") = ki*(ei + si/Ti);
equation
  rise*der(reference) = wanted - reference;
  der(sw) = ew;
  der(si) = ei;
end DriveController;
