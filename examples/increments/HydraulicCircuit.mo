// A hydraulic cylinder with pump, accumulator, relief valve and piloted directional valve: 12 states, pressures in bar, stiff.
//   pliant simulate examples/increments/HydraulicCircuit.mo --stop 10 --save hydraulic_circuit.csv
// An open stand-in for model 3 of T. Renström, On the Selection of Increments in Jacobian Approximations for Numerical Solvers
// of Ordinary Differential Equations, Master's thesis, Lund 2024:E8. Its equations are not public; table 6.5 there lists sizes
// and nominal values.
//
//   motor - pump - check valve - pump node -+- hose - accumulator
//                                           +- relief valve - return line - filter - tank
//                                           +- reducing valve - pilot line, moves the spool
//                                           +- directional valve - chambers A and B - return line
//
// Units are those of the workshop: bar, cm3, cm3/s; the piston moves in m and dm/s, the gas of the accumulator is in l.
// Orifices: turbulent, q = k sqrt(dp), linear around zero. Stiffness of oil with air bubbles: H. E. Merritt, Hydraulic Control
// Systems, 1967, section 2.2, with the gas compressed polytropically. Motor: Kloss' formula. The accumulator is polytropic and
// its bladder rests on the outlet while the oil has less than the pressure of the filling. Check valves are smooth and steep.
// There are no events: all relations are smooth.

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

function root "Root with the sign of dp, linear below 0.1 bar"
  input Real dp "In bar";
  output Real y;
algorithm
  y := dp/(dp^2 + 0.01)^0.25;
end root;

function stiffness "Bulk modulus of oil with bubbles in bar"
  input Real p "In bar";
  input Real E "Without bubbles in bar";
  input Real air "Part of the volume at 1 bar";
  output Real y;
algorithm
  y := E/(1 + air*E/1.4*positive(p, 0.1)^(-2.4/1.4));
end stiffness;

model HydraulicCircuit "Cylinder that pushes a load until it tips over and pulls it back"
  parameter Real p_0(unit = "bar") = 1 "Tank";
  parameter Real E(unit = "bar") = 14000 "Bulk modulus of the oil";
  parameter Real air(unit = "1") = 0.005 "Bubbles at 1 bar, part of the volume";
  // pump
  parameter Real Q_pump(unit = "cm3/s") = 600 "Flow at full speed";
  parameter Real k_slip(unit = "cm3/(s.bar)") = 0.15 "Leakage of the pump";
  parameter Real tau_motor(unit = "s") = 0.1 "Time to full speed with the torque of the load at 200 bar";
  parameter Real pull_out(unit = "1") = 2.5, slip(unit = "1") = 0.1 "Pull-out torque, relative, and slip there";
  parameter Real V_pump(unit = "cm3") = 300 "Pump node";
  // accumulator and its hose
  parameter Real V_gas_0(unit = "l") = 4 "Gas without oil";
  parameter Real p_fill(unit = "bar") = 60 "Pressure of the filling";
  parameter Real n_gas(unit = "1") = 1.3 "Polytropic exponent";
  parameter Real w_rest(unit = "l") = 0.02 "Over which the bladder comes to rest on the outlet";
  parameter Real inertance(unit = "bar.s2/cm3") = 3e-5 "Density times length over cross section";
  parameter Real r_hose(unit = "bar.s/cm3") = 0.03, r_turbulent(unit = "bar.s2/cm6") = 5e-5 "Losses";
  // valves; all k but those of leakages are in cm3/s per root of bar
  parameter Real p_relief(unit = "bar") = 190, dp_relief(unit = "bar") = 10 "Relief valve opens, needs so much more to be open";
  parameter Real tau_relief(unit = "s") = 0.004 "Relief valve";
  parameter Real k_relief = 40 "Relief valve, open";
  parameter Real p_pilot_set(unit = "bar") = 5 "Reducing valve closes here";
  parameter Real k_reduce = 4, k_bleed = 3 "Reducing valve, bleed orifice";
  parameter Real V_pilot(unit = "cm3") = 5, V_spool(unit = "cm3") = 0.6 "Pilot line, stroke of the spool";
  parameter Real tau_spool(unit = "s") = 0.02 "Directional valve";
  parameter Real k_valve = 70 "Directional valve, each edge, open";
  parameter Real k_check = 150 "Check valves from the return line to the chambers";
  parameter Real dp_check(unit = "bar") = 0.05 "Over which a check valve opens";
  parameter Real V_return(unit = "cm3") = 800 "Return line";
  parameter Real k_filter = 900 "Filter between return line and tank";
  // cylinder
  parameter Real A_A(unit = "cm2") = 20, A_B(unit = "cm2") = 12 "Piston, rod side";
  parameter Real V_dead(unit = "cm3") = 100 "Chamber and hose when the piston is at its end";
  parameter Real stroke(unit = "m") = 0.6 "From end to end";
  parameter Real k_piston(unit = "cm3/(s.bar)") = 0.05 "Leakage at the piston";
  parameter Real M(unit = "kg") = 1500 "Load";
  parameter Real F_work(unit = "N") = 15000 "Load against the motion";
  parameter Real F_over(unit = "N") = 8000 "Load with the motion, once it has tipped over";
  parameter Real F_friction(unit = "N") = 400, d_piston(unit = "N.s/dm") = 300 "Friction";
  parameter Real v_sign(unit = "dm/s") = 0.05 "Speed at which friction has changed its sign";
  Real n(unit = "1", start = 0, fixed = true) "Speed of motor and pump, relative";
  Real q_acc(unit = "cm3/s", start = 0, fixed = true) "Flow into the accumulator";
  Real z(unit = "1", start = 0, fixed = true) "Spool of the directional valve, -1 to 1";
  Real x(unit = "m", start = 0.15, fixed = true) "Piston";
  Real V_gas(unit = "l", start = V_gas_0, fixed = true) "Gas in the accumulator";
  Real v(unit = "dm/s", start = 0, fixed = true) "Piston";
  Real p_pump(unit = "bar", start = 1, fixed = true, nominal = 1.0) "Pump node";
  Real p_return(unit = "bar", start = 1, fixed = true, nominal = 1.0) "Return line";
  Real p_pilot(unit = "bar", start = 1, fixed = true, nominal = 1.0) "Pilot line";
  Real z_relief(unit = "1", start = 0, fixed = true) "Opening of the relief valve";
  Real p_A(unit = "bar", start = 2.8, fixed = true, nominal = 1.0) "Chamber A";
  Real p_B(unit = "bar", start = 4, fixed = true, nominal = 1.0) "Chamber B, rod side";
protected
  Real command(unit = "1") "Of the directional valve";
  Real authority(unit = "1") "Part of the command that the pilot pressure can hold";
  Real q_relief(unit = "cm3/s"), q_pilot(unit = "cm3/s"), q_bleed(unit = "cm3/s") "Relief valve, reducing valve, bleed";
  Real forth(unit = "1"), back(unit = "1") "Openings of the edges of the directional valve";
  Real q_PA(unit = "cm3/s"), q_PB(unit = "cm3/s"), q_AT(unit = "cm3/s"), q_BT(unit = "cm3/s") "Edges of the directional valve";
  Real q_check_A(unit = "cm3/s"), q_check_B(unit = "cm3/s") "Check valves from the return line";
  Real q_piston(unit = "cm3/s") "From chamber A to B";
  Real p_acc(unit = "bar") "At the inlet of the accumulator";
  Real V_A(unit = "cm3"), V_B(unit = "cm3") "Chambers";
  Real load(unit = "N") "Against the motion forth";
equation
  // schedule: motor on from 0.1, forth from 3 to 4.6, back from 6 to 8
  command = 0.98*(rise(time, 3, 0.05) - rise(time, 4.6, 0.05)) - 0.6*(rise(time, 6, 0.05) - rise(time, 8, 0.05));
  load = F_work*(rise(time, 2.5, 0.1) - rise(time, 4.1, 0.05)) - F_over*(rise(time, 4.1, 0.05) - rise(time, 5.5, 0.1))
    + F_over*(rise(time, 6.5, 0.1) - rise(time, 9, 0.1));
  // motor and pump; tanh is the check valve: nothing goes back through a pump that stands
  tau_motor*der(n) = rise(time, 0.1, 0.02)*2*pull_out*(1 - n)*slip/((1 - n)^2 + slip^2) - n*0.05
    - (p_pump - p_0)/200*tanh(20*n);
  V_pump/stiffness(p_pump, E, air)*der(p_pump) =
    (Q_pump*n - k_slip*(p_pump - p_0))*tanh(20*n) - q_acc - q_relief - q_pilot - q_PA - q_PB;
  // accumulator: gas, and the outlet as long as the bladder rests on it
  p_acc = p_fill*(V_gas_0/V_gas)^n_gas - (p_fill - p_0)*exp((V_gas - V_gas_0)/w_rest);
  inertance*der(q_acc) = p_pump - p_acc - r_hose*q_acc - r_turbulent*q_acc*sqrt(q_acc^2 + 1);
  1000*der(V_gas) = -q_acc;
  // relief valve, pilot line, spool
  tau_relief*der(z_relief) = positive((p_pump - p_relief)/dp_relief, 1e-3) - z_relief;
  q_relief = k_relief*z_relief*root(p_pump - p_return);
  q_pilot = k_reduce*0.5*(1 + tanh((p_pilot_set - p_pilot)/0.3))*root(p_pump - p_pilot);
  q_bleed = k_bleed*root(p_pilot - p_return);
  authority = tanh((p_pilot - p_0)/2);
  tau_spool*der(z) = command*authority - z;
  V_pilot/stiffness(p_pilot, E, air)*der(p_pilot) = q_pilot - q_bleed - V_spool*der(z)*tanh(20*z);
  // directional valve
  forth = positive(z - 0.02, 0.005);
  back = positive(-z - 0.02, 0.005);
  q_PA = k_valve*forth*root(p_pump - p_A);
  q_BT = k_valve*forth*root(p_B - p_return);
  q_PB = k_valve*back*root(p_pump - p_B);
  q_AT = k_valve*back*root(p_A - p_return);
  // return line
  q_check_A = k_check*0.5*(1 + tanh((p_return - p_A)/dp_check - 2))*root(p_return - p_A);
  q_check_B = k_check*0.5*(1 + tanh((p_return - p_B)/dp_check - 2))*root(p_return - p_B);
  V_return/stiffness(p_return, E, air)*der(p_return) = q_relief + q_bleed + q_AT + q_BT - q_check_A - q_check_B
    - k_filter*root(p_return - p_0);
  // cylinder
  V_A = V_dead + 100*A_A*x;
  V_B = V_dead + 100*A_B*(stroke - x);
  q_piston = k_piston*(p_A - p_B);
  V_A/stiffness(p_A, E, air)*der(p_A) = q_PA - q_AT + q_check_A - q_piston - 10*A_A*v;
  V_B/stiffness(p_B, E, air)*der(p_B) = q_PB - q_BT + q_check_B + q_piston + 10*A_B*v;
  der(x) = 0.1*v;
  0.1*M*der(v) = 10*(p_A*A_A - p_B*A_B - p_0*(A_A - A_B)) - load - F_friction*tanh(v/v_sign) - d_piston*v;
end HydraulicCircuit;
