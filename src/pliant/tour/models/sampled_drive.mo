model SampledDrive "DC drive with a controller that runs every 10 ms"
  Real speed(start = 0, fixed = true, unit = "rad/s");
  Real current(start = 0, fixed = true, unit = "A");
  discrete Real voltage(start = 0, fixed = true, unit = "V");
  discrete Real sum(start = 0, fixed = true) "integral part";
equation
  0.01*der(speed) = 0.1*current - 0.001*speed;
  0.0005*der(current) = voltage - 0.5*current - 0.1*speed;
  when sample(0, 0.01) then
    sum = pre(sum) + 0.01*(10 - speed);
    voltage = min(max(sum + 0.3*(10 - speed), -12), 12);
  end when;
end SampledDrive;
