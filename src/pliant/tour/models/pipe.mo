// An exhaust pipe: mass fractions and temperature of the gas, temperature of the wall. Fast gas, slow wall.
// The same as examples/Pipe.mo.
// T. Loderer, V. Heuveline, Preprint Series of the Engineering Mathematics and Computing Lab, Heidelberg 2017,
// equations (16) to (18) on n cells: upwind differences for the gas, central ones for the wall, nothing through its ends.
model Pipe "Gas in a pipe heats the wall, the wall heats the surroundings"
  parameter Integer n = 5 "Number of cells";
  constant Real pi = 3.141592653589793;
  constant Real R = 8.314462618 "Gas constant in J/(mol.K)";
  constant Real sigma = 5.670374419e-8 "Stefan and Boltzmann's constant in W/(m2.K4)";
  parameter Real m_mol = 0.0288 "Molar mass of the gas in kg/mol";
  parameter Real p = 1.05e5 "Pressure in Pa";
  parameter Real c_p = 1190 "Heat capacity of the gas in J/(kg.K)";
  parameter Real lambda_g = 0.046 "Conductivity of the gas in W/(m.K)";
  parameter Real mu = 3e-5 "Viscosity of the gas in Pa.s";
  parameter Real Pr = 0.7 "Prandtl's number of the gas";
  parameter Real d = 0.05 "Inner diameter in m";
  parameter Real wall = 0.995e-3 "Thickness of the wall in m";
  parameter Real dz = 0.0325 "Length of a cell in m";
  parameter Real rho_C = 7900 "Density of the wall in kg/m3";
  parameter Real c_C = 500 "Heat capacity of the wall in J/(kg.K)";
  parameter Real lambda_C = 23 "Conductivity of the wall in W/(m.K)";
  parameter Real eps = 0.8 "Emissivity of the wall";
  parameter Real alpha_A = 15 "Heat transfer to the surroundings in W/(m2.K)";
  parameter Real T_A = 293.15 "Temperature of the surroundings in K";
  parameter Real T_start = 509 "Temperature of the wall at the start in K";
  parameter Real A_B = pi*d^2/4 "Cross section of the gas";
  parameter Real A_C = pi*(d + wall)*wall "Cross section of the wall";
  parameter Real l_B = pi*d "Inner circumference";
  parameter Real l_C = pi*(d + 2*wall) "Outer circumference";
  parameter Real Md_mean = 0.0293, Md_slow = 0.45, Md_fast = 0.2 "Mass flow in kg/s, relative amplitudes";
  parameter Real Md_period_slow = 23, Md_period_fast = 7.1 "Periods in s";
  parameter Real T_mean = 600, T_slow = 80, T_fast = 25 "Temperature of the gas that comes in, and amplitudes, in K";
  parameter Real T_period_slow = 47, T_period_fast = 11 "Periods in s";
  parameter Real w_mean[3] = {0.2, 0.07, 0.08} "Mass fractions of the gas that comes in";
  parameter Real w_wave[3] = {0.03, -0.02, 0.02} "Amplitudes";
  parameter Real w_period[3] = {13, 9, 17} "Periods in s";
  Real w1[n](each start = w_mean[1], each fixed = true), w2[n](each start = w_mean[2], each fixed = true);
  Real w3[n](each start = w_mean[3], each fixed = true) "Mass fractions of three species";
  Real T_B[n](each start = T_mean, each fixed = true) "Temperature of the gas";
  Real T_C[n](each start = T_start, each fixed = true) "Temperature of the wall";
  Real Md "Mass flow";
  Real T_in "Temperature of the gas that comes in";
  Real w_in[3] "Mass fractions of the gas that comes in";
  Real Re "Reynolds' number";
  Real alpha_BC "Heat transfer from gas to wall in W/(m2.K)";
equation
  Md = Md_mean*(1 + Md_slow*sin(2*pi*time/Md_period_slow) + Md_fast*sin(2*pi*time/Md_period_fast));
  T_in = T_mean + T_slow*sin(2*pi*time/T_period_slow) + T_fast*sin(2*pi*time/T_period_fast);
  for j in 1:3 loop
    w_in[j] = w_mean[j] + w_wave[j]*sin(2*pi*time/w_period[j]);
  end for;
  Re = Md*d/(A_B*mu);
  alpha_BC = 1.75*0.023*Re^0.8*Pr^0.4*lambda_g/d;
  for i in 1:n loop
    p*m_mol/(R*T_B[i])*der(w1[i]) = -Md/A_B*(w1[i] - (if i == 1 then w_in[1] else w1[max(i - 1, 1)]))/dz;
    p*m_mol/(R*T_B[i])*der(w2[i]) = -Md/A_B*(w2[i] - (if i == 1 then w_in[2] else w2[max(i - 1, 1)]))/dz;
    p*m_mol/(R*T_B[i])*der(w3[i]) = -Md/A_B*(w3[i] - (if i == 1 then w_in[3] else w3[max(i - 1, 1)]))/dz;
    p/T_B[i]*(m_mol*c_p/R - 1)*der(T_B[i]) = -(Md*c_p*(T_B[i] - (if i == 1 then T_in else T_B[max(i - 1, 1)]))/dz
      + alpha_BC*l_B*(T_B[i] - T_C[i]))/A_B;
    rho_C*c_C*der(T_C[i]) = lambda_C*((if i == 1 then T_C[2] else T_C[max(i - 1, 1)]) - 2*T_C[i]
      + (if i == n then T_C[n - 1] else T_C[min(i + 1, n)]))/dz^2 + (alpha_BC*l_B*(T_B[i] - T_C[i])
      - alpha_A*l_C*(T_C[i] - T_A) - eps*l_C*sigma*(T_C[i]^4 - T_A^4))/A_C;
  end for;
end Pipe;
