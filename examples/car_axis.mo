// The car axis problem: a stiff mechanical system of index 3 with a constraint that moves with time.
//   pliant simulate examples/car_axis.mo --stop 3 --rtol 1e-8 --save car_axis.csv
//
// Source: S. Schneider, Integration de systemes d'equations differentielles raides et differentielles-algebriques par
// des methodes de collocations et methodes generales lineaires, thesis, Geneva 1994; F. Mazzia and C. Magherini, Test
// Set for Initial Value Problem Solvers, release 2.4, 2008, problem CARAXIS.
model CarAxis "A car's axis on a bumpy road"
  parameter Real M = 10 "Mass of the car body";
  parameter Real L = 1 "Distance between the wheels";
  parameter Real L0 = 0.5 "Length of the springs at rest";
  parameter Real eps = 1e-2 "Square root of 1/stiffness";
  parameter Real r = 0.1 "Height of the bumps";
  parameter Real omega = 10 "Frequency of the bumps";
  Real xl(start = 0), xr(start = 1) "Ends of the axis, horizontal";
  Real yl(start = 0.5, fixed = true, stateSelect = StateSelect.prefer) "Left end, vertical";
  Real yr(start = 0.5, fixed = true, stateSelect = StateSelect.prefer) "Right end, vertical";
  Real vxl, vxr "Velocities, horizontal";
  Real vyl(start = 0, fixed = true, stateSelect = StateSelect.prefer) "Velocity of the left end, vertical";
  Real vyr(start = 0, fixed = true, stateSelect = StateSelect.prefer) "Velocity of the right end, vertical";
  Real lambda1, lambda2 "Multipliers of the two constraints";
  Real xb, yb "Right wheel; the left one is the origin";
  Real Ll, Lr "Lengths of the springs";
equation
  yb = r*sin(omega*time);
  xb = sqrt(L^2 - yb^2);
  Ll = sqrt(xl^2 + yl^2);
  Lr = sqrt((xr - xb)^2 + (yr - yb)^2);
  der(xl) = vxl;
  der(yl) = vyl;
  der(xr) = vxr;
  der(yr) = vyr;
  eps^2*M/2*der(vxl) = (L0 - Ll)*xl/Ll + lambda1*xb + 2*lambda2*(xl - xr);
  eps^2*M/2*der(vyl) = (L0 - Ll)*yl/Ll + lambda1*yb + 2*lambda2*(yl - yr) - eps^2*M/2;
  eps^2*M/2*der(vxr) = (L0 - Lr)*(xr - xb)/Lr - 2*lambda2*(xl - xr);
  eps^2*M/2*der(vyr) = (L0 - Lr)*(yr - yb)/Lr - 2*lambda2*(yl - yr) - eps^2*M/2;
  xl*xb + yl*yb = 0;
  (xl - xr)^2 + (yl - yr)^2 = L^2;
end CarAxis;
