// A rod heated at one end, cooled by the air around it: cells in a row. N changes the size of the model.
//   pliant simulate examples/heat_rod.mo --stop 3000 --save heat_rod.csv
model HeatRod "Conduction along a rod of N cells, convection to the air"
  parameter Integer N = 100 "Number of cells";
  parameter Real length = 0.5 "Length in m";
  parameter Real radius = 0.01 "Radius in m";
  parameter Real conductivity = 50 "In W/(m.K)";
  parameter Real density = 7800 "In kg/m3";
  parameter Real capacity = 500 "Specific heat capacity in J/(kg.K)";
  parameter Real convection = 20 "Heat transfer to the air in W/(m2.K)";
  parameter Real T_air = 20 "In degrees Celsius";
  parameter Real T_hot = 200 "Of the heated end, in degrees Celsius";
  constant Real pi = 3.141592653589793;
  parameter Real dx = length/N "Length of a cell";
  parameter Real G = conductivity*pi*radius^2/dx "Conductance between cells in W/K";
  parameter Real H = convection*2*pi*radius*dx "Conductance of a cell to the air in W/K";
  parameter Real C = density*capacity*pi*radius^2*dx "Heat capacity of a cell in J/K";
  Real T[N](each start = 20, each fixed = true) "Temperatures in the middle of the cells";
  Real q[N + 1] "Heat flows into the cells from the left";
  Real loss "Heat flow to the air";
equation
  q[1] = 2*G*(T_hot - T[1]);
  for i in 2:N loop
    q[i] = G*(T[i - 1] - T[i]);
  end for;
  q[N + 1] = 0;
  for i in 1:N loop
    C*der(T[i]) = q[i] - q[i + 1] - H*(T[i] - T_air);
  end for;
  loss = H*(sum(T) - N*T_air);
end HeatRod;
