// Bindings of the kernels for forces with derivatives. Bodies are records of PARTS vec4:
//   0 position and mass (of a sink: the square of the radius of its list, negative for none)
//% if tier == "double-single"
//   1 the low part of both    2 velocity    3 its low part    4 acceleration    5 its low part
//% else
//   1 velocity    2 acceleration{{ "    3 the low part of the position" if tier == "single" }}
//% endif
@group(0) @binding(0) var<storage, read> sources: array<Real4>;
@group(0) @binding(1) var<storage, read> sinks: array<Real4>;
// Which source each sink is; FOREIGN means none.
@group(0) @binding(2) var<storage, read> itself: array<u32>;
// Per segment and sink SUMS vec4: acceleration and potential{{ ", jerk" if order >= 1 }}{{ ", snap" if order >= 2 }}{{ "; each followed by its low part" if tier == "double-single" }}.
// Refined, next to the jerk: the sum of the sizes of all pulls.
@group(0) @binding(3) var<storage, read_write> partial_sums: array<Real4>;
// Per segment and sink; the places of entries in the list are known once the sums are added.
@group(0) @binding(4) var<storage, read_write> neighbours: array<Neighbours>;
// Per sink `capacity` numbers of sources.
@group(0) @binding(5) var<storage, read_write> lists: array<u32>;
@group(0) @binding(6) var<uniform> params: DirectParams;

const PARTS: u32 = {{ words }}u;
const SUMS: u32 = {{ (order + 1) * (2 if pairs else 1) }}u;
