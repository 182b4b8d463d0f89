//! This process among the ranks of a run: a handle that whoever needs the others holds a copy of.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Exchange, Hear};
use crate::error::Result;

/// The ranks of a run, as this one sees them. Copies lead the same way.
#[derive(Clone)]
pub struct Ranks {
    rank: usize,
    size: usize,
    /// Its number among the ranks of the same machine, and how many these are.
    local: usize,
    there: usize,
    way: Arc<Mutex<Box<dyn Exchange>>>,
}

impl Ranks {
    /// The ranks that `way` leads to; this one is the `local`-th of its machine.
    pub fn new(way: Box<dyn Exchange>, local: usize) -> Self {
        let (rank, size) = (way.member(), way.members());
        Self { rank, size, local, there: local + 1, way: Arc::new(Mutex::new(way)) }
    }

    /// The same with so many ranks on this machine.
    #[must_use]
    pub fn with_neighbours(self, there: usize) -> Self {
        Self { there, ..self }
    }

    /// One rank alone: what it tells it hears itself.
    pub fn alone() -> Self {
        let mut only = super::team(1, None, std::time::Duration::ZERO);
        Self::new(Box::new(only.swap_remove(0)), 0)
    }

    /// Which this is, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Its number among the ranks of the same machine, from 0.
    pub fn local(&self) -> usize {
        self.local
    }

    /// How many ranks there are on the same machine, at least.
    pub fn there(&self) -> usize {
        self.there
    }

    fn way(&self) -> MutexGuard<'_, Box<dyn Exchange>> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any rank says yes.
    ///
    /// Errors: as of [`Exchange`].
    pub fn any(&self, yes: bool) -> Result<bool> {
        let mut any = false;
        let mine = [u8::from(yes)];
        self.way().all_gather(&mine, &vec![1; self.size], &mut |_, told| any |= told != [0])?;
        Ok(any)
    }

    /// What each rank tells, however long, in their order.
    ///
    /// Errors: as of [`Exchange`].
    pub fn tell(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut way = self.way();
        let mut lengths = vec![0; self.size];
        let length = (mine.len() as u64).to_le_bytes();
        way.all_gather(&length, &vec![length.len(); self.size], &mut |rank, told| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(told);
            lengths[rank] = u64::from_le_bytes(bytes) as usize;
        })?;
        let mut all = Vec::with_capacity(self.size);
        way.all_gather(mine, &lengths, &mut |_, told| all.push(told.to_vec()))?;
        Ok(all)
    }
}

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.size)
    }
}

impl Exchange for Ranks {
    fn members(&self) -> usize {
        self.size
    }

    fn member(&self) -> usize {
        self.rank
    }

    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], hear: &mut Hear<'_>) -> Result<()> {
        self.way().all_gather(mine, bytes, hear)
    }

    fn look_for_stop(&mut self) {
        self.way().look_for_stop();
    }

    fn abort(&self, why: &str) {
        self.way().abort(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_hears_itself() {
        let ranks = Ranks::alone();
        assert_eq!((ranks.rank(), ranks.size(), ranks.local()), (0, 1, 0));
        assert_eq!(ranks.tell(b"words").unwrap(), [b"words"]);
        assert!(ranks.any(true).unwrap() && !ranks.any(false).unwrap());
    }

    #[test]
    fn each_tells_as_much_as_it_likes() {
        let told = std::thread::scope(|scope| {
            let threads: Vec<_> = crate::exchange::team(3, None, std::time::Duration::ZERO)
                .into_iter()
                .map(|member| Ranks::new(Box::new(member), 0))
                .map(|ranks| {
                    scope.spawn(move || {
                        let any = ranks.any(ranks.rank() == 2).unwrap();
                        (ranks.tell(&vec![b'a'; ranks.rank()]).unwrap(), any)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for (heard, any) in told {
            assert!(any);
            assert_eq!(heard, [&b""[..], b"a", b"aa"]);
        }
    }
}
