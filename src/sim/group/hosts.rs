//! Backend for MPI ranks that compute a tree on processors: each rank stores and integrates an
//! equal range of the bodies, and the engines of all ranks compute forces collectively
//! (`forces/tree/cpu/domains.rs`).

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::exchange::{Ranks, equal_shares};
use crate::forces::{EngineKind, Method, last};
use crate::integrate::blocks::Restart;
use crate::sim::backend::first_of_all;
use crate::sim::{
    Backend, BackendEntry, BodyParts, BoxFuture, Capabilities, Choice, HostState, Observed,
    Settings, Varying, Watch, host_engine,
};

/// Chosen if several ranks compute on their processors, by a tree that is built at each step, with
/// one time step for all bodies.
pub const BACKEND: BackendEntry = BackendEntry {
    suits: |choice, settings, _| {
        choice.is_shared()
            && !choice.is_mixed
            && choice.kind == EngineKind::Cpu
            && choice.method == Method::Tree
            && !settings.integrator.has_block_steps()
            && !settings.tree.rebuild.keeps()
    },
    open: |choice, bodies, settings, restart| {
        Box::pin(async move {
            let group = HostGroup::open(choice, bodies, settings, restart).await?;
            Ok(Box::new(group) as Box<dyn Backend>)
        })
    },
};

/// The range of the bodies that this rank integrates, and the ranges that callers get.
struct HostGroup {
    state: HostState,
    ranks: Ranks,
    /// The range that each rank integrates.
    shares: Vec<Range<usize>>,
    /// The range that [`Backend::read`] returns on each rank.
    readers: Vec<Range<usize>>,
    /// Whether callers pass the bodies of their rank's `readers` range; otherwise all bodies.
    are_divided: bool,
    /// Whether forces depend on the accelerations of the last step; then `last` holds those of the
    /// bodies read last.
    needs_last: bool,
    last: Vec<DVec3>,
}

/// A body as it is sent to the rank that integrates it.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Sent {
    id: u64,
    mass: f64,
    position: DVec3,
    velocity: DVec3,
}

/// Redistributes one item per body: rank k has those of the range `from[k]`, given by `items`
/// relative to its start, and gets those of `to[k]`.
///
/// # Errors
/// A rank is gone.
fn moved<T: Pod>(
    ranks: &Ranks,
    (from, to): (&[Range<usize>], &[Range<usize>]),
    items: impl Fn(Range<usize>) -> Vec<T>,
) -> Result<Vec<T>> {
    let own = &from[ranks.rank()];
    let sent = to.iter().map(|to| {
        let begin = to.start.clamp(own.start, own.end);
        let end = to.end.clamp(begin, own.end);
        items(begin - own.start..end - own.start)
    });
    let sent: Vec<Vec<T>> = sent.collect();
    Ok(ranks.send_each(&sent)?.concat())
}

impl HostGroup {
    async fn open(
        choice: &Choice,
        bodies: &Bodies,
        settings: &Settings,
        restart: Option<&Restart>,
    ) -> Result<Self> {
        let ranks = choice.ranks.clone().expect("ranks share the bodies");
        let n = choice.rows.as_ref().map_or(bodies.len(), |rows| rows.n);
        let shares = equal_shares(n, ranks.size(), 1);
        let readers = match &choice.rows {
            Some(rows) => {
                let all = ranks.gather(&[rows.own.start as u64, rows.own.end as u64])?;
                all.iter().map(|ends| ends[0] as usize..ends[1] as usize).collect()
            }
            None => vec![0..n; ranks.size()],
        };
        let given = Given {
            ranks: &ranks,
            readers: choice.rows.is_some().then_some(&readers[..]),
            shares: &shares,
        };
        let needs_last = settings.tree.opening.needs_accelerations();
        let found = restart.filter(|_| needs_last);
        let found = found.and_then(|restart| last::find(&restart.columns, bodies.len()));
        let restart = match ranks.any(needs_last && found.is_none())? {
            true => None,
            false => found.map(|last| given.of(|i| last[i])).transpose()?,
        };
        let restart = restart.map(|last| Restart::of_last(&last));
        let own = given.bodies(bodies)?;
        let first = shares[ranks.rank()].start;
        let opened = async {
            let mut engine = host_engine(choice.kind, None, &[], settings).await?;
            let divides = engine.interfaces().divides;
            divides.expect("a tree built at each step").divide_among(ranks.clone());
            HostState::open(own, engine, settings, restart.as_ref()).await
        };
        let opened = opened.await.map_err(|error| error.numbered_from(first));
        let state = first_of_all(Some(&ranks), opened)?.among(ranks.clone(), first);
        let are_divided = choice.rows.is_some();
        let last = Vec::new();
        Ok(Self { state, ranks, shares, readers, are_divided, needs_last, last })
    }

    fn given(&self) -> Given<'_> {
        let readers = self.are_divided.then_some(&self.readers[..]);
        Given { ranks: &self.ranks, readers, shares: &self.shares }
    }

    /// The items of this rank's `readers` range, from those of the range that each rank integrates.
    fn read_of<T: Pod>(&self, items: &[T]) -> Result<Vec<T>> {
        moved(&self.ranks, (&self.shares, &self.readers), |rows| items[rows].to_vec())
    }
}

/// Bodies passed by the callers: those of `readers` on each rank, or all of them on every rank.
struct Given<'a> {
    ranks: &'a Ranks,
    readers: Option<&'a [Range<usize>]>,
    shares: &'a [Range<usize>],
}

impl Given<'_> {
    /// `item` of each body that this rank integrates.
    fn of<T: Pod>(&self, item: impl Fn(usize) -> T) -> Result<Vec<T>> {
        match self.readers {
            Some(given) => {
                let of = |rows: Range<usize>| rows.map(&item).collect();
                moved(self.ranks, (given, self.shares), of)
            }
            None => Ok(self.shares[self.ranks.rank()].clone().map(item).collect()),
        }
    }

    fn bodies(&self, bodies: &Bodies) -> Result<Bodies> {
        let sent = self.of(|i| Sent {
            id: bodies.id[i],
            mass: bodies.mass[i],
            position: bodies.position[i],
            velocity: bodies.velocity[i],
        })?;
        Ok(Bodies {
            id: sent.iter().map(|body| body.id).collect(),
            mass: sent.iter().map(|body| body.mass).collect(),
            position: sent.iter().map(|body| body.position).collect(),
            velocity: sent.iter().map(|body| body.velocity).collect(),
            component: vec![0; sent.len()],
            components: bodies.components.clone(),
        })
    }
}

impl Backend for HostGroup {
    fn describe(&self) -> String {
        self.state.describe()
    }

    fn interactions(&self) -> u64 {
        self.state.interactions()
    }

    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> BoxFuture<'a, (u64, Result<()>)> {
        self.state.advance(dt, steps, watch)
    }

    fn read<'a>(
        &'a mut self,
        bodies: &'a mut Bodies,
        time: f64,
    ) -> BoxFuture<'a, Result<Vec<DVec3>>> {
        Box::pin(async move {
            let mut own = Bodies::default();
            let acceleration = self.state.read(&mut own, time).await?;
            bodies.position = self.read_of(&own.position)?;
            bodies.velocity = self.read_of(&own.velocity)?;
            let acceleration = self.read_of(&acceleration)?;
            if self.needs_last {
                self.last.clone_from(&acceleration);
            }
            Ok(acceleration)
        })
    }

    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>> {
        Box::pin(async move {
            let first = self.shares[self.ranks.rank()].start;
            let found = self.state.potential().await;
            let found = found.map_err(|error| error.numbered_from(first));
            let found = first_of_all(Some(&self.ranks), found)?;
            self.read_of(&found)
        })
    }

    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let n = self.shares.last().map_or(0, |share| share.end);
            if !self.are_divided && bodies.len() != n {
                self.shares = equal_shares(bodies.len(), self.ranks.size(), 1);
                self.readers = vec![0..bodies.len(); self.ranks.size()];
            }
            let own = self.given().bodies(bodies)?;
            let first = self.shares[self.ranks.rank()].start;
            let replaced = self.state.replace(&own, settings).await;
            first_of_all(Some(&self.ranks), replaced.map_err(|error| error.numbered_from(first)))
        })
    }

    fn set_softening(&mut self, softening: f64) -> BoxFuture<'_, Result<bool>> {
        self.state.set_softening(softening)
    }

    fn restart(&self) -> Restart {
        // Before the first reading `last` is empty, and after a replacement it may have another
        // length.
        let is_read = self.last.len() == self.readers[self.ranks.rank()].len();
        match self.needs_last && is_read {
            true => Restart::of_last(&self.last),
            false => Restart::default(),
        }
    }

    fn capabilities(&self, time: f64) -> Capabilities<'_> {
        Capabilities { host: None, ..self.state.capabilities(time) }
    }

    fn take_observed(&mut self) -> Observed {
        self.state.take_observed()
    }

    fn varying(&mut self) -> Option<&mut dyn Varying> {
        Some(self)
    }

    fn parts(&mut self) -> Option<&mut dyn BodyParts> {
        None
    }
}

impl Varying for HostGroup {
    fn largest_acceleration(&mut self) -> BoxFuture<'_, Result<f64>> {
        Box::pin(async move {
            let own = self.state.largest_acceleration().await?;
            // As bits, whose order is that of positive numbers, with NaN last.
            let all = self.ranks.gather(&[own.to_bits()])?;
            Ok(f64::from_bits(all.iter().map(|bits| bits[0]).max().unwrap_or(0)))
        })
    }

    fn save(&mut self) -> Result<()> {
        self.state.save()
    }

    fn restore(&mut self) {
        self.state.restore();
    }
}
