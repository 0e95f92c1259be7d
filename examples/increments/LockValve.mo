// A pneumatic cylinder whose two chambers are shut off by pneumatically operated lock valves: 21 states from 1e-7 to 1e5, stiff.
//   pliant simulate examples/increments/LockValve.mo --stop 10 --save lock_valve.csv
// An open stand-in for model 2 of T. Renström, On the Selection of Increments in Jacobian Approximations for Numerical Solvers
// of Ordinary Differential Equations, Master's thesis, Lund 2024:E8. Its equations are not public; table 6.3 there lists sizes
// and nominal values.
//
//   source - reservoir -+- directional valve A - line A - lock valve A - chamber A |
//                       +- directional valve B - line B - lock valve B - chamber B | piston and load
//                       +- pilot valve - pilot chambers of the two lock valves
//
// Orifices: ISO 6358-1 (2013), sonic conductance C and critical pressure ratio b, with the root made linear around zero as the
// standard does above a pressure ratio of 0.999. Chambers: balances of mass and energy of an ideal gas, written for p and T.
// Friction: Coulomb and Stribeck with tanh (B. Armstrong-Hélouvry et al., Automatica 30, 1994). Leakage: laminar flow in a gap,
// proportional to its height cubed. Seats are elastic and damped; positions of the poppets count from the closed valve at rest.
// There are no events: all relations are at least once continuously differentiable.

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

function upstream "Temperature of the gas that flows from 1 to 2, or back"
  input Real p1 "In Pa";
  input Real p2 "In Pa";
  input Real T1 "In K";
  input Real T2 "In K";
  output Real T "In K";
algorithm
  T := 0.5*(T1 + T2) + 0.5*(T1 - T2)*tanh(200*(p1 - p2)/(p1 + p2));
end upstream;

function orifice "Mass flow from 1 to 2 in kg/s: ISO 6358, both directions"
  input Real p1 "In Pa";
  input Real p2 "In Pa";
  input Real T "Temperature upstream in K";
  input Real C "Sonic conductance in m3/(s.Pa)";
  input Real b "Critical pressure ratio";
  output Real m;
protected
  Real high "Higher pressure";
  Real u "1 where the flow becomes critical";
  Real z "Square of the relative flow, with sign";
algorithm
  high := noEvent(if p1 > p2 then p1 else p2);
  u := (p1 - p2)/(high*(1 - b));
  z := noEvent(if u > 1 then 1 else if u < -1 then -1 else u*(2 - abs(u)));
  m := C*1.185*sqrt(293.15/T)*high*z/(z^2 + 1e-6)^0.25;
end orifice;

model LockValve "Cylinder that moves forth and back and is locked at t = 8 while it moves"
  constant Real R(unit = "J/(kg.K)") = 287 "Gas constant of air";
  constant Real kappa(unit = "1") = 1.4 "Ratio of heat capacities";
  parameter Real p_0(unit = "Pa") = 1e5 "Surroundings";
  parameter Real T_0(unit = "K") = 293 "Surroundings";
  parameter Real p_source(unit = "Pa") = 6.2e5 "Pressure behind the regulator";
  // orifices
  parameter Real b(unit = "1") = 0.3 "Critical pressure ratio of all of them";
  parameter Real C_source(unit = "m3/(s.Pa)") = 1.2e-8 "Into the reservoir";
  parameter Real C_feed(unit = "m3/(s.Pa)") = 1e-8 "Directional valve, from the reservoir to a line";
  parameter Real C_exhaust(unit = "m3/(s.Pa)") = 8e-10 "Throttle, from a line to the surroundings";
  parameter Real C_pilot(unit = "m3/(s.Pa)") = 4e-9 "Pilot valve";
  parameter Real C_lock(unit = "m3/(s.Pa)") = 1e-8 "Lock valve, open";
  parameter Real k_leak(unit = "kg/(s.m3.Pa)") = 2e6 "Leakage of a closed lock valve: per gap cubed and pressure";
  // volumes
  parameter Real V_supply(unit = "m3") = 1e-3 "Reservoir";
  parameter Real V_line(unit = "m3") = 2e-5 "Line between directional valve and lock valve";
  parameter Real V_pilot(unit = "m3") = 5e-6 "Pilot chamber of a closed lock valve";
  parameter Real V_dead(unit = "m3") = 3e-5 "Chamber when the piston is at its end";
  // cylinder
  parameter Real A(unit = "m2") = 1.96e-3 "Piston, both sides";
  parameter Real stroke(unit = "m") = 0.45 "From end to end";
  parameter Real M(unit = "kg") = 20 "Piston and load";
  parameter Real F_load(unit = "N") = 40 "Load against the motion forth";
  parameter Real F_coulomb(unit = "N") = 30, F_stick(unit = "N") = 45 "Sliding friction, and at rest";
  parameter Real v_sign(unit = "m/s") = 1e-3 "Speed at which friction has changed its sign";
  parameter Real v_stribeck(unit = "m/s") = 5e-3 "Speed at which it has fallen";
  parameter Real d_piston(unit = "N.s/m") = 250 "Viscous friction";
  parameter Real heat(unit = "W/K") = 0.5, heat_supply(unit = "W/K") = 3 "From the walls of a chamber, of the reservoir";
  // poppets of the lock valves
  parameter Real A_pilot(unit = "m2") = 3e-4 "Pilot piston";
  parameter Real A_seat(unit = "m2") = 4e-6 "Area that is not balanced, pressed shut by the pressure of the chamber";
  parameter Real m_poppet(unit = "kg") = 0.02 "Poppet";
  parameter Real c_poppet(unit = "N/m") = 3e3 "Spring";
  parameter Real F_preload(unit = "N") = 40 "Force of the spring on the closed seat";
  parameter Real d_poppet(unit = "N.s/m") = 12 "Viscous friction";
  parameter Real lift(unit = "m") = 0.01 "Full opening";
  parameter Real overlap(unit = "m") = 5e-4 "Opens from here on";
  parameter Real c_stop(unit = "N/m") = 4e6, d_stop(unit = "N.s/m") = 900 "Seat and upper end";
  // gaps of the closed seats
  parameter Real h_0(unit = "m") = 1e-7 "Gap under no pressure";
  parameter Real tau_gap(unit = "s") = 2 "The seal creeps";
  // solenoids
  parameter Real tau_valve(unit = "s") = 0.015 "Directional and pilot valves";
  Real h_A(unit = "m", start = h_0, fixed = true, nominal = 1e-7) "Gap of the seat of lock valve A";
  Real h_B(unit = "m", start = h_0, fixed = true, nominal = 1e-7) "Gap of the seat of lock valve B";
  Real x(unit = "m", start = 0.15, fixed = true) "Piston";
  Real T_A(unit = "K", start = 293, fixed = true, nominal = 293) "Chamber A";
  Real p_A(unit = "Pa", start = 5.0e5, fixed = true, nominal = 1e5) "Chamber A";
  Real T_B(unit = "K", start = 293, fixed = true, nominal = 293) "Chamber B";
  Real p_B(unit = "Pa", start = 4.8e5, fixed = true, nominal = 1e5) "Chamber B";
  Real y_A(unit = "1", start = 0, fixed = true) "Opening of directional valve A";
  Real y_B(unit = "1", start = 0, fixed = true) "Opening of directional valve B";
  Real y_pilot(unit = "1", start = 0, fixed = true) "Opening of the pilot valve";
  Real T_supply(unit = "K", start = 293, fixed = true, nominal = 293) "Reservoir";
  Real p_supply(unit = "Pa", start = 1e5, fixed = true, nominal = 1e5) "Reservoir";
  Real p_pilot_A(unit = "Pa", start = 1e5, fixed = true, nominal = 1e5) "Pilot chamber of lock valve A";
  Real p_pilot_B(unit = "Pa", start = 1e5, fixed = true, nominal = 1e5) "Pilot chamber of lock valve B";
  Real p_line_A(unit = "Pa", start = 1e5, fixed = true, nominal = 1e5) "Line A";
  Real s_A(unit = "m", start = 0, fixed = true) "Poppet of lock valve A";
  Real p_line_B(unit = "Pa", start = 1e5, fixed = true, nominal = 1e5) "Line B";
  Real s_B(unit = "m", start = 0, fixed = true) "Poppet of lock valve B";
  Real v(unit = "m/s", start = 0, fixed = true) "Piston";
  Real w_A(unit = "m/s", start = 0, fixed = true) "Poppet of lock valve A";
  Real w_B(unit = "m/s", start = 0, fixed = true) "Poppet of lock valve B";
protected
  Real T_lock_A(unit = "K"), T_lock_B(unit = "K") "Gas that flows through a lock valve";
  Real m_source(unit = "kg/s") "Into the reservoir";
  Real m_feed_A(unit = "kg/s"), m_feed_B(unit = "kg/s") "From the reservoir into the lines";
  Real m_pilot_A(unit = "kg/s"), m_pilot_B(unit = "kg/s") "From the reservoir into the pilot chambers";
  Real m_lock_A(unit = "kg/s"), m_lock_B(unit = "kg/s") "From the lines into the chambers";
  Real V_A(unit = "m3"), V_B(unit = "m3") "Chambers";
  Real Q_A(unit = "W"), Q_B(unit = "W"), Q_supply(unit = "W") "Heat from the walls";
  Real friction(unit = "N") "At the piston";
  Real contact_A(unit = "N"), contact_B(unit = "N") "Of seat and upper end on the poppets";
equation
  // schedule: pressure from 0.2 on, unlocked from 1 to 8, forth from 1.5 to 4.5, back from 5 to 8.6
  tau_valve*der(y_A) = rise(time, 1.5, 0.02) - rise(time, 4.5, 0.02) - y_A;
  tau_valve*der(y_B) = rise(time, 5, 0.02) - rise(time, 8.6, 0.02) - y_B;
  tau_valve*der(y_pilot) = rise(time, 1, 0.02) - rise(time, 8, 0.02) - y_pilot;
  // reservoir
  m_source = rise(time, 0.2, 0.03)*orifice(p_source, p_supply, upstream(p_source, p_supply, T_0, T_supply), C_source, b);
  m_feed_A = orifice(p_supply, p_line_A, upstream(p_supply, p_line_A, T_supply, T_0), C_feed*y_A, b);
  m_feed_B = orifice(p_supply, p_line_B, upstream(p_supply, p_line_B, T_supply, T_0), C_feed*y_B, b);
  m_pilot_A = orifice(p_supply, p_pilot_A, upstream(p_supply, p_pilot_A, T_supply, T_0), C_pilot*y_pilot, b);
  m_pilot_B = orifice(p_supply, p_pilot_B, upstream(p_supply, p_pilot_B, T_supply, T_0), C_pilot*y_pilot, b);
  Q_supply = heat_supply*(T_0 - T_supply);
  V_supply*der(p_supply) = kappa*R*(m_source*upstream(p_source, p_supply, T_0, T_supply)
    - m_feed_A*upstream(p_supply, p_line_A, T_supply, T_0) - m_feed_B*upstream(p_supply, p_line_B, T_supply, T_0)
    - m_pilot_A*upstream(p_supply, p_pilot_A, T_supply, T_0) - m_pilot_B*upstream(p_supply, p_pilot_B, T_supply, T_0))
    + (kappa - 1)*Q_supply;
  der(T_supply)/T_supply = der(p_supply)/p_supply
    - R*T_supply/(p_supply*V_supply)*(m_source - m_feed_A - m_feed_B - m_pilot_A - m_pilot_B);
  // lines and pilot chambers: small, at the temperature of the surroundings
  V_line*der(p_line_A) = R*T_0*(m_feed_A - m_lock_A - orifice(p_line_A, p_0, T_0, C_exhaust*(1 - y_A), b));
  V_line*der(p_line_B) = R*T_0*(m_feed_B - m_lock_B - orifice(p_line_B, p_0, T_0, C_exhaust*(1 - y_B), b));
  (V_pilot + A_pilot*s_A)*der(p_pilot_A) =
    R*T_0*(m_pilot_A - orifice(p_pilot_A, p_0, T_0, C_pilot*(1 - y_pilot), b)) - p_pilot_A*A_pilot*w_A;
  (V_pilot + A_pilot*s_B)*der(p_pilot_B) =
    R*T_0*(m_pilot_B - orifice(p_pilot_B, p_0, T_0, C_pilot*(1 - y_pilot), b)) - p_pilot_B*A_pilot*w_B;
  // lock valves; pilot piston B has 0.8 of the force, so that the two do not move alike
  contact_A = positive(F_preload - c_stop*s_A, 1) - positive(c_stop*(s_A - lift), 1)
    - d_stop*w_A*(1 + 0.5*tanh((s_A - lift)/1e-5) - 0.5*tanh((s_A - 1e-5)/1e-5));
  contact_B = positive(F_preload - c_stop*s_B, 1) - positive(c_stop*(s_B - lift), 1)
    - d_stop*w_B*(1 + 0.5*tanh((s_B - lift)/1e-5) - 0.5*tanh((s_B - 1e-5)/1e-5));
  der(s_A) = w_A;
  der(s_B) = w_B;
  m_poppet*der(w_A) = (p_pilot_A - p_0)*A_pilot - (p_A - p_line_A)*A_seat - F_preload - c_poppet*s_A
    - d_poppet*w_A + contact_A;
  m_poppet*der(w_B) = 0.8*(p_pilot_B - p_0)*A_pilot - (p_B - p_line_B)*A_seat - F_preload - c_poppet*s_B
    - d_poppet*w_B + contact_B;
  T_lock_A = upstream(p_line_A, p_A, T_0, T_A);
  T_lock_B = upstream(p_line_B, p_B, T_0, T_B);
  m_lock_A = orifice(p_line_A, p_A, T_lock_A, C_lock*positive(s_A - overlap, 2e-6)/lift, b) + k_leak*h_A^3*(p_line_A - p_A);
  m_lock_B = orifice(p_line_B, p_B, T_lock_B, C_lock*positive(s_B - overlap, 2e-6)/lift, b) + k_leak*h_B^3*(p_line_B - p_B);
  tau_gap*der(h_A) = h_0*(1 + 0.2*(p_A - p_line_A)/p_source) - h_A;
  tau_gap*der(h_B) = h_0*(1 + 0.2*(p_B - p_line_B)/p_source) - h_B;
  // cylinder
  V_A = V_dead + A*x;
  V_B = V_dead + A*(stroke - x);
  Q_A = heat*(T_0 - T_A);
  Q_B = heat*(T_0 - T_B);
  V_A*der(p_A) = kappa*(R*m_lock_A*T_lock_A - p_A*A*v) + (kappa - 1)*Q_A;
  V_B*der(p_B) = kappa*(R*m_lock_B*T_lock_B + p_B*A*v) + (kappa - 1)*Q_B;
  der(T_A)/T_A = der(p_A)/p_A + A*v/V_A - R*T_A/(p_A*V_A)*m_lock_A;
  der(T_B)/T_B = der(p_B)/p_B - A*v/V_B - R*T_B/(p_B*V_B)*m_lock_B;
  friction = (F_coulomb + (F_stick - F_coulomb)*exp(-(v/v_stribeck)^2))*tanh(v/v_sign) + d_piston*v;
  der(x) = v;
  M*der(v) = (p_A - p_B)*A - F_load - friction;
end LockValve;
