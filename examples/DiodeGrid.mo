// A grid of resistors, diodes and amplifiers. Half of the nodes have a capacitor, the others are algebraic.
//   pliant simulate examples/DiodeGrid.mo --stop 0.05 --form dae --save diode_grid.csv
// With --form dae all 30 voltages are unknowns of the solver: currents are written into the balances of the nodes,
// because variables for them would become unknowns, too.

function branch "Current through a resistor and a diode in parallel"
  input Real u "Voltage in V";
  input Real R "Resistance in Ohm";
  input Integer D "Diode: 1 forward, -1 backward, 0 none";
  input Real Is "Saturation current in A";
  input Real Ut "Voltage in the exponent in V";
  input Real limit "Above, the exponential law goes on as a straight line, in V";
  output Real i "Current in A";
algorithm
  i := u/R + D*Is*(noEvent(if D*u < limit then exp(D*u/Ut) else exp(limit/Ut)*(1 + (D*u - limit)/Ut)) - 1);
end branch;

model DiodeGrid "5 x 6 nodes, three sources"
  parameter Real U[3] = {8, 5, 6} "Amplitudes of the sources in V";
  parameter Real frequency[3] = {50, 13, 31} "In Hz";
  parameter Real R0[3] = {200, 150, 330} "Resistances of the sources in Ohm";
  constant Integer fed[5, 6] = {{1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 3}, {0, 0, 0, 0, 0, 0},
    {0, 2, 0, 0, 0, 0}} "Number of the source at a node, 0 for none";
  parameter Real R_right[5, 5] = {{220, 1000, 470, 3300, 820}, {1500, 330, 680, 120, 2200}, {100, 560, 1800, 390, 10000},
    {4700, 270, 910, 5600, 150}, {680, 1200, 180, 2700, 470}} "From [i, j] to [i, j + 1] in Ohm";
  parameter Real R_down[4, 6] = {{1000, 150, 2700, 560, 390, 4700}, {330, 820, 100, 1500, 6800, 220},
    {1800, 470, 680, 220, 3900, 1000}, {120, 2200, 390, 8200, 560, 330}} "From [i, j] to [i + 1, j] in Ohm";
  parameter Real R_ground = 10000 "From every node to ground in Ohm";
  constant Real C[5, 6] = 1e-9*{{100, 0, 0, 1000, 0, 10}, {0, 0, 4700, 0, 0, 330}, {10000, 0, 0, 0, 22, 2200},
    {47, 470, 0, 10, 0, 6800}, {1000, 0, 0, 220, 0, 150}} "To ground in F; without a capacitor 0";
  constant Integer D_right[5, 5] = {{0, 1, 0, -1, 0}, {1, 0, 0, 1, 0}, {0, 0, -1, 0, 0}, {0, 0, 1, 0, 0}, {0, 1, 0, 0, -1}}
    "Diodes between neighbours: 1 lets the current go to the right, -1 to the left";
  constant Integer D_ground[5, 6] = {{0, 0, 0, 0, 1, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 0, 1},
    {0, 0, 1, 0, 0, 0}} "Diodes to ground";
  parameter Real Is = 1e-9 "Saturation current of the diodes in A";
  parameter Real Ut = 0.05 "Voltage in the exponent of the diodes in V";
  parameter Real limit = 0.7 "Voltage from which on the diodes are linear in V";
  constant Integer A[5, 6] = {{0, 0, 1, 0, 0, -1}, {0, 0, 0, 0, 1, 0}, {0, 1, 0, 0, 0, 0}, {-1, 0, 0, 1, 0, 0},
    {0, 0, 0, 0, -1, 0}} "Amplifiers: current out of [i, j] grows with the voltage of the opposite node [6 - i, 7 - j]";
  parameter Real gm = 2e-4 "Transconductance of the amplifiers in A/V";
  constant Real pi = 3.141592653589793;
  Real v[5, 6](each start = 0) "Voltages of the nodes";
  Real source[3] "Voltages of the sources";
equation
  for k in 1:3 loop
    source[k] = U[k]*sin(2*pi*frequency[k]*time);
  end for;
  for i in 1:5 loop
    for j in 1:6 loop
      C[i, j]*der(v[i, j]) =
        (if j > 1 then branch(v[i, max(j - 1, 1)] - v[i, j], R_right[i, max(j - 1, 1)], D_right[i, max(j - 1, 1)], Is, Ut, limit)
          else 0)
        - (if j < 6 then branch(v[i, j] - v[i, min(j + 1, 6)], R_right[i, min(j, 5)], D_right[i, min(j, 5)], Is, Ut, limit) else 0)
        + (if i > 1 then (v[max(i - 1, 1), j] - v[i, j])/R_down[max(i - 1, 1), j] else 0)
        - (if i < 5 then (v[i, j] - v[min(i + 1, 5), j])/R_down[min(i, 4), j] else 0)
        - branch(v[i, j], R_ground, D_ground[i, j], Is, Ut, limit)
        - gm*A[i, j]*v[6 - i, 7 - j]
        + (if fed[i, j] > 0 then (source[max(fed[i, j], 1)] - v[i, j])/R0[max(fed[i, j], 1)] else 0);
    end for;
  end for;
end DiodeGrid;
