model Arm "Two joints with gears and friction under sampled position control"
  parameter Real m[2] = {6, 4} "kg";
  parameter Real l[2] = {0.4, 0.35} "m";
  parameter Real I[2] = {0.1, 0.05} "kg.m2";
  parameter Real rotor[2] = {0.3, 0.15} "kg.m2";
  parameter Real kp[2] = {900, 400} "N.m";
  parameter Real kd[2] = {90, 35} "N.m.s";
  parameter Real Fc[2] = {4, 2} "N.m";
  parameter Real g = 9.81;
  input Real ref[2](start = {0.3, 0.5}) "rad";
  Real q[2](start = {0.3, 0.5}, each fixed = true), w[2](each start = 0, each fixed = true);
  discrete Real tau[2](each start = 0, each fixed = true);
  Real h, M11, M12, M22;
  output Real tip[2];
equation
  h = m[2]*l[1]*l[2]/2;
  M11 = I[1] + I[2] + rotor[1] + m[1]*l[1]^2/4 + m[2]*(l[1]^2 + l[2]^2/4) + 2*h*cos(q[2]);
  M12 = I[2] + m[2]*l[2]^2/4 + h*cos(q[2]);
  M22 = I[2] + rotor[2] + m[2]*l[2]^2/4;
  der(q) = w;
  M11*der(w[1]) + M12*der(w[2]) - h*sin(q[2])*(2*w[1]*w[2] + w[2]^2)
    + g*((m[1]/2 + m[2])*l[1]*cos(q[1]) + m[2]*l[2]/2*cos(q[1] + q[2])) = tau[1] - Fc[1]*tanh(w[1]/0.02);
  M12*der(w[1]) + M22*der(w[2]) + h*sin(q[2])*w[1]^2 + g*m[2]*l[2]/2*cos(q[1] + q[2])
    = tau[2] - Fc[2]*tanh(w[2]/0.02);
  when sample(0, 2e-3) then
    tau = {kp[1]*(ref[1] - q[1]) - kd[1]*w[1], kp[2]*(ref[2] - q[2]) - kd[2]*w[2]};
  end when;
  tip = {l[1]*cos(q[1]) + l[2]*cos(q[1] + q[2]), l[1]*sin(q[1]) + l[2]*sin(q[1] + q[2])};
end Arm;
