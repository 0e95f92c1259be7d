model FocDrive "Permanent-magnet motor under field-oriented control, sampled every 100 us, speed loop every 1 ms"
  parameter Real R = 0.36 "Ohm";
  parameter Real L = 2e-3 "H";
  parameter Real psi = 0.12 "Vs";
  parameter Real p = 4 "pairs of poles";
  parameter Real J = 8e-4 "kg.m2";
  parameter Real b = 1e-3 "Nms";
  parameter Real kp = 4.0 "V/A";
  parameter Real ki = 600.0 "V/(A.s)";
  parameter Real kw = 0.08 "A.s";
  parameter Real kwi = 1.2 "A";
  parameter Real i_max = 15.0 "A";
  input Real w_ref(start = 0) "rad/s";
  input Real load(start = 0) "Nm";
  Real id(start = 0, fixed = true, nominal = 10);
  Real iq(start = 0, fixed = true, nominal = 10);
  Real w(start = 0, fixed = true, nominal = 100);
  discrete Real vd(start = 0, fixed = true), vq(start = 0, fixed = true);
  discrete Real sd(start = 0, fixed = true), sq(start = 0, fixed = true);
  discrete Real sw(start = 0, fixed = true), iq_ref(start = 0, fixed = true);
  output Real torque;
equation
  L*der(id) = vd - R*id + p*w*L*iq;
  L*der(iq) = vq - R*iq - p*w*(L*id + psi);
  torque = 1.5*p*psi*iq;
  J*der(w) = torque - load - b*w;
  when sample(0, 1e-3) then
    sw = pre(sw) + 1e-3*kwi*(w_ref - w);
    iq_ref = max(-i_max, min(i_max, kw*(w_ref - w) + sw));
  end when;
  when sample(0, 1e-4) then
    sd = pre(sd) - 1e-4*ki*id;
    sq = pre(sq) + 1e-4*ki*(iq_ref - iq);
    vd = sd - kp*id - p*w*L*iq;
    vq = sq + kp*(iq_ref - iq) + p*w*(L*id + psi);
  end when;
end FocDrive;
