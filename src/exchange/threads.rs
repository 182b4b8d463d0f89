//! Exchange between threads of this process, optionally connected to other processes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rayon::prelude::*;

use super::barrier::Barrier;
use super::{Exchange, Reader, aborted, gather_by_lengths, gather_joined};
use crate::error::Result;

/// Chunk of a parallel copy, and the size from which copies are parallel: waking threads of the
/// pool takes as long as copying some 200 kB.
const COPY_BYTES: usize = 1 << 18;
const MANY_BYTES: usize = 1 << 20;

/// A shared buffer that other members read in place.
pub type SharedBuffer = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A member's message: a copy in a reused buffer, or a borrowed buffer.
#[derive(Default)]
struct MemberMessage {
    copied: Vec<u8>,
    borrowed: Option<SharedBuffer>,
}

impl MemberMessage {
    fn bytes(&self) -> &[u8] {
        self.borrowed.as_ref().map_or(&self.copied, |buffer| (**buffer).as_ref())
    }

    fn copy(&mut self, mine: &[&[u8]]) {
        self.borrowed = None;
        self.copied.resize(mine.iter().map(|message| message.len()).sum(), 0);
        let mut rest = &mut self.copied[..];
        let mut place = |message: &&[u8]| rest.split_off_mut(..message.len()).unwrap_or_default();
        copy_pieces(mine.iter().map(|message| (place(message), *message)).collect());
    }
}

/// Copies each slice to one of equal length; in parallel above `MANY_BYTES`, since one core does
/// not use the full memory bandwidth.
fn copy_pieces(pieces: Vec<(&mut [u8], &[u8])>) {
    if pieces.iter().map(|(_, from)| from.len()).sum::<usize>() <= MANY_BYTES {
        pieces.into_iter().for_each(|(to, from)| to.copy_from_slice(from));
        return;
    }
    pieces
        .into_par_iter()
        .flat_map(|(to, from)| to.par_chunks_mut(COPY_BYTES).zip(from.par_chunks(COPY_BYTES)))
        .for_each(|(to, from)| to.copy_from_slice(from));
}

/// State shared by the threads of a team.
struct Team {
    /// The number of members of each process; `process` is this one, and `first` its first member.
    members_of: Vec<usize>,
    process: usize,
    first: usize,
    barrier: Barrier,
    /// Messages of the members of this process, double-buffered: of this exchange, and of the
    /// previous one, which a slow member may still be reading. One barrier per exchange is then
    /// enough.
    messages: [Vec<RwLock<MemberMessage>>; 2],
    /// Messages for the members of this process, concatenated; double-buffered as well.
    remote: [RwLock<Vec<u8>>; 2],
}

/// Endpoint of one thread. The first one communicates with other processes, if any.
pub struct Member {
    team: Arc<Team>,
    own: usize,
    exchanges: usize,
    /// Whether the last message is a borrowed buffer.
    has_borrowed: bool,
    /// The connection to other processes.
    outer: Option<Box<dyn Exchange>>,
}

/// The lengths of the messages of an exchange, in bytes.
#[derive(Clone, Copy)]
enum Lengths<'a> {
    /// All-gather of messages of unknown lengths, within one process only.
    Any,
    /// All-gather: the length of each member's message.
    ToAll(&'a [usize]),
    /// All-to-all: `[k][l]` is the length of the message from member k to member l.
    ToEach(&'a [Vec<usize>]),
}

impl Lengths<'_> {
    /// The number of bytes that a member sends.
    fn of(self, member: usize) -> usize {
        self.to(member, 0..self.members()).len()
    }

    fn members(self) -> usize {
        match self {
            Self::Any => 0,
            Self::ToAll(bytes) => bytes.len(),
            Self::ToEach(table) => table.len(),
        }
    }

    /// The range of the bytes that a member sends which is for these receivers.
    fn to(self, member: usize, receivers: Range<usize>) -> Range<usize> {
        match self {
            Self::Any => unreachable!("messages of any length go whole to all"),
            Self::ToAll(bytes) => 0..bytes[member],
            Self::ToEach(table) => {
                let begin = table[member][..receivers.start].iter().sum();
                begin..begin + table[member][receivers].iter().sum::<usize>()
            }
        }
    }
}

/// Creates the `threads` members of this process; the first one is for the calling thread. `outer`
/// connects other processes and has the number of members of each. A waiting member spins for
/// `patience` before it sleeps.
pub fn team(
    threads: usize,
    outer: Option<(Box<dyn Exchange>, Vec<usize>)>,
    patience: Duration,
) -> Vec<Member> {
    let (mut outer, process, members_of) = match outer {
        Some((exchange, of)) => {
            let process = exchange.member();
            (Some(exchange), process, of)
        }
        None => (None, 0, vec![threads]),
    };
    let first = members_of[..process].iter().sum();
    let slots = || (0..threads).map(|_| RwLock::default()).collect();
    let team = Arc::new(Team {
        members_of,
        process,
        first,
        barrier: Barrier::new(threads, patience),
        messages: [slots(), slots()],
        remote: Default::default(),
    });
    let member = |own| {
        let outer = if own == 0 { outer.take() } else { None };
        Member { team: Arc::clone(&team), own, exchanges: 0, has_borrowed: false, outer }
    };
    (0..threads).map(member).collect()
}

impl Member {
    /// Whether this member communicates with other processes.
    pub fn leads(&self) -> bool {
        self.own == 0
    }

    /// [`Exchange::all_gather`] without a copy: the other members of this process read `mine` in
    /// place. It is released once the next exchange has returned or failed.
    ///
    /// # Errors
    /// Those of [`Exchange::all_gather`].
    pub fn all_gather_shared(
        &mut self,
        mine: SharedBuffer,
        bytes: &[usize],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        self.share(mine, Lengths::ToAll(bytes), receive)
    }

    /// [`Exchange::deliver`] without a copy: `mine` are the messages to all members one after the
    /// other. Released as by [`Member::all_gather_shared`].
    ///
    /// # Errors
    /// Those of [`Exchange::deliver`].
    pub fn deliver_shared(
        &mut self,
        mine: SharedBuffer,
        table: &[Vec<usize>],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        self.share(mine, Lengths::ToEach(table), receive)
    }

    fn share(
        &mut self,
        mine: SharedBuffer,
        lengths: Lengths<'_>,
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        debug_assert!((*mine).as_ref().len() == lengths.of(self.member()));
        write(&self.team.messages[self.exchanges % 2][self.own]).borrowed = Some(mine);
        self.exchange(true, lengths, receive)
    }

    /// Publishes the message in this member's slot and receives those of the others.
    fn exchange(
        &mut self,
        borrows: bool,
        lengths: Lengths<'_>,
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        let parity = self.exchanges % 2;
        self.exchanges += 1;
        let has_borrowed = std::mem::replace(&mut self.has_borrowed, borrows);
        let member = self.member();
        let team = &*self.team;
        let waited = team.barrier.wait();
        if has_borrowed {
            // All members have passed the barrier, hence finished reading the previous messages.
            write(&team.messages[1 - parity][self.own]).borrowed = None;
        }
        waited?;
        if team.members_of.len() == 1 {
            for (from, slot) in team.messages[parity].iter().enumerate() {
                let slot = read(slot);
                let part = match lengths {
                    Lengths::Any => Some(slot.bytes()),
                    _ => slot.bytes().get(lengths.to(from, member..member + 1)),
                };
                // A member whose device was lost may be at another exchange. Its own error follows.
                let part = part.ok_or_else(|| aborted("the members are at different exchanges"))?;
                receive(from, part);
            }
            return Ok(());
        }
        if let Some(outer) = &mut self.outer {
            let exchanged = team.exchange(outer.as_mut(), parity, lengths);
            exchanged.inspect_err(|error| team.barrier.abort(&error.to_string()))?;
        }
        team.barrier.wait()?;
        let remote = read(&team.remote[parity]);
        let here = team.first..team.first + team.messages[parity].len();
        let mut begin = 0;
        for from in 0..self.members() {
            let all = lengths.to(from, here.clone());
            let own = lengths.to(from, member..member + 1);
            let at = begin + own.start - all.start;
            receive(from, &remote[at..at + own.len()]);
            begin += all.len();
        }
        Ok(())
    }
}

impl Team {
    /// Sends the messages of this process's members to the other processes, and receives theirs
    /// into `remote`.
    fn exchange(
        &self,
        outer: &mut dyn Exchange,
        parity: usize,
        lengths: Lengths<'_>,
    ) -> Result<()> {
        let ends = self.members_of.iter().scan(0, |end, members| {
            *end += members;
            Some(*end - members..*end)
        });
        let processes: Vec<Range<usize>> = ends.collect();
        let slots: Vec<_> = self.messages[parity].iter().map(read).collect();
        let sent_to = |receivers: &Range<usize>| -> Cow<'_, [u8]> {
            let sent = |k: usize| &slots[k].bytes()[lengths.to(self.first + k, receivers.clone())];
            match slots.len() {
                1 => Cow::Borrowed(sent(0)),
                members => (0..members).map(sent).collect::<Vec<_>>().concat().into(),
            }
        };
        let mut all = write(&self.remote[parity]);
        all.clear();
        let mut receive = |_: usize, bytes: &[u8]| all.extend_from_slice(bytes);
        match lengths {
            Lengths::Any => unreachable!("messages to other processes have lengths"),
            Lengths::ToAll(bytes) => {
                let of = |process: &Range<usize>| bytes[process.clone()].iter().sum();
                let bytes: Vec<usize> = processes.iter().map(of).collect();
                outer.all_gather(&sent_to(&processes[self.process]), &bytes, &mut receive)
            }
            Lengths::ToEach(_) => {
                let between = |from: &Range<usize>, to: &Range<usize>| {
                    from.clone().map(|member| lengths.to(member, to.clone()).len()).sum()
                };
                let row = |from| processes.iter().map(|to| between(from, to)).collect();
                let table: Vec<Vec<usize>> = processes.iter().map(row).collect();
                let mine: Vec<_> = processes.iter().map(sent_to).collect();
                let mine: Vec<&[u8]> = mine.iter().map(|message| &message[..]).collect();
                outer.deliver(&mine, &table, &mut receive)
            }
        }
    }
}

impl Exchange for Member {
    fn members(&self) -> usize {
        self.team.members_of.iter().sum()
    }

    fn member(&self) -> usize {
        self.team.first + self.own
    }

    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], receive: &mut Reader<'_>) -> Result<()> {
        debug_assert!(mine.len() == bytes[self.member()]);
        write(&self.team.messages[self.exchanges % 2][self.own]).copy(&[mine]);
        self.exchange(false, Lengths::ToAll(bytes), receive)
    }

    fn gather_messages(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        if self.team.members_of.len() > 1 {
            return gather_by_lengths(self, mine);
        }
        let mut all = Vec::new();
        self.gather_pieces(&[mine], &mut |_, received| all.push(received.to_vec()))?;
        Ok(all)
    }

    fn gather_pieces(&mut self, mine: &[&[u8]], receive: &mut Reader<'_>) -> Result<()> {
        if self.team.members_of.len() > 1 {
            return gather_joined(self, mine, receive);
        }
        write(&self.team.messages[self.exchanges % 2][self.own]).copy(mine);
        self.exchange(false, Lengths::Any, receive)
    }

    fn deliver(
        &mut self,
        mine: &[&[u8]],
        table: &[Vec<usize>],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        write(&self.team.messages[self.exchanges % 2][self.own]).copy(mine);
        self.exchange(false, Lengths::ToEach(table), receive)
    }

    fn poll_stop(&mut self) {
        if let Some(outer) = &mut self.outer {
            outer.poll_stop();
        }
    }

    fn abort(&self, why: &str) {
        self.team.barrier.abort(why);
        if let Some(outer) = &self.outer {
            outer.abort(why);
        }
    }
}

/// A thread that panics would leave the others waiting.
impl Drop for Member {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort("another rank panicked");
        }
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

    /// Runs `work` for each member on its own thread; results are in the order of members.
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
        let mut receive = |k: usize, message: &[u8]| {
            assert_eq!(message.len(), lengths[k]);
            all.extend_from_slice(message);
        };
        member.all_gather(&mine, &lengths, &mut receive).unwrap();
        all
    }

    fn expected(members: usize, round: usize) -> Vec<u8> {
        (0..members).flat_map(|k| vec![(10 * k + round) as u8; (k + round) % 4]).collect()
    }

    #[test]
    fn all_gather_keeps_member_order_over_many_rounds() {
        for patience in [Duration::ZERO, Duration::from_micros(50)] {
            let received = each(team(3, None, patience), |mut member| {
                (0..200).map(|round| gathered(&mut member, round)).collect::<Vec<_>>()
            });
            for of_member in received {
                for (round, all) in of_member.iter().enumerate() {
                    assert_eq!(*all, expected(3, round));
                }
            }
        }
    }

    /// Two processes of two and three members, whose leaders form a team.
    fn two_processes() -> Vec<Member> {
        let of = vec![2, 3];
        let outer = team(2, None, Duration::ZERO);
        let mut all = Vec::new();
        for (leader, threads) in outer.into_iter().zip(&of) {
            all.extend(team(*threads, Some((Box::new(leader), of.clone())), Duration::ZERO));
        }
        all
    }

    #[test]
    fn each_member_receives_what_is_sent_to_it() {
        for members in
            [team(1, None, Duration::ZERO), team(4, None, Duration::ZERO), two_processes()]
        {
            let size = members.len();
            let message =
                |from: usize, to: usize| vec![(10 * from + to) as u8; (from + 2 * to) % 5];
            let received = each(members, |mut member| {
                let own = member.member();
                let mine: Vec<Vec<u8>> = (0..size).map(|to| message(own, to)).collect();
                let mine: Vec<&[u8]> = mine.iter().map(Vec::as_slice).collect();
                let mut all = Vec::new();
                member
                    .all_to_all(&mine, &mut |from, received| all.push((from, received.to_vec())))
                    .unwrap();
                all
            });
            for (own, received) in received.into_iter().enumerate() {
                let expected: Vec<_> = (0..size).map(|from| (from, message(from, own))).collect();
                assert_eq!(received, expected);
            }
        }
    }

    #[test]
    fn team_can_be_a_member_of_an_outer_group() {
        let all = two_processes();
        let numbers: Vec<usize> = all.iter().map(Exchange::member).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        let received = each(all, |mut member| {
            (0..50).map(|round| gathered(&mut member, round)).collect::<Vec<_>>()
        });
        for of_member in received {
            for (round, all) in of_member.iter().enumerate() {
                assert_eq!(*all, expected(5, round));
            }
        }
    }

    #[test]
    fn sums_add_in_member_order() {
        // Other orders round differently.
        let values = [1e16, 1.0, -1e16, 1.0];
        let sums = each(team(4, None, Duration::ZERO), |mut member| {
            let mut value = [values[member.member()], 1.0];
            member.sum(&mut value).unwrap();
            value
        });
        let total = values.iter().fold(0.0, |sum, value| sum + value);
        assert_eq!(sums, [[total, 4.0]; 4]);
    }

    /// A borrowed buffer is read in place and released once the next exchange has returned.
    #[test]
    fn borrowed_buffer_is_released_one_exchange_later() {
        each(team(3, None, Duration::ZERO), |mut member| {
            let own = member.member();
            let lengths = vec![4; 3];
            let mut last: Option<std::sync::Weak<Vec<u8>>> = None;
            for round in 0..100u8 {
                let mine = Arc::new(vec![10 * own as u8 + round; 4]);
                let weak = Arc::downgrade(&mine);
                let mut received = Vec::new();
                let mut receive = |_: usize, message: &[u8]| received.extend_from_slice(message);
                if round % 3 == 2 {
                    // A copy between two borrowed buffers.
                    member.all_gather(&mine, &lengths, &mut receive).unwrap();
                } else {
                    member.all_gather_shared(mine, &lengths, &mut receive).unwrap();
                }
                let all: Vec<u8> = (0..3).flat_map(|k| [10 * k as u8 + round; 4]).collect();
                assert_eq!(received, all);
                assert!(last.is_none_or(|last| last.upgrade().is_none()), "round {round}");
                last = Some(weak);
            }
        });
    }

    #[test]
    fn panic_of_one_member_ends_all_waits() {
        let members = team(2, None, Duration::ZERO);
        std::thread::scope(|scope| {
            let threads: Vec<_> = members
                .into_iter()
                .map(|mut member| {
                    scope.spawn(move || {
                        assert!(member.member() == 0, "it panics");
                        member.barrier().unwrap_err().to_string()
                    })
                })
                .collect();
            let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            assert!(ended[0].as_ref().unwrap().ends_with("another rank panicked"), "{ended:?}");
            assert!(ended[1].is_err());
        });
    }

    #[test]
    fn abort_by_one_member_ends_all_waits() {
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
