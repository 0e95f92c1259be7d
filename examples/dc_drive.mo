// A DC drive, component by component: controller, source, motor, gear and fan. Own small connectors, no library.
//   pliant simulate examples/dc_drive.mo --stop 2 --save dc_drive.csv
model DCDrive "A motor turns a fan at a given speed"
  connector Pin "Electrical"
    Real v "Voltage in V";
    flow Real i "Current in A";
  end Pin;

  connector Flange "Rotational"
    Real phi "Angle in rad";
    flow Real tau "Torque in N.m";
  end Flange;

  connector Input = input Real;
  connector Output = output Real;

  partial model TwoPins
    Pin p, n;
    Real v "Voltage from p to n";
    Real i "Current from p to n";
  equation
    v = p.v - n.v;
    i = p.i;
    p.i + n.i = 0;
  end TwoPins;

  model Ground
    Pin p;
  equation
    p.v = 0;
  end Ground;

  model Resistor
    extends TwoPins;
    parameter Real R;
  equation
    v = R*i;
  end Resistor;

  model Inductor
    extends TwoPins(i(start = 0, fixed = true));
    parameter Real L;
  equation
    v = L*der(i);
  end Inductor;

  model Source "Voltage given by a signal"
    extends TwoPins;
    Input u;
  equation
    v = u;
  end Source;

  model EMF "Electrical to mechanical power without loss"
    extends TwoPins;
    Flange flange;
    parameter Real k "V.s/rad, and N.m/A";
  equation
    v = k*der(flange.phi);
    flange.tau = -k*i;
  end EMF;

  model Inertia
    Flange a, b;
    parameter Real J "In kg.m2";
    Real phi "Angle";
    Real w "Speed";
  equation
    phi = a.phi;
    phi = b.phi;
    w = der(phi);
    J*der(w) = a.tau + b.tau;
  end Inertia;

  model Gear
    Flange a, b;
    parameter Real ratio "Turns of a for one turn of b";
  equation
    a.phi = ratio*b.phi;
    0 = ratio*a.tau + b.tau;
  end Gear;

  model Fan "Torque grows with the square of the speed"
    Flange a;
    parameter Real c "In N.m.s2/rad2";
    Real w "Speed";
  equation
    w = der(a.phi);
    a.tau = c*w*abs(w);
  end Fan;

  model SpeedSensor
    Flange a;
    Output w;
  equation
    a.tau = 0;
    w = der(a.phi);
  end SpeedSensor;

  model Reference "Approaches its end value smoothly"
    parameter Real value;
    parameter Real T;
    Output y;
  equation
    y = value*(1 - exp(-time/T));
  end Reference;

  model Controller "Proportional and integral"
    parameter Real kp "Gain";
    parameter Real Ti "Reset time in s";
    Input reference, measured;
    Output y;
    Real x(start = 0, fixed = true) "Integral of the error";
  equation
    der(x) = reference - measured;
    y = kp*(reference - measured + x/Ti);
  end Controller;

  Reference reference(value = 20, T = 0.2);
  Controller controller(kp = 4, Ti = 0.3);
  Source source;
  Resistor resistor(R = 0.5);
  Inductor inductor(L = 0.01);
  EMF emf(k = 0.8);
  Ground ground;
  Inertia rotor(J = 0.02, phi(start = 0, fixed = true), w(start = 0, fixed = true));
  Gear gear(ratio = 5);
  Inertia shaft(J = 1.5);
  Fan fan(c = 0.05);
  SpeedSensor sensor;
equation
  connect(reference.y, controller.reference);
  connect(sensor.w, controller.measured);
  connect(controller.y, source.u);
  connect(source.p, resistor.p);
  connect(resistor.n, inductor.p);
  connect(inductor.n, emf.p);
  connect(emf.n, source.n);
  connect(source.n, ground.p);
  connect(emf.flange, rotor.a);
  connect(rotor.b, gear.a);
  connect(gear.b, shaft.a);
  connect(shaft.b, fan.a);
  connect(shaft.b, sensor.a);
end DCDrive;
