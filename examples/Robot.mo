// A robot with six elastic axes, each with motor, amplifier and cascaded controller: 78 states, stiff.
//   pliant simulate examples/Robot.mo --stop 2.6 --save robot.csv
// Robot moves along a trajectory of its own; Arm has the six references as inputs: pliant.load(file, name="Arm").
//
// The mechanics are Newton's and Euler's equations link by link, and pliant finds the linear loop of the six
// accelerations (84 unknowns, 6 torn). With the mass matrix written out by composite bodies, the right side has 1090
// instead of 1495 operations (0.6 instead of 0.7 us), but the Jacobian takes 2.7 instead of 2.2 us, and the text of
// the mechanics is twice as long.

function rise "Rises smoothly from 0 at z = 0 to 1 at z = 1, constant outside"
  input Real z;
  output Real y;
protected
  Real x;
algorithm
  x := noEvent(if z <= 0 then 0 else if z >= 1 then 1 else z);
  y := x^3*(10 - 15*x + 6*x^2);
end rise;

model Axis "Gear, motor, current and speed control, reference filter"
  parameter Real N "Gear ratio";
  parameter Real Jm "Inertia of the motor in kg.m2";
  parameter Real cg "Stiffness of the gear in N.m/rad";
  parameter Real dg "Damping of the gear in N.m.s/rad";
  parameter Real kt "Motor constant in N.m/A";
  parameter Real Fc "Coulomb friction in N.m";
  parameter Real Fv "Viscous friction in N.m.s/rad";
  parameter Real Ja "Inertia of the arm that the controller is made for in kg.m2";
  parameter Real Ra = 1 "Resistance in Ohm";
  parameter Real La = 5e-3 "Inductance in H";
  parameter Real Kpc = 15, Kic = 12000 "Current controller";
  parameter Real Tamp = 5e-5 "Amplifier";
  parameter Real TiF = 4e-5 "Current filter";
  parameter Real T1 = 2e-4, T2 = 3e-4 "Speed filter";
  parameter Real Tn = 0.05 "Speed controller";
  parameter Real Kp = 12 "Position controller";
  parameter Real wr = 60, zr = 1 "Reference filter";
  parameter Real w0 = 0.004 "Speed at which friction has changed its sign in rad/s";
  parameter Real JM = N^2*Jm "Inertia of the motor seen from the arm";
  parameter Real Kpv = (JM + Ja)/N^2*80/kt "Speed controller";
  Real q(stateSelect = StateSelect.always) "Angle of the arm";
  Real qd(stateSelect = StateSelect.always) "Speed of the arm";
  Real phi(stateSelect = StateSelect.always) "Angle of the motor, divided by N";
  Real om(stateSelect = StateSelect.always) "Speed of the motor, divided by N";
  Real i(stateSelect = StateSelect.always) "Current";
  Real u(stateSelect = StateSelect.always) "Voltage of the amplifier";
  Real xI(stateSelect = StateSelect.always) "Integral part of the current controller";
  Real iF(stateSelect = StateSelect.always) "Current, filtered";
  Real v1(stateSelect = StateSelect.always), v2(stateSelect = StateSelect.always) "Speed, filtered once and twice";
  Real xV(stateSelect = StateSelect.always) "Integral part of the speed controller";
  Real r1(stateSelect = StateSelect.always), r2(stateSelect = StateSelect.always) "Reference, filtered, and its speed";
  Real qr "Reference";
  Real tg "Torque of the gear";
  Real ev "Error of speed";
  Real ist "Wanted current";
  Real us "Wanted voltage";
  Real qdd "Acceleration of the arm";
equation
  tg = cg*(phi - q) + dg*(om - qd);
  ev = Kp*(r1 - phi)*N + 0.9*r2*N - v2;
  ist = Kpv*ev + xV;
  us = Kpc*(ist - iF) + xI;
  der(q) = qd;
  der(qd) = qdd;
  der(phi) = om;
  JM*der(om) = N*kt*i - tg - Fc*tanh(om/w0) - Fv*om;
  La*der(i) = u - Ra*i - kt*N*om;
  Tamp*der(u) = us - u;
  der(xI) = Kic*(ist - iF);
  TiF*der(iF) = i - iF;
  T1*der(v1) = N*om - v1;
  T2*der(v2) = v1 - v2;
  der(xV) = Kpv/Tn*ev;
  der(r1) = r2;
  der(r2) = wr^2*(qr - r1) - 2*zr*wr*r2;
initial equation
  qd = 0;
  qdd = 0;
  om = 0;
  N*kt*i = tg;
  iF = i;
  u = Ra*i;
  xI = u;
  v1 = 0;
  v2 = 0;
  r1 = q;
  r2 = 0;
  xV = i - Kpv*Kp*(q - phi)*N;
end Axis;

partial model Chain "Six axes and the links between them; nothing says yet where to go"
  parameter Real m[6] = {60, 56.5, 26.4, 28.7, 5.2, 17} "Masses of the links in kg";
  parameter Real I[6, 3] = {{1.2, 1.2, 1.2}, {2.6, 2.7, 0.6}, {0.28, 0.25, 0.4}, {0.35, 1.67, 1.67}, {0.13, 0.08, 0.07},
    {0.15, 0.15, 0.15}} "Inertias about the centres of mass, diagonal, in kg.m2";
  parameter Real g = 9.81 "Gravity in m/s2, along -z";
  constant Integer e[6] = {3, 2, 2, 1, 2, 1} "Joints turn about z, y, y, x, y, x";
  constant Integer s[6] = {1, 3, 3, 2, 3, 2}, t[6] = {2, 1, 1, 3, 1, 3} "The two axes after e in cyclic order";
  constant Real r[6, 3] = {{0, 0, 0.35}, {0, 0, 0.5}, {0.1, 0, 0}, {0.63, 0, 0}, {0.08, 0, 0}, {0, 0, 0}}
    "From the joint to the next one in the frame of the link in m; constant, so that zeros vanish from the code";
  constant Real c[6, 3] = {{0, 0, 0.15}, {0, 0, 0.22}, {0.06, 0.03, 0}, {0.32, 0, 0}, {0.02, 0, 0}, {0.1, 0.02, 0.05}}
    "From the joint to the link's centre of mass in m";
  Axis axis[6](
    N = {105, 210, 60, 99, 79.2, 99},
    Jm = {1.3e-3, 1.3e-3, 1.3e-3, 1.6e-4, 1.8e-4, 1.29e-4},
    cg = {4.7e5, 3.5e5, 2.1e5, 3.0e4, 2.5e4, 1.5e4},
    dg = {500, 600, 300, 24, 20, 10},
    kt = {1.1616, 1.1616, 1.1616, 0.2365, 0.2365, 0.2608},
    Fc = {100, 150, 60, 15, 12, 6},
    Fv = {60, 80, 30, 6, 5, 3},
    Ja = {25, 40, 12, 1.5, 1.2, 0.4});
  Real C[6], S[6] "Cosines and sines of the joints";
  Real w[7, 3] "Angular velocities: 1 of the base, k + 1 of link k in its frame";
  Real z[7, 3] "Angular accelerations, likewise";
  Real b[7, 3] "Accelerations of joint k in the frame of link k - 1; the base goes upward instead of gravity";
  Real a[6, 3] "Accelerations of joint k in the frame of link k";
  Real F[6, 3] "Forces that accelerate link k";
  Real f[6, 3], n[6, 3] "Force and torque in joint k, in the frame of link k";
  Real p[7, 3], l[7, 3] "Force and torque in joint k, in the frame of link k - 1; nothing behind the tip";
equation
  w[1, :] = zeros(3);
  z[1, :] = zeros(3);
  b[1, :] = {0, 0, g};
  for k in 1:6 loop
    C[k] = cos(axis[k].q);
    S[k] = sin(axis[k].q);
    // motion, from the base to the tip: into the frame of link k, and on to the next joint
    w[k + 1, e[k]] = w[k, e[k]] + axis[k].qd;
    w[k + 1, s[k]] = C[k]*w[k, s[k]] + S[k]*w[k, t[k]];
    w[k + 1, t[k]] = C[k]*w[k, t[k]] - S[k]*w[k, s[k]];
    z[k + 1, e[k]] = z[k, e[k]] + axis[k].qdd;
    z[k + 1, s[k]] = C[k]*z[k, s[k]] + S[k]*z[k, t[k]] + w[k + 1, t[k]]*axis[k].qd;
    z[k + 1, t[k]] = C[k]*z[k, t[k]] - S[k]*z[k, s[k]] - w[k + 1, s[k]]*axis[k].qd;
    a[k, e[k]] = b[k, e[k]];
    a[k, s[k]] = C[k]*b[k, s[k]] + S[k]*b[k, t[k]];
    a[k, t[k]] = C[k]*b[k, t[k]] - S[k]*b[k, s[k]];
    b[k + 1, :] = a[k, :] + cross(z[k + 1, :], r[k, :]) + cross(w[k + 1, :], cross(w[k + 1, :], r[k, :]));
    // forces, from the tip to the base: Newton and Euler for link k, and out of its frame
    F[k, :] = m[k]*(a[k, :] + cross(z[k + 1, :], c[k, :]) + cross(w[k + 1, :], cross(w[k + 1, :], c[k, :])));
    f[k, :] = F[k, :] + p[k + 1, :];
    n[k, :] = I[k, :].*z[k + 1, :] + cross(w[k + 1, :], I[k, :].*w[k + 1, :]) + cross(c[k, :], F[k, :]) + l[k + 1, :]
      + cross(r[k, :], p[k + 1, :]);
    p[k, e[k]] = f[k, e[k]];
    p[k, s[k]] = C[k]*f[k, s[k]] - S[k]*f[k, t[k]];
    p[k, t[k]] = C[k]*f[k, t[k]] + S[k]*f[k, s[k]];
    l[k, e[k]] = n[k, e[k]];
    l[k, s[k]] = C[k]*n[k, s[k]] - S[k]*n[k, t[k]];
    l[k, t[k]] = C[k]*n[k, t[k]] + S[k]*n[k, s[k]];
    axis[k].tg = n[k, e[k]];
  end for;
  p[7, :] = zeros(3);
  l[7, :] = zeros(3);
end Chain;

model Arm "The references are inputs"
  extends Chain;
  input Real qr[6](start = {0, 0.3, 0.5, 0, 0.6, 0}) "References of the angles";
equation
  for k in 1:6 loop
    axis[k].qr = qr[k];
  end for;
initial equation
  for k in 1:6 loop
    axis[k].q = qr[k];
  end for;
end Arm;

model Robot "Moves from qa to qb and on to qc"
  extends Chain;
  parameter Real qa[6] = {0, 0.3, 0.5, 0, 0.6, 0} "Start in rad";
  parameter Real qb[6] = {1.2, 0.9, 0.1, 1, -0.5, 1.5} "First goal";
  parameter Real qc[6] = {-0.8, -0.2, 0.9, -0.7, 0.9, -1} "Second goal";
  parameter Real t1 = 0.1, T1 = 0.9 "Begin and duration of the first move in s";
  parameter Real t2 = 1.2, T2 = 1.2 "Begin and duration of the second move in s";
  parameter Real ripple = 0 "Amplitude of 3 Hz added to all references, in rad";
  constant Real pi = 3.141592653589793;
  Real first, second, shake "Progress of the moves; the ripple";
  Real qr[6] "References of the angles";
equation
  first = rise((time - t1)/T1);
  second = rise((time - t2)/T2);
  shake = ripple*sin(6*pi*time)*rise(time/0.2);
  for k in 1:6 loop
    qr[k] = qa[k] + (qb[k] - qa[k])*first + (qc[k] - qb[k])*second + shake;
    axis[k].qr = qr[k];
  end for;
initial equation
  for k in 1:6 loop
    axis[k].q = qa[k];
  end for;
end Robot;
