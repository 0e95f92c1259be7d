model FourBar "Crank, coupler without mass, rocker with a spring; the loop is closed by two equations"
  parameter Real a = 0.1 "m";
  parameter Real b = 0.35 "m";
  parameter Real c = 0.3 "m";
  parameter Real d = 0.4 "m";
  parameter Real J1 = 4e-3 "kg.m2";
  parameter Real J3 = 1.5e-2 "kg.m2";
  parameter Real friction = 0.02 "N.m.s";
  parameter Real spring = 3 "N.m";
  input Real torque(start = 1) "N.m";
  Real phi(start = 0.8, fixed = true, stateSelect = StateSelect.always);
  Real w(start = 0, fixed = true, stateSelect = StateSelect.always);
  Real th(start = 0.8), psi(start = 1.6), w3;
  Real f "force of the coupler";
equation
  a*cos(phi) + b*cos(th) = d + c*cos(psi);
  a*sin(phi) + b*sin(th) = c*sin(psi);
  der(phi) = w;
  der(psi) = w3;
  J1*der(w) = torque - friction*w + a*f*sin(th - phi);
  J3*der(w3) = -c*f*sin(th - psi) - spring*(psi - 1.8) - friction*w3;
end FourBar;
