// A body as it is sent to another rank, four entries: position and mass; velocity; acceleration with the low bits of
// position and velocity; its number among all bodies, its slot on this device, and its key.
const RECORD = 4u;
// The number in a free slot.
const NO_BODY = 0xffffffffu;
