// A wheel of a race car: spin, transient slip, tread, heat. 37 inputs from the car, the road, the drive and the air.
//   pliant simulate examples/cosim/wheel.mo --stop 1 --save wheel.csv
// Forces follow Pacejka's magic formula with combined slip and first-order relaxation (H. B. Pacejka, Tyre and Vehicle
// Dynamics, 2012, chapters 4 and 7); temperatures are lumped: tread surface, carcass, brake disc.
function abs_smooth "Modulus, rounded at zero"
  input Real v;
  output Real y;
algorithm
  y := sqrt(v^2 + 1);
end abs_smooth;

model Wheel "Right front wheel; the car gives the motion of the hub, the wheel gives back force and torque"
  // motion of the hub, in the frame of the car
  input Real x(start = 0), y(start = 0), z(start = 0.315) "Position of the hub in m";
  input Real vx(start = 30), vy(start = 0), vz(start = 0) "Velocity in m/s";
  input Real ax(start = 0), ay(start = 0), az(start = 0) "Acceleration in m/s2";
  input Real R11(start = 1), R12(start = 0), R13(start = 0) "Orientation of the wheel carrier, rows of a rotation matrix";
  input Real R21(start = 0), R22(start = 1), R23(start = 0);
  input Real R31(start = 0), R32(start = 0), R33(start = 1);
  input Real wx(start = 0), wy(start = 0), wz(start = 0) "Angular velocity of the carrier in rad/s";
  input Real bx(start = 0), by(start = 0), bz(start = 0) "Angular acceleration of the carrier in rad/s2";
  // road
  input Real zr(start = 0), dzr(start = 0) "Height of the road in m and its rate in m/s";
  input Real nx(start = 0), ny(start = 0), nz(start = 1) "Normal of the road";
  input Real mu(start = 1.4) "Friction";
  input Real rough(start = 1) "Roughness, multiplies the heat of the tread";
  // drive and brake
  input Real drive(start = 0) "Torque of the drive shaft in N.m";
  input Real brake(start = 0) "Pressure of the brake in bar";
  input Real drag(start = 1) "Drag of the bearing, relative";
  // surroundings
  input Real Tair(start = 25), Ttrack(start = 40) "Temperatures in degrees Celsius";
  input Real cooling(start = 1) "Air at the brake duct, relative";
  parameter Real r = 0.33 "Radius in m";
  parameter Real J = 1.1 "Inertia of the wheel about its axis in kg.m2";
  parameter Real m = 6 "Mass of the belt in kg";
  parameter Real k = 2.2e5, c = 900 "Stiffness in N/m and damping in N.s/m of the tread";
  parameter Real kb = 6e5, cb = 2500 "Stiffness and damping between belt and rim";
  parameter Real sl = 0.09, ss = 0.16 "Relaxation lengths in m, along and across";
  parameter Real B = 11, Cx = 1.6, Cy = 1.35 "Shape of the magic formula";
  parameter Real kbrake = 28 "Torque of the brake in N.m/bar";
  parameter Real v0 = 1 "Speed below which slip is regularised in m/s";
  Real spin(start = 91, fixed = true) "Speed of the wheel in rad/s";
  Real kappa(start = 0, fixed = true) "Slip along";
  Real alpha(start = 0, fixed = true) "Slip across";
  Real zb(start = 0, fixed = true) "Belt against rim in m";
  Real wb(start = 0, fixed = true) "Its rate in m/s";
  Real Ts(start = 80, fixed = true), Tc(start = 75, fixed = true) "Tread and carcass in degrees Celsius";
  Real Tb(start = 250, fixed = true) "Brake disc in degrees Celsius";
  output Real Fx "Force along in N";
  output Real Fy "Force across in N";
  output Real Fz "Load in N";
  output Real Mz "Aligning torque in N.m";
protected
  Real along "Speed of the hub along the wheel";
  Real across "Speed of the hub across the wheel";
  Real up "Speed of the hub along the normal of the road";
  Real dent "Deflection of the tread in m";
  Real grip "Friction with its temperature";
  Real s "Combined slip";
  Real total "Force by combined slip";
  Real speed;
  Real friction "Power of friction in the contact";
equation
  along = R11*vx + R12*vy + R13*vz + 0.05*(wz*R22 - wy*R23);
  across = R21*vx + R22*vy + R23*vz - 0.05*wz*R11 + r*wx;
  up = nx*vx + ny*vy + nz*vz;
  speed = sqrt(along^2 + v0^2);
  dent = zr + r*nz - z*nz - nx*x*1e-3 - ny*y*1e-3 + zb;
  Fz = 0.5*(k*dent + c*(dzr - up + wb) + sqrt((k*dent + c*(dzr - up + wb))^2 + 1e4));
  m*der(wb) = -kb*zb - cb*wb + 0.1*(k*0.01 - Fz) - m*az*R33;
  der(zb) = wb;
  sl*der(kappa) = (r*(spin + wy) - along) - speed*kappa;
  ss*der(alpha) = -across - speed*alpha + 0.02*R31*along + 0.02*R32*across;
  grip = mu*(1.05 - 4e-5*(Ts - 90)^2);
  s = sqrt(kappa^2 + alpha^2 + 1e-6);
  total = grip*Fz*sin(Cx*atan(B*s))/s;
  Fx = total*kappa;
  Fy = total*alpha*sin(Cy*atan(B*s))/sin(Cx*atan(B*s));
  Mz = -0.03*Fy*exp(-10*s^2);
  J*(der(spin) + by) = drive - kbrake*brake*tanh(spin/2)*(1 - 2e-4*(Tb - 300)) - 0.8*drag*spin*0.1 - r*Fx - 0.01*Fz*r
    - 0.02*(bx + bz) - 1e-3*(ax*R12 + ay*R21);
  friction = rough*(abs_smooth(Fx*speed*kappa) + abs_smooth(Fy*speed*alpha));
  450*der(Ts) = friction*0.6 - 40*(Ts - Tc) - (8 + 0.3*speed)*(Ts - Tair) - 12*(Ts - Ttrack);
  4000*der(Tc) = 40*(Ts - Tc) - 15*(Tc - Tair) + 0.02*speed*Fz*0.01;
  3500*der(Tb) = kbrake*brake*spin*tanh(spin/2) - (10 + 1.2*cooling*speed)*(Tb - Tair);
end Wheel;
