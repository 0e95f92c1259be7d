// A grid of resistors between a source and ground: one state and one large algebraic loop. N changes its size.
//   pliant simulate examples/resistor_grid.mo --stop 10 --save resistor_grid.csv
model ResistorGrid "N x N nodes; source with capacitor at one corner, ground at the other"
  parameter Integer N = 12 "Nodes in each direction";
  parameter Real R = 1 "Resistance between neighbours in Ohm";
  parameter Real R0 = 1 "Resistance of the source in Ohm";
  parameter Real C = 1 "Capacitance at the first corner in F";
  parameter Real U = 10 "Voltage of the source in V";
  Real v[N, N] "Voltages of the nodes";
  Real right[N, N - 1] "Currents from [i, j] to [i, j + 1]";
  Real down[N - 1, N] "Currents from [i, j] to [i + 1, j]";
  Real vc(start = 0, fixed = true) "Voltage of the capacitor";
  Real i "Current into the grid";
equation
  for a in 1:N loop
    for b in 1:N - 1 loop
      R*right[a, b] = v[a, b] - v[a, b + 1];
      R*down[b, a] = v[b, a] - v[b + 1, a];
    end for;
  end for;
  for a in 1:N loop
    for b in 1:N loop
      if a == 1 and b == 1 then
        v[a, b] = vc;
      elseif a == N and b == N then
        v[a, b] = 0;
      else
        0 = (if b > 1 then right[a, max(b - 1, 1)] else 0) - (if b < N then right[a, min(b, N - 1)] else 0)
          + (if a > 1 then down[max(a - 1, 1), b] else 0) - (if a < N then down[min(a, N - 1), b] else 0);
      end if;
    end for;
  end for;
  i = right[1, 1] + down[1, 1];
  C*der(vc) = (U - vc)/R0 - i;
end ResistorGrid;
