// In a message: replaces the number of the first child or body of a cell that the receiver is not expected to open.
const NOT_SENT = 0xffffffffu;
