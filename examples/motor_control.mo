// From plant to controller: a permanent-magnet motor with sampled field-oriented control, docs/motor-control.md.
//   pliant simulate examples/motor_control.mo --stop 0.06 --input w_ref=100 --input load=1 --save motor_control.csv
//   pliant realtime examples/motor_control.mo --step 5e-5 --stop 0.06
model MotorControl "A PM motor turns an elastic load; currents controlled at 10 kHz, speed at 1 kHz"
  parameter Real R20(unit = "Ohm") = 0.36 "winding at 20 degrees";
  parameter Real L(unit = "H") = 2e-3 "both axes";
  parameter Real psi(unit = "V.s") = 0.12 "flux of the magnets at 20 degrees";
  parameter Real p = 4 "pairs of poles";
  parameter Real J(unit = "kg.m2") = 8e-4 "rotor";
  parameter Real JL(unit = "kg.m2") = 1.6e-3 "load";
  parameter Real c(unit = "N.m/rad") = 400 "coupling";
  parameter Real d(unit = "N.m.s/rad") = 0.02;
  parameter Real Td(unit = "s") = 2e-5 "inverter";
  parameter Real Tf(unit = "s") = 1e-5 "current sensors";
  parameter Real i_max(unit = "A") = 30;
  parameter Real u_max(unit = "V") = 170;
  parameter Real bandwidth(unit = "Hz") = 700 "of the current control";
  parameter Real kw(unit = "A.s/rad") = 0.25 "speed control";
  parameter Real Tw(unit = "s") = 0.03;
  input Real w_ref(start = 0, unit = "rad/s");
  input Real load(start = 0, unit = "N.m");
  output Real torque(unit = "N.m");
  // plant
  Real id(start = 0, fixed = true, nominal = 10, unit = "A"), iq(start = 0, fixed = true, nominal = 10, unit = "A");
  Real ud(start = 0, fixed = true, nominal = 50, unit = "V"), uq(start = 0, fixed = true, nominal = 50, unit = "V");
  Real md(start = 0, fixed = true, nominal = 10, unit = "A"), mq(start = 0, fixed = true, nominal = 10, unit = "A");
  Real w(start = 0, fixed = true, nominal = 100, unit = "rad/s") "rotor";
  Real wL(start = 0, fixed = true, nominal = 100, unit = "rad/s") "load";
  Real twist(start = 0, fixed = true, nominal = 0.01, unit = "rad");
  Real TW(start = 20, fixed = true, nominal = 50, unit = "degC") "winding";
  Real TM(start = 20, fixed = true, nominal = 50, unit = "degC") "magnets";
  Real R, flux;
  // controller
  discrete Real vd(start = 0, fixed = true, unit = "V"), vq(start = 0, fixed = true, unit = "V");
  discrete Real sd(start = 0, fixed = true, unit = "V"), sq(start = 0, fixed = true, unit = "V");
  discrete Real iq_ref(start = 0, fixed = true, unit = "A"), sw(start = 0, fixed = true, unit = "A");
protected
  parameter Real pi = 3.141592653589793;
  parameter Real kp = 2*pi*bandwidth*L;
  parameter Real ki = kp*R20/L;
equation
  R = R20*(1 + 0.0039*(TW - 20));
  flux = psi*(1 - 0.001*(TM - 20));
  Td*der(ud) = vd - ud;
  Td*der(uq) = vq - uq;
  L*der(id) = ud - R*id + p*w*L*iq;
  L*der(iq) = uq - R*iq - p*w*(L*id + flux);
  Tf*der(md) = id - md;
  Tf*der(mq) = iq - mq;
  torque = 1.5*p*flux*iq;
  J*der(w) = torque - c*twist - d*(w - wL);
  der(twist) = w - wL;
  JL*der(wL) = c*twist + d*(w - wL) - load;
  40*der(TW) = 1.5*R*(id^2 + iq^2) - 1.5*(TW - TM);
  200*der(TM) = 1.5*(TW - TM) - 2*(TM - 20);
  when sample(0, 1e-3) then
    sw = max(-i_max, min(i_max, pre(sw) + 1e-3*kw/Tw*(w_ref - w)));
    iq_ref = max(-i_max, min(i_max, kw*(w_ref - w) + sw));
  end when;
  when sample(0, 1e-4) then
    sd = max(-u_max, min(u_max, pre(sd) - 1e-4*ki*md));
    sq = max(-u_max, min(u_max, pre(sq) + 1e-4*ki*(iq_ref - mq)));
    vd = max(-u_max, min(u_max, sd - kp*md - p*w*L*mq));
    vq = max(-u_max, min(u_max, sq + kp*(iq_ref - mq) + p*w*(L*md + psi)));
  end when;
end MotorControl;
