// A body as it is sent to another rank, four entries: position and mass, velocity, acceleration with the low bits of both,
// and its number among all bodies, its place here, and its key.
const RECORD = 4u;
// The number of a place that holds no body.
const NO_BODY = 0xffffffffu;
