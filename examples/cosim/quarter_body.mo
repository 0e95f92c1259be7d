// A quarter of a vehicle: body and wheel with springs, on a road. The damper between them is another part.
//   python examples/cosim/quarter_vehicle.py
model QuarterBody "Body and wheel; the force of the damper comes from outside"
  parameter Real mb(unit = "kg") = 350 "Quarter of the body";
  parameter Real mw(unit = "kg") = 40 "Wheel";
  parameter Real kb(unit = "N/m") = 20000 "Spring of the body";
  parameter Real kw(unit = "N/m") = 200000 "Tyre";
  input Real F(unit = "N", nominal = 1000) "Of the damper, upwards on the body";
  input Real road(unit = "m") "Height of the road";
  Real zb(unit = "m", start = 0, fixed = true, nominal = 0.1) "Body";
  Real zw(unit = "m", start = 0, fixed = true, nominal = 0.1) "Wheel";
  Real vb(unit = "m/s", start = 0, fixed = true), vw(unit = "m/s", start = 0, fixed = true);
  output Real v(unit = "m/s") = vw - vb "Speed of the damper, positive where it is pushed together";
equation
  der(zb) = vb;
  der(zw) = vw;
  mb*der(vb) = kb*(zw - zb) + F;
  mw*der(vw) = kw*(road - zw) - kb*(zw - zb) - F;
end QuarterBody;
