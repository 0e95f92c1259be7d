// A two-stage transistor amplifier, component by component: index 1, eight nodes, five capacitors.
//   pliant simulate examples/transistor_amplifier.mo --stop 0.2 --save transistor_amplifier.csv
//
// Source: P. Rentrop, M. Roche and G. Steinebach, Numer. Math. 55 (1989) 545-563; F. Mazzia and C. Magherini, Test Set
// for Initial Value Problem Solvers, release 2.4, 2008, problem TRANSAMP.
model TransistorAmplifier "Two stages, eight nodes, five capacitors"
  connector Pin
    Real v "Voltage in V";
    flow Real i "Current in A";
  end Pin;

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
    parameter Real R = 9000;
  equation
    v = R*i;
  end Resistor;

  model Capacitor
    extends TwoPins(v(start = v0, fixed = true));
    parameter Real C;
    parameter Real v0 "Voltage at the start";
  equation
    C*der(v) = i;
  end Capacitor;

  model ConstantSource
    extends TwoPins;
    parameter Real U;
  equation
    v = U;
  end ConstantSource;

  model SineSource
    extends TwoPins;
    parameter Real U;
    parameter Real f "In Hz";
  equation
    v = U*sin(2*3.141592653589793*f*time);
  end SineSource;

  model Transistor
    Pin base, collector, emitter;
    parameter Real alpha = 0.99;
    parameter Real beta = 1e-6 "In A";
    parameter Real UF = 0.026 "In V";
    Real g "Current out of the emitter";
  equation
    g = beta*(exp((base.v - emitter.v)/UF) - 1);
    base.i = (1 - alpha)*g;
    collector.i = alpha*g;
    base.i + collector.i + emitter.i = 0;
  end Transistor;

  ConstantSource supply(U = 6);
  SineSource signal(U = 0.1, f = 100);
  Ground ground;
  Resistor R0(R = 1000);
  Resistor R1, R2, R3, R4, R5, R6, R7, R8, R9;
  Capacitor C1(C = 1e-6, v0 = -3), C2(C = 2e-6, v0 = 3), C3(C = 3e-6, v0 = 3), C4(C = 4e-6, v0 = 3),
    C5(C = 5e-6, v0 = 6);
  Transistor first, second;
  Real U[8] "Voltages of the nodes";
equation
  connect(supply.n, ground.p);
  connect(signal.n, ground.p);
  // node 1: input
  connect(signal.p, R0.p);
  connect(R0.n, C1.p);
  // node 2: base of the first transistor
  connect(C1.n, first.base);
  connect(R1.p, first.base);
  connect(R1.n, ground.p);
  connect(R2.p, supply.p);
  connect(R2.n, first.base);
  // node 3: its emitter
  connect(first.emitter, R3.p);
  connect(R3.n, ground.p);
  connect(first.emitter, C2.p);
  connect(C2.n, ground.p);
  // node 4: its collector
  connect(R4.p, supply.p);
  connect(R4.n, first.collector);
  connect(first.collector, C3.p);
  // node 5: base of the second transistor
  connect(C3.n, second.base);
  connect(R5.p, second.base);
  connect(R5.n, ground.p);
  connect(R6.p, supply.p);
  connect(R6.n, second.base);
  // node 6: its emitter
  connect(second.emitter, R7.p);
  connect(R7.n, ground.p);
  connect(second.emitter, C4.p);
  connect(C4.n, ground.p);
  // node 7: its collector
  connect(R8.p, supply.p);
  connect(R8.n, second.collector);
  connect(second.collector, C5.p);
  // node 8: output
  connect(C5.n, R9.p);
  connect(R9.n, ground.p);
  U = {C1.p.v, first.base.v, first.emitter.v, first.collector.v, second.base.v, second.emitter.v, second.collector.v,
    C5.n.v};
end TransistorAmplifier;
