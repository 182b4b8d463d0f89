// A cell as the walk reads it, two entries of `cell_open`:
//   centre of mass, what its distance is compared with (below 0: it has no mass),
//   square of its radius about the centre of mass, first child and number of children, first body, number of bodies.
// As the forces read it, three entries of `cell_force`:
//   centre of mass, mass; three times the second moments xx, yy, zz, 1.5 times their sum; of xy, xz, yz, 0.5 times it.
// Its box, two entries of `cell_box`: the lower corner, level; the upper corner, parent.

// Instead of the first child: there are no children.
const IS_LEAF = 0xffffffffu;
const NO_PARENT = 0xffffffffu;

fn child_word(first: u32, children: u32) -> u32 {
    return (first << 4u) | (children - 1u);
}

fn first_child(word: u32) -> u32 {
    return word >> 4u;
}

fn children_of(word: u32) -> u32 {
    return (word & 15u) + 1u;
}
