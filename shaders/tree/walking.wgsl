// The fewest sinks for which far cells are expanded.
const FEWEST = {{ fewest }}u;

// The sinks of a group that walks in this dispatch, from the first to the end; none if its number is that of no group,
// or if its sinks walk one by one.
fn sinks_of(group: u32) -> vec2<u32> {
    // Groups, bodies outside the cube and, after a gap, the sinks of scattered groups.
    let others = (state.inside + GROUP - 1u) / GROUP + state.outside;
    if group >= params.group_end || (group >= others && group < params.singles)
        || group >= params.singles + GROUP * state.scattered {
        return vec2(0u);
    }
    let word = bitcast<u32>(groups[2u * group + 1u].w);
    if word == NOBODY || (state.scattered > 0u && (word & (IS_SCATTERED | IS_SINGLE)) == IS_SCATTERED) {
        return vec2(0u);
    }
    let begin = word & FIRST_SINK;
    return vec2(begin, select(min(begin + GROUP, state.inside), begin + 1u, (word & IS_SINGLE) != 0u));
}
