model BatteryPack "Battery pack: groups of parallel cells in series, two RC elements, charge and temperature of each cell"
  parameter Integer nS = 20 "Groups in series";
  parameter Integer nP = 4 "Cells in parallel";
  parameter Real Q = 9000 "Charge of a cell in As";
  parameter Real R0 = 0.012, R1 = 0.008, R2 = 0.015 "Resistances at 298 K in ohm";
  parameter Real C1 = 0.4, C2 = 2000 "Capacitances in F";
  parameter Real Cth = 45 "Heat capacity of a cell in J/K";
  parameter Real G = 0.4 "Heat conductance between neighbours in W/K";
  parameter Real h = 0.3 "Heat conductance to the coolant in W/K";
  parameter Real Tc = 298 "Temperature of the coolant in K";
  parameter Real T0 = 298 "Temperature at the start in K";
  parameter Real soc0 = 0.7 "State of charge at the start";
  parameter Real I0 = 4 "Mean current of a cell in A";
  parameter Real I1 = 8, I2 = 5 "Waves of the current of a cell in A";
  parameter Real w1 = 0.9, w2 = 7.3 "Their angular frequencies in rad/s";
  parameter Real spread = 0.06 "Differences between cells";
  parameter Real a[nS, nP] = {{1 + spread*sin(7*g + 3*k) for k in 1:nP} for g in 1:nS};
  Real v1[nS, nP](each start = 0, each fixed = true), v2[nS, nP](each start = 0, each fixed = true);
  Real soc[nS, nP](each start = soc0, each fixed = true), T[nS, nP](each start = T0, each fixed = true);
  Real e[nS, nP] "Voltage behind the resistance R0", R[nS, nP] "R0 at the temperature of the cell";
  Real f[nS, nP] "Temperature dependence", i[nS, nP] "Currents";
  Real I "Current of the pack";
  output Real V[nS] "Voltages of the groups";
equation
  I = nP*(I0 + I1*sin(w1*time) + I2*sin(w2*time))*(1 - exp(-time));
  for g in 1:nS loop
    for k in 1:nP loop
      f[g, k] = a[g, k]*exp(1500*(1/T[g, k] - 1/298));
      R[g, k] = R0*f[g, k];
      e[g, k] = 3.1 + soc[g, k]*(1.9 + soc[g, k]*(-2.2 + 1.3*soc[g, k])) - 0.4*exp(-25*soc[g, k]) - v1[g, k] - v2[g, k];
      i[g, k] = (e[g, k] - V[g])/R[g, k];
      C1*der(v1[g, k]) = i[g, k] - v1[g, k]/(R1*f[g, k]);
      C2*der(v2[g, k]) = i[g, k] - v2[g, k]/(R2*f[g, k]);
      Q*der(soc[g, k]) = -i[g, k];
      Cth*der(T[g, k]) = R[g, k]*i[g, k]^2 + v1[g, k]^2/(R1*f[g, k]) + v2[g, k]^2/(R2*f[g, k]) - h*(T[g, k] - Tc)
        + G*((if k > 1 then T[g, max(k - 1, 1)] - T[g, k] else 0) + (if k < nP then T[g, min(k + 1, nP)] - T[g, k] else 0)
        + (if g > 1 then T[max(g - 1, 1), k] - T[g, k] else 0) + (if g < nS then T[min(g + 1, nS), k] - T[g, k] else 0));
    end for;
    V[g] = (sum(e[g, k]/R[g, k] for k in 1:nP) - I)/sum(1/R[g, k] for k in 1:nP);
  end for;
end BatteryPack;
