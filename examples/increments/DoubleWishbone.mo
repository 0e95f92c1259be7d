// A quarter of a car on a double wishbone suspension with elastic joints: 14 states far below 1, no nominal values, stiff.
//   pliant simulate examples/increments/DoubleWishbone.mo --stop 10 --save double_wishbone.csv
// An open stand-in for model 4 of T. Renström, On the Selection of Increments in Jacobian Approximations for Numerical Solvers
// of Ordinary Differential Equations, Master's thesis, Lund 2024:E8. Its equations are not public; table 6.7 there lists sizes
// and nominal values.
//
// Front view: y points outwards, z upwards. The body moves up and down; the arms turn about their bearings in the body; the
// upright moves up, sideways and tilts (camber). Ball joints between the ends of the arms and the upright, and the bearings,
// are stiff springs and dampers that harden (cubic), so that there are no constraints. Along the road the wheel can move, too,
// but nothing pushes it unless brake is given: these two states stay exactly 0.
// All coordinates count from the rest under the weight, and all forces are differences from those at rest; what the forces at
// rest add when their levers turn is left out, as is the mass of the arms apart from their inertia about the bearings.
// Damper: two slopes joined by tanh; tyre: point contact that can lift off (M. Mitschke, H. Wallentowitz, Dynamik der
// Kraftfahrzeuge, 2004). Points of the arms and of the upright move on circles, with sin and cos.

function rise "Rises from 0 to 1 around t0"
  input Real t "Time in s";
  input Real t0 "Middle in s";
  input Real width "Half the width in s";
  output Real y;
algorithm
  y := 0.5*(1 + tanh((t - t0)/width));
end rise;

function positive "z where z > 0, else 0, rounded"
  input Real z;
  input Real e "Where it is rounded";
  output Real y;
algorithm
  y := 0.5*(z + sqrt(z^2 + e^2));
end positive;

function hard "Force of a spring that hardens"
  input Real x "Deflection";
  input Real c "Stiffness";
  input Real x_hard "Deflection at which the force has doubled";
  output Real F;
algorithm
  F := c*x*(1 + (x/x_hard)^2);
end hard;

model DoubleWishbone "Load is put on the car, then it goes over a bump and up a kerb"
  // body, spring and damper
  parameter Real m_body(unit = "kg") = 350 "Quarter of the body";
  parameter Real c_spring(unit = "N/m") = 6e4 "At the lower arm";
  parameter Real x_spring(unit = "m") = 0.08 "Deflection at which bump stop and spring push twice as much";
  parameter Real d_low(unit = "N.s/m") = 1500, F_knee(unit = "N") = 500, v_knee(unit = "m/s") = 0.08 "Damper";
  parameter Real l_spring(unit = "m") = 0.24 "From the bearing of the lower arm to spring and damper";
  // arms
  parameter Real l_lower(unit = "m") = 0.36, l_upper(unit = "m") = 0.26 "Lengths";
  parameter Real phi_lower_0(unit = "rad") = 0.03, phi_upper_0(unit = "rad") = 0.1 "Angles at rest, outer ends higher";
  parameter Real J_lower(unit = "kg.m2") = 0.17, J_upper(unit = "kg.m2") = 0.05 "Inertia about the bearings";
  parameter Real c_bearing(unit = "N.m/rad") = 80, d_bearing(unit = "N.m.s/rad") = 2 "Bearings, rubber";
  parameter Real phi_hard(unit = "rad") = 0.4 "Angle at which a bearing holds twice as much";
  // upright with wheel
  parameter Real m_wheel(unit = "kg") = 38 "Upright, hub and wheel";
  parameter Real J_wheel(unit = "kg.m2") = 0.9 "About the axis along the road";
  parameter Real y_in(unit = "m") = 0.08 "Ball joints inwards of the centre";
  parameter Real z_lower(unit = "m") = -0.12, z_upper(unit = "m") = 0.16 "Ball joints above the centre";
  parameter Real c_joint(unit = "N/m") = 8e7, d_joint(unit = "N.s/m") = 8e4, x_joint(unit = "m") = 2e-4 "Ball joints";
  // tyre
  parameter Real radius(unit = "m") = 0.3 "Of the wheel";
  parameter Real c_tyre(unit = "N/m") = 2.2e5, d_tyre(unit = "N.s/m") = 250 "Up and down";
  parameter Real c_side(unit = "N/m") = 1.2e5, d_side(unit = "N.s/m") = 1500 "Sideways at the contact";
  parameter Real g(unit = "m/s2") = 9.81 "Gravity";
  // along the road
  parameter Real c_along(unit = "N/m") = 4e6, d_along(unit = "N.s/m") = 3e4, x_along(unit = "m") = 1e-3 "Bearings";
  parameter Real brake(unit = "N") = 0 "Force of the brake between t = 7 and 8";
  // what happens
  parameter Real load(unit = "N") = 500 "Put on the body at t = 0.5";
  parameter Real bump(unit = "m") = 0.005, kerb(unit = "m") = 0.01 "Heights, at t = 3 and t = 6";
  parameter Real bump_width(unit = "s") = 0.08 "Half the time on the bump";
  Real z_b(unit = "m", start = 0, fixed = true) "Body, up";
  Real y_w(unit = "m", start = 0, fixed = true) "Wheel, outwards";
  Real z_w(unit = "m", start = 0, fixed = true) "Wheel, up";
  Real v_b(unit = "m/s", start = 0, fixed = true) "Body, up";
  Real vy_w(unit = "m/s", start = 0, fixed = true) "Wheel, outwards";
  Real vz_w(unit = "m/s", start = 0, fixed = true) "Wheel, up";
  Real phi_lower(unit = "rad", start = 0, fixed = true) "Lower arm";
  Real phi_upper(unit = "rad", start = 0, fixed = true) "Upper arm";
  Real camber(unit = "rad", start = 0, fixed = true) "Upright; positive: the top moves inwards";
  Real om_lower(unit = "rad/s", start = 0, fixed = true) "Lower arm";
  Real om_upper(unit = "rad/s", start = 0, fixed = true) "Upper arm";
  Real om_camber(unit = "rad/s", start = 0, fixed = true) "Upright";
  Real x_w(unit = "m", start = 0, fixed = true) "Wheel, along the road";
  Real vx_w(unit = "m/s", start = 0, fixed = true) "Wheel, along the road";
protected
  Real road(unit = "m"), v_road(unit = "m/s") "Height of the road and its rate";
  Real dy_lower(unit = "m"), dz_lower(unit = "m"), dy_upper(unit = "m"), dz_upper(unit = "m") "Ball joints: upright against arm";
  Real vy_lower(unit = "m/s"), vz_lower(unit = "m/s"), vy_upper(unit = "m/s"), vz_upper(unit = "m/s") "Their rates";
  Real Fy_lower(unit = "N"), Fz_lower(unit = "N"), Fy_upper(unit = "N"), Fz_upper(unit = "N") "On the arms";
  Real ry_lower(unit = "m"), rz_lower(unit = "m"), ry_upper(unit = "m"), rz_upper(unit = "m") "Ball joints from the centre";
  Real ry_contact(unit = "m"), rz_contact(unit = "m") "Contact from the centre";
  Real M_lower(unit = "N.m"), M_upper(unit = "N.m") "Bearings, on the body";
  Real squeeze(unit = "m"), v_squeeze(unit = "m/s") "Shortening of spring and damper";
  Real F_strut(unit = "N") "Spring and damper, pushes the arm down";
  Real F_tyre(unit = "N"), F_side(unit = "N") "Of the road on the tyre, up and outwards";
  Real F_rest(unit = "N") "Of the road on the tyre at rest";
equation
  road = bump*(1 - tanh((time - 3)/bump_width)^2) + kerb*rise(time, 6, 0.1);
  v_road = -2*bump*tanh((time - 3)/bump_width)*(1 - tanh((time - 3)/bump_width)^2)/bump_width
    + 0.5*kerb*(1 - tanh((time - 6)/0.1)^2)/0.1;
  // ball joints
  ry_lower = -y_in*cos(camber) - z_lower*sin(camber);
  rz_lower = -y_in*sin(camber) + z_lower*cos(camber);
  ry_upper = -y_in*cos(camber) - z_upper*sin(camber);
  rz_upper = -y_in*sin(camber) + z_upper*cos(camber);
  dy_lower = y_w + (ry_lower + y_in) - l_lower*(cos(phi_lower_0 + phi_lower) - cos(phi_lower_0));
  dz_lower = z_w + (rz_lower - z_lower) - z_b - l_lower*(sin(phi_lower_0 + phi_lower) - sin(phi_lower_0));
  dy_upper = y_w + (ry_upper + y_in) - l_upper*(cos(phi_upper_0 + phi_upper) - cos(phi_upper_0));
  dz_upper = z_w + (rz_upper - z_upper) - z_b - l_upper*(sin(phi_upper_0 + phi_upper) - sin(phi_upper_0));
  vy_lower = vy_w - rz_lower*om_camber + l_lower*sin(phi_lower_0 + phi_lower)*om_lower;
  vz_lower = vz_w + ry_lower*om_camber - v_b - l_lower*cos(phi_lower_0 + phi_lower)*om_lower;
  vy_upper = vy_w - rz_upper*om_camber + l_upper*sin(phi_upper_0 + phi_upper)*om_upper;
  vz_upper = vz_w + ry_upper*om_camber - v_b - l_upper*cos(phi_upper_0 + phi_upper)*om_upper;
  Fy_lower = hard(dy_lower, c_joint, x_joint) + d_joint*vy_lower;
  Fz_lower = hard(dz_lower, c_joint, x_joint) + d_joint*vz_lower;
  Fy_upper = hard(dy_upper, c_joint, x_joint) + d_joint*vy_upper;
  Fz_upper = hard(dz_upper, c_joint, x_joint) + d_joint*vz_upper;
  // arms
  M_lower = hard(phi_lower, c_bearing, phi_hard) + d_bearing*om_lower;
  M_upper = hard(phi_upper, c_bearing, phi_hard) + d_bearing*om_upper;
  squeeze = l_spring*(sin(phi_lower_0 + phi_lower) - sin(phi_lower_0));
  v_squeeze = l_spring*cos(phi_lower_0 + phi_lower)*om_lower;
  F_strut = hard(squeeze, c_spring, x_spring) + d_low*v_squeeze + F_knee*tanh(v_squeeze/v_knee);
  der(phi_lower) = om_lower;
  der(phi_upper) = om_upper;
  J_lower*der(om_lower) = l_lower*(Fz_lower*cos(phi_lower_0 + phi_lower) - Fy_lower*sin(phi_lower_0 + phi_lower))
    - l_spring*cos(phi_lower_0 + phi_lower)*F_strut - M_lower;
  J_upper*der(om_upper) = l_upper*(Fz_upper*cos(phi_upper_0 + phi_upper) - Fy_upper*sin(phi_upper_0 + phi_upper)) - M_upper;
  // body: bearings and strut together pass on the forces of the ball joints
  der(z_b) = v_b;
  m_body*der(v_b) = Fz_lower + Fz_upper - load*rise(time, 0.5, 0.05);
  // upright and wheel
  ry_contact = radius*sin(camber);
  rz_contact = -radius*cos(camber);
  F_rest = (m_body + m_wheel)*g;
  F_tyre = positive(F_rest + c_tyre*(road - z_w) + d_tyre*(v_road - vz_w), 20) - positive(F_rest, 20);
  F_side = -hard(y_w + ry_contact, c_side, 0.05) - d_side*(vy_w - rz_contact*om_camber);
  der(y_w) = vy_w;
  der(z_w) = vz_w;
  der(camber) = om_camber;
  m_wheel*der(vy_w) = F_side - Fy_lower - Fy_upper;
  m_wheel*der(vz_w) = F_tyre - Fz_lower - Fz_upper;
  J_wheel*der(om_camber) = rz_lower*Fy_lower - ry_lower*Fz_lower + rz_upper*Fy_upper - ry_upper*Fz_upper
    + ry_contact*F_tyre - rz_contact*F_side;
  // along the road
  der(x_w) = vx_w;
  m_wheel*der(vx_w) = -hard(x_w, c_along, x_along) - d_along*vx_w - brake*(rise(time, 7, 0.05) - rise(time, 8, 0.05));
end DoubleWishbone;
