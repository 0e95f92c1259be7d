model Tanks "Water runs from one tank into the next, and out"
  parameter Real area = 1 "Of both tanks in m2";
  parameter Real c(fixed = false, start = 0.01) "Of both holes in m2, to be found";
  input Real inflow(start = 0.02) "In m3/s";
  Real h1(start = 1.5) "First level in m";
  Real h2(start = 1, fixed = true) "Second level in m";
  output Real outflow "In m3/s";
initial equation
  der(h1) = 0;
  der(h2) = 0;
equation
  area*der(h1) = inflow - c*sqrt(2*9.81*(h1 - h2));
  area*der(h2) = c*sqrt(2*9.81*(h1 - h2)) - outflow;
  outflow = c*sqrt(2*9.81*h2);
end Tanks;
