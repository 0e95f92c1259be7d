model HalfCar "Heave and pitch of a body on two axles; dampers are softer in compression"
  parameter Real m = 730 "kg";
  parameter Real I = 1230 "kg.m2";
  parameter Real a[2] = {1.01, 1.80} "m";
  parameter Real m_w[2] = {40, 35.5} "kg";
  parameter Real k[2] = {2e4, 1.8e4} "N/m";
  parameter Real k_t[2] = {1.75e5, 1.75e5} "N/m";
  parameter Real d_out[2] = {1600, 1500} "N.s/m";
  parameter Real d_in[2] = {900, 850} "N.s/m";
  input Real road[2](each start = 0) "m";
  Real z(start = 0, fixed = true), vz(start = 0, fixed = true);
  Real phi(start = 0, fixed = true), w(start = 0, fixed = true);
  Real y[2](each start = 0, each fixed = true), vy[2](each start = 0, each fixed = true);
  Real s[2], vs[2], F[2];
  output Real acceleration;
equation
  s = {z - a[1]*phi - y[1], z + a[2]*phi - y[2]};
  vs = {vz - a[1]*w - vy[1], vz + a[2]*w - vy[2]};
  for j in 1:2 loop
    F[j] = k[j]*s[j] + (if vs[j] > 0 then d_out[j] else d_in[j])*vs[j];
    der(y[j]) = vy[j];
    m_w[j]*der(vy[j]) = F[j] - k_t[j]*(y[j] - road[j]);
  end for;
  der(z) = vz;
  acceleration = -(F[1] + F[2])/m;
  der(vz) = acceleration;
  der(phi) = w;
  I*der(w) = a[1]*F[1] - a[2]*F[2];
end HalfCar;
