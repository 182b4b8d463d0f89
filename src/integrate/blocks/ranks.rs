//! Agreement between ranks before bodies on individual steps are moved to the devices of all of
//! them.
//!
//! The first derivatives and potentials are computed with the sinks spread over the ranks
//! (`forces/spread.rs`). After that the bodies are on the devices of all ranks if these are of one
//! kind and no rank refuses, otherwise on the host of each rank.

use crate::error::{Error, Result};
use crate::exchange::Ranks;
use crate::forces::{DeviceEngine, ForceEngine};
use crate::gpu::AdapterInfo;

/// The ranks that share the bodies with this one, and the number of devices of each; `None` if
/// there are no others.
///
/// # Errors
/// Devices of different kinds, which would move the bodies differently; a rank that cannot be
/// reached.
pub(super) fn of(
    engine: &dyn ForceEngine,
    first: &dyn DeviceEngine,
) -> Result<Option<(Ranks, Vec<usize>)>> {
    let ranks = engine.capabilities().ranks.filter(|ranks| ranks.size() > 1);
    let Some(ranks) = ranks else { return Ok(None) };
    let own: Vec<String> = std::iter::once(first.gpu())
        .chain(first.other_devices())
        .map(|gpu| {
            let AdapterInfo { name, backend, driver, .. } = &gpu.adapter;
            let words = [name, backend, driver, first.pairs().name()];
            words.map(|words| words.replace(['\n', '\t'], " ")).join("\t")
        })
        .collect();
    let messages = ranks.gather_messages(own.join("\n").as_bytes())?;
    members_of(&messages).map(|members_of| Some((ranks.clone(), members_of)))
}

/// The number of devices of each rank, from the messages of all ranks about theirs, one device per
/// line: its kind, and anything else that may differ.
fn members_of(messages: &[Vec<u8>]) -> Result<Vec<usize>> {
    let messages: Vec<_> = messages.iter().map(|lines| String::from_utf8_lossy(lines)).collect();
    let all = || {
        let lines = |(rank, text)| str::lines(text).map(move |kind: &str| (rank, kind));
        messages.iter().map(AsRef::as_ref).enumerate().flat_map(lines)
    };
    let first = all().next().map_or("", |(_, kind)| kind);
    let Some((rank, other)) = all().find(|(_, kind)| *kind != first) else {
        return Ok(messages.iter().map(|text| text.lines().count()).collect());
    };
    let mut words = first.split('\t').zip(other.split('\t'));
    let (first, other) = words.find(|(first, other)| first != other).unwrap_or((first, other));
    Err(Error::Outside(format!(
        "rank {rank} has another kind of device than rank 0 ({other}, not {first})"
    )))
}

/// Returns this rank's result if all other ranks have succeeded too.
///
/// # Errors
/// This rank's own; otherwise that of the first rank with one; a rank that cannot be reached.
pub(super) fn all_or_none<T>(ranks: Option<&(Ranks, Vec<usize>)>, made: Result<T>) -> Result<T> {
    let Some((ranks, _)) = ranks else { return made };
    let why = made.as_ref().err().map_or(String::new(), Error::to_string);
    let messages = ranks.gather_messages(why.as_bytes())?;
    let failed = messages.iter().position(|why| !why.is_empty());
    match (made, failed) {
        (Ok(_), Some(rank)) => {
            let why = String::from_utf8_lossy(&messages[rank]);
            Err(Error::Outside(format!("rank {rank}: {why}")))
        }
        (made, _) => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(ranks: &[&str]) -> Vec<Vec<u8>> {
        ranks.iter().map(|lines| lines.as_bytes().to_vec()).collect()
    }

    #[test]
    fn ranks_with_equal_devices_return_counts() {
        assert_eq!(members_of(&messages(&["A", "A\nA", "A"])).unwrap(), [1, 2, 1]);
        let refused = |messages: Vec<Vec<u8>>| members_of(&messages).unwrap_err().to_string();
        let text = refused(messages(&["A\t1", "A\t1\nB\t1"]));
        assert_eq!(text, "rank 1 has another kind of device than rank 0 (B, not A)");
        let text = refused(messages(&["A\t1", "A\t1", "A\t2"]));
        assert_eq!(text, "rank 2 has another kind of device than rank 0 (2, not 1)");
    }

    #[test]
    fn failure_on_one_rank_fails_all() {
        let errors = std::thread::scope(|scope| {
            let threads: Vec<_> = crate::exchange::team(3, None, std::time::Duration::ZERO)
                .into_iter()
                .map(|member| Ranks::new(Box::new(member), 0))
                .map(|ranks| {
                    scope.spawn(move || {
                        let rank = ranks.rank();
                        let ranks = (ranks, Vec::new());
                        assert_eq!(all_or_none(Some(&ranks), Ok(rank)).unwrap(), rank);
                        let made = match rank {
                            1 => Err(Error::Outside("too small".to_owned())),
                            _ => Ok(()),
                        };
                        all_or_none(Some(&ranks), made).unwrap_err().to_string()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(errors, ["rank 1: too small", "too small", "rank 1: too small"]);
    }
}
