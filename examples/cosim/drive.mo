// Motor and controller in one model, to compare the coupled parts with.
model Drive "The whole drive"
  parameter Real wanted = 50, load = 0;
  parameter Real R = 0.5, L = 0.005, Rf = 0.2, C = 1e-4, k = 0.8, J = 0.05, Jl = 0.5, stiffness = 200, damping = 0.5;
  parameter Real fan = 0.01, kw = 2, Tw = 0.2, ki = 2, Ti = 0.02, rise = 0.1;
  Real uf(start = 0, fixed = true), i(start = 0, fixed = true), twist(start = 0, fixed = true);
  Real w(start = 0, fixed = true), wl(start = 0, fixed = true), reference(start = 0, fixed = true);
  Real sw(start = 0, fixed = true), si(start = 0, fixed = true);
  Real torque = stiffness*twist + damping*(w - wl);
  Real ew = reference - w;
  Real ei = kw*(ew + sw/Tw) - i;
  Real u = ki*(ei + si/Ti);
equation
  C*der(uf) = (u - uf)/Rf - i;
  L*der(i) = uf - R*i - k*w;
  J*der(w) = k*i - torque;
  der(twist) = w - wl;
  Jl*der(wl) = torque - fan*wl*abs(wl) - load;
  rise*der(reference) = wanted - reference;
  der(sw) = ew;
  der(si) = ei;
end Drive;
