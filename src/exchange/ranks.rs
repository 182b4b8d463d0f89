//! Cloneable handle of this process to the ranks of a run.

use std::fmt;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

use super::{Exchange, Reader};
use crate::error::Result;
use crate::math::{AllReduce, ExactSum};

/// The ranks of a run, as addressed from this one. Clones share the same connection.
#[derive(Clone)]
pub struct Ranks {
    rank: usize,
    size: usize,
    /// Number of this rank on its machine, and number of ranks there.
    local: usize,
    local_size: usize,
    exchange: Arc<Mutex<Box<dyn Exchange>>>,
}

impl Ranks {
    /// The ranks connected by `exchange`; this one is the `local`-th on its machine.
    pub fn new(exchange: Box<dyn Exchange>, local: usize) -> Self {
        let (rank, size) = (exchange.member(), exchange.members());
        Self { rank, size, local, local_size: local + 1, exchange: Arc::new(Mutex::new(exchange)) }
    }

    /// Sets the number of ranks on this machine.
    #[must_use]
    pub fn with_neighbours(self, local_size: usize) -> Self {
        Self { local_size, ..self }
    }

    /// A single rank, which receives its own messages.
    pub fn alone() -> Self {
        let mut only = super::team(1, None, std::time::Duration::ZERO);
        Self::new(Box::new(only.swap_remove(0)), 0)
    }

    /// Number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of this rank among those of the same machine, from 0.
    pub fn local(&self) -> usize {
        self.local
    }

    /// Number of ranks on this machine, or a lower bound.
    pub fn on_machine(&self) -> usize {
        self.local_size
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Exchange>> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `yes` is true for any rank.
    ///
    /// # Errors
    /// As of [`Exchange`].
    pub fn any(&self, yes: bool) -> Result<bool> {
        Ok(self.lock().greatest(u8::from(yes))? != 0)
    }

    /// All-gather of messages of any length, in the order of ranks.
    ///
    /// # Errors
    /// As of [`Exchange`].
    pub fn gather_messages(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.lock().gather_messages(mine)
    }

    /// All-gather of values, in the order of ranks.
    ///
    /// # Errors
    /// As of [`Exchange`].
    pub fn gather<T: Pod>(&self, mine: &[T]) -> Result<Vec<Vec<T>>> {
        super::gather(&mut **self.lock(), mine)
    }

    /// Sends `mine[k]` to rank k and returns what the ranks have sent to this one, in their order.
    ///
    /// # Errors
    /// As of [`Exchange`].
    pub fn send_each<T: Pod>(&self, mine: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
        super::send_each(&mut **self.lock(), mine)
    }

    /// Sums the `values` of all ranks elementwise. Integers, so that the order does not matter.
    ///
    /// # Errors
    /// As of [`Exchange`].
    pub fn sum_integers<T: Pod + AddAssign>(&self, values: &mut [T]) -> Result<()> {
        super::sum_integers(&mut **self.lock(), values)
    }
}

impl AllReduce for Ranks {
    fn sums(&self, values: &mut [ExactSum]) -> Result<()> {
        if self.size == 1 {
            return Ok(());
        }
        let words: Vec<i64> =
            values.iter_mut().flat_map(|sum| std::mem::take(sum).into_words()).collect();
        for received in Self::gather(self, &words)? {
            let (received, _) = received.as_chunks::<{ ExactSum::WORDS }>();
            let received = received.iter().map(ExactSum::of_words);
            values.iter_mut().zip(received).for_each(|(sum, part)| sum.add_sum(part));
        }
        Ok(())
    }

    fn integers(&self, values: &mut [i128]) -> Result<()> {
        if self.size == 1 { Ok(()) } else { self.sum_integers(values) }
    }

    fn maxima(&self, values: &mut [f64]) -> Result<()> {
        for received in Self::gather(self, values)? {
            values.iter_mut().zip(received).for_each(|(value, other)| *value = value.max(other));
        }
        Ok(())
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        Ok(Self::gather(self, values)?.concat())
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

    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], receive: &mut Reader<'_>) -> Result<()> {
        self.lock().all_gather(mine, bytes, receive)
    }

    fn deliver(
        &mut self,
        mine: &[&[u8]],
        table: &[Vec<usize>],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        self.lock().deliver(mine, table, receive)
    }

    fn poll_stop(&mut self) {
        self.lock().poll_stop();
    }

    fn abort(&self, why: &str) {
        self.lock().abort(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_rank_receives_its_own_message() {
        let ranks = Ranks::alone();
        assert_eq!((ranks.rank(), ranks.size(), ranks.local()), (0, 1, 0));
        assert_eq!(ranks.gather_messages(b"words").unwrap(), [b"words"]);
        assert!(ranks.any(true).unwrap() && !ranks.any(false).unwrap());
    }

    #[test]
    fn messages_may_have_different_lengths() {
        let received = std::thread::scope(|scope| {
            let threads: Vec<_> = crate::exchange::team(3, None, std::time::Duration::ZERO)
                .into_iter()
                .map(|member| Ranks::new(Box::new(member), 0))
                .map(|ranks| {
                    scope.spawn(move || {
                        let any = ranks.any(ranks.rank() == 2).unwrap();
                        (ranks.gather_messages(&vec![b'a'; ranks.rank()]).unwrap(), any)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for (messages, any) in received {
            assert!(any);
            assert_eq!(messages, [&b""[..], b"a", b"aa"]);
        }
    }
}
