/* A library that lies beside the binary of the FMU, which is linked with it by name only. */
double beside_rate(void);

__attribute__((visibility("default"))) double beside_rate(void) {
    return 2.0;
}
