// A motor under digital control: sampled PI controller with anti-windup, protection with hysteresis, a load that steps.
//   pliant simulate examples/speed_control.mo --stop 3 --plot motor.w,controller.u --plot-file speed.png
model SpeedControl "A sampled controller turns a motor"
  connector Input = input Real;
  connector Output = output Real;

  model Motor "DC motor with a winding that warms up"
    parameter Real R = 1 "Ohm";
    parameter Real L = 2e-3 "H";
    parameter Real k = 0.1 "V.s/rad, and N.m/A";
    parameter Real J = 5e-4 "kg.m2";
    parameter Real C = 0.4 "Heat capacity in J/K";
    parameter Real G = 0.8 "To the surroundings, in W/K";
    Input u "Voltage";
    Input load "Torque";
    Output w(start = 0, fixed = true) "Speed in rad/s";
    Real i(start = 0, fixed = true) "Current in A";
    Real T(start = 20, fixed = true) "Temperature in degrees";
  equation
    L*der(i) = u - R*i - k*w;
    J*der(w) = k*i - load;
    C*der(T) = R*i^2 - G*(T - 20);
  end Motor;

  block Controller "Every Ts seconds; stops to integrate while the voltage is at its limit"
    parameter Real Ts = 0.005 "s";
    parameter Real kp = 0.3 "V per rad/s";
    parameter Real Ti = 0.05 "s";
    Input reference, w, limit;
    discrete Output u(start = 0, fixed = true);
    discrete Real v(start = 0, fixed = true) "What it would like to give";
    discrete Real integral(start = 0, fixed = true);
    Integer n(start = 0, fixed = true) "Samples at the limit";
  equation
    when sample(0, Ts) then
      v = kp*(reference - w) + pre(integral);
      u = min(limit, max(-limit, v));
      integral = pre(integral) + (if abs(v) > limit then 0 else kp*Ts/Ti*(reference - w));
      n = if abs(v) > limit then pre(n) + 1 else pre(n);
    end when;
  end Controller;

  Motor motor;
  Controller controller;
  parameter Real full = 24, reduced = 12 "Voltages in V";
  Boolean hot(start = false, fixed = true) "Above 40 degrees, until 35";
equation
  controller.reference = if time < 0.05 then 0 else 150;
  controller.w = motor.w;
  controller.limit = if hot then reduced else full;
  motor.u = controller.u;
  motor.load = (if time < 0.5 then 0.1 else 0.5)*motor.w/150;
  hot = motor.T > 40 or pre(hot) and motor.T > 35;
  when motor.T > 60 then
    terminate("the winding is too hot");
  end when;
end SpeedControl;
