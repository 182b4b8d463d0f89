//! Members that are threads of this process; beyond them there may be other processes.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rayon::prelude::*;

use super::barrier::Barrier;
use super::{Exchange, Hear};
use crate::error::Result;

/// One core copies so many bytes.
const COPY_BYTES: usize = 1 << 20;

/// Bytes where they lie, for others to read.
pub type Lent = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// What a member has told.
enum Told {
    Copied(Vec<u8>),
    Lent(Lent),
}

impl Default for Told {
    fn default() -> Self {
        Self::Copied(Vec::new())
    }
}

impl Told {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Copied(bytes) => bytes,
            Self::Lent(lent) => (**lent).as_ref(),
        }
    }

    /// Takes a copy, in the memory of the last one.
    fn copy(&mut self, mine: &[u8]) {
        if let Self::Lent(_) = self {
            *self = Self::default();
        }
        let Self::Copied(copy) = self else { return };
        copy.resize(mine.len(), 0);
        // By as many cores as it takes to keep memory busy.
        copy.par_chunks_mut(COPY_BYTES)
            .zip(mine.par_chunks(COPY_BYTES))
            .for_each(|(copy, mine)| copy.copy_from_slice(mine));
    }
}

/// What the threads of a team share.
struct Team {
    /// Members of all processes, and the first of this one.
    members: usize,
    first: usize,
    barrier: Barrier,
    /// What each member of this process has told, twice: of this exchange, and of the one before, which a slow member
    /// may still be hearing. One meeting per exchange is enough then.
    told: [Vec<RwLock<Told>>; 2],
    /// What other processes have told, and where each of their members' begins.
    elsewhere: [RwLock<Vec<u8>>; 2],
}

/// One of the threads. Its first one speaks for the process where there are others.
pub struct Member {
    team: Arc<Team>,
    own: usize,
    exchanges: usize,
    /// Whether what it told last was lent.
    has_lent: bool,
    outer: Option<Outer>,
}

/// The way to other processes.
struct Outer {
    exchange: Box<dyn Exchange>,
    /// How many members each process has.
    members_of: Vec<usize>,
}

/// A team of `threads` members in this process, the first of which is for the thread that calls it; behind `outer`
/// there are other processes, of which `members_of[rank]` says how many members they have. For as long as `patience` a
/// member that waits keeps a core busy.
pub fn team(
    threads: usize,
    outer: Option<(Box<dyn Exchange>, Vec<usize>)>,
    patience: Duration,
) -> Vec<Member> {
    let (members, first) = match &outer {
        Some((exchange, of)) => (of.iter().sum(), of[..exchange.member()].iter().sum()),
        None => (threads, 0),
    };
    let told = || (0..threads).map(|_| RwLock::default()).collect();
    let team = Arc::new(Team {
        members,
        first,
        barrier: Barrier::new(threads, patience),
        told: [told(), told()],
        elsewhere: Default::default(),
    });
    let mut outer = outer.map(|(exchange, members_of)| Outer { exchange, members_of });
    let member = |own| {
        let outer = if own == 0 { outer.take() } else { None };
        Member { team: Arc::clone(&team), own, exchanges: 0, has_lent: false, outer }
    };
    (0..threads).map(member).collect()
}

impl Member {
    /// Whether it is the one that speaks for its process.
    pub fn leads(&self) -> bool {
        self.own == 0
    }

    /// [`Exchange::all_gather`] without a copy: the others of this process read `mine` where it lies. It is let go once the
    /// exchange after this one has returned, or has failed.
    ///
    /// Errors: as there.
    pub fn all_gather_lent(
        &mut self,
        mine: Lent,
        bytes: &[usize],
        hear: &mut Hear<'_>,
    ) -> Result<()> {
        debug_assert!((*mine).as_ref().len() == bytes[self.member()]);
        *write(&self.team.told[self.exchanges % 2][self.own]) = Told::Lent(mine);
        self.exchange(true, bytes, hear)
    }

    /// Tells what lies in this turn's place, and hears the others.
    fn exchange(&mut self, lends: bool, bytes: &[usize], hear: &mut Hear<'_>) -> Result<()> {
        debug_assert!(bytes.len() == self.members());
        let turn = self.exchanges % 2;
        self.exchanges += 1;
        let has_lent = std::mem::replace(&mut self.has_lent, lends);
        let team = &*self.team;
        let met = team.barrier.wait();
        if has_lent {
            // Who has come here has heard what was told before.
            *write(&team.told[1 - turn][self.own]) = Told::default();
        }
        met?;
        if team.members == team.told[turn].len() {
            for (member, slot) in team.told[turn].iter().enumerate() {
                hear(member, read(slot).bytes());
            }
            return Ok(());
        }
        if let Some(outer) = &mut self.outer {
            let heard = outer.gather(&team.told[turn], bytes, &mut write(&team.elsewhere[turn]));
            heard.inspect_err(|error| team.barrier.abort(&error.to_string()))?;
        }
        team.barrier.wait()?;
        let elsewhere = read(&team.elsewhere[turn]);
        let mut begin = 0;
        for (member, &length) in bytes.iter().enumerate() {
            hear(member, &elsewhere[begin..begin + length]);
            begin += length;
        }
        Ok(())
    }
}

impl Exchange for Member {
    fn members(&self) -> usize {
        self.team.members
    }

    fn member(&self) -> usize {
        self.team.first + self.own
    }

    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], hear: &mut Hear<'_>) -> Result<()> {
        debug_assert!(mine.len() == bytes[self.member()]);
        write(&self.team.told[self.exchanges % 2][self.own]).copy(mine);
        self.exchange(false, bytes, hear)
    }

    fn look_for_stop(&mut self) {
        if let Some(outer) = &mut self.outer {
            outer.exchange.look_for_stop();
        }
    }

    fn abort(&self, why: &str) {
        self.team.barrier.abort(why);
        if let Some(outer) = &self.outer {
            outer.exchange.abort(why);
        }
    }
}

impl Outer {
    /// What all members of all processes have told, one after the other.
    fn gather(&mut self, told: &[RwLock<Told>], bytes: &[usize], all: &mut Vec<u8>) -> Result<()> {
        let mine: Vec<u8> = told.iter().flat_map(|slot| read(slot).bytes().to_vec()).collect();
        let mut first = 0;
        let mut of_process = |members: &usize| {
            let lengths = &bytes[first..first + members];
            first += members;
            lengths.iter().sum()
        };
        let lengths: Vec<usize> = self.members_of.iter().map(&mut of_process).collect();
        all.clear();
        self.exchange.all_gather(&mine, &lengths, &mut |_, bytes| all.extend_from_slice(bytes))
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    /// Runs `work` as each member on a thread of its own; what came of it in the order of members.
    fn each<T: Send>(members: Vec<Member>, work: impl Fn(Member) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let work = &work;
            let spawn = |member| scope.spawn(move || work(member));
            let all: Vec<_> = members.into_iter().map(spawn).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn gathered(member: &mut impl Exchange, round: usize) -> Vec<u8> {
        let lengths: Vec<usize> = (0..member.members()).map(|k| (k + round) % 4).collect();
        let own = member.member();
        let mine = vec![(10 * own + round) as u8; lengths[own]];
        let mut all = Vec::new();
        let mut hear = |k: usize, told: &[u8]| {
            assert_eq!(told.len(), lengths[k]);
            all.extend_from_slice(told);
        };
        member.all_gather(&mine, &lengths, &mut hear).unwrap();
        all
    }

    fn expected(members: usize, round: usize) -> Vec<u8> {
        (0..members).flat_map(|k| vec![(10 * k + round) as u8; (k + round) % 4]).collect()
    }

    #[test]
    fn all_hear_all_in_the_order_of_members_many_times() {
        for patience in [Duration::ZERO, Duration::from_micros(50)] {
            let heard = each(team(3, None, patience), |mut member| {
                (0..200).map(|round| gathered(&mut member, round)).collect::<Vec<_>>()
            });
            for of_member in heard {
                for (round, all) in of_member.iter().enumerate() {
                    assert_eq!(*all, expected(3, round));
                }
            }
        }
    }

    /// Two processes of two and three members, whose leaders are a team themselves.
    #[test]
    fn a_team_may_be_a_member_of_another_group() {
        let of = vec![2, 3];
        let outer = team(2, None, Duration::ZERO);
        let mut all = Vec::new();
        for (leader, threads) in outer.into_iter().zip(&of) {
            all.extend(team(*threads, Some((Box::new(leader), of.clone())), Duration::ZERO));
        }
        let numbers: Vec<usize> = all.iter().map(Exchange::member).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        let heard = each(all, |mut member| {
            (0..50).map(|round| gathered(&mut member, round)).collect::<Vec<_>>()
        });
        for of_member in heard {
            for (round, all) in of_member.iter().enumerate() {
                assert_eq!(*all, expected(5, round));
            }
        }
    }

    #[test]
    fn sums_have_the_order_of_members() {
        // In another order 1 would be lost at another place.
        let values = [1e16, 1.0, -1e16, 1.0];
        let sums = each(team(4, None, Duration::ZERO), |mut member| {
            let mut value = [values[member.member()], 1.0];
            member.sum(&mut value).unwrap();
            value
        });
        let total = values.iter().fold(0.0, |sum, value| sum + value);
        assert_eq!(sums, [[total, 4.0]; 4]);
    }

    /// What is lent is read where it lies, and let go once the exchange after it has returned.
    #[test]
    fn what_is_lent_is_let_go_one_exchange_later() {
        each(team(3, None, Duration::ZERO), |mut member| {
            let own = member.member();
            let lengths = vec![4; 3];
            let mut last: Option<std::sync::Weak<Vec<u8>>> = None;
            for round in 0..100u8 {
                let mine = Arc::new(vec![10 * own as u8 + round; 4]);
                let weak = Arc::downgrade(&mine);
                let mut heard = Vec::new();
                let mut hear = |_: usize, told: &[u8]| heard.extend_from_slice(told);
                if round % 3 == 2 {
                    // A copy between two loans.
                    member.all_gather(&mine, &lengths, &mut hear).unwrap();
                } else {
                    member.all_gather_lent(mine, &lengths, &mut hear).unwrap();
                }
                let all: Vec<u8> = (0..3).flat_map(|k| [10 * k as u8 + round; 4]).collect();
                assert_eq!(heard, all);
                assert!(last.is_none_or(|last| last.upgrade().is_none()), "round {round}");
                last = Some(weak);
            }
        });
    }

    #[test]
    fn one_that_gives_up_leaves_nobody_waiting() {
        let ended = each(team(3, None, Duration::ZERO), |mut member| {
            member.barrier().unwrap();
            if member.member() == 1 {
                member.abort("the device was lost");
                return None;
            }
            Some(member.barrier().unwrap_err())
        });
        for error in ended.into_iter().flatten() {
            assert!(matches!(&error, Error::Member(why) if why == "the device was lost"));
        }
    }
}
