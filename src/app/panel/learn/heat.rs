//! The map of p and q: which shape comes next, and what was measured for each. Nothing here draws.

use std::collections::VecDeque;

use gravitile::forces::direct::gpu::{Dispatch, KernelConfig, KernelRequest};

/// Threads along the sinks: the columns.
pub const P: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
/// Threads per sink: the rows.
pub const Q: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The result for one shape.
#[derive(Clone, Debug, PartialEq)]
pub enum HeatCell {
    /// Not tried yet.
    Unknown,
    /// The adapter cannot hold it, or it did not run: the reason.
    Refused(String),
    /// Interactions per second while the engine was at work.
    Rate(f64),
}

impl HeatCell {
    /// Its text for screen readers, which cannot see its colour.
    pub fn in_words(&self) -> String {
        match self {
            Self::Rate(rate) => format!("{} G interactions/s", super::short(rate / 1e9)),
            Self::Unknown => "not measured".to_owned(),
            Self::Refused(reason) => reason.clone(),
        }
    }
}

/// The map, and the measurement that fills it.
#[derive(Debug, Default)]
pub struct HeatMap {
    /// What the cells share: r, u, s. `None` until the first update.
    base: Option<KernelConfig>,
    count: usize,
    cells: Vec<HeatCell>,
    filling: Option<Filling>,
}

#[derive(Debug)]
struct Filling {
    left: VecDeque<usize>,
    current: Option<usize>,
    /// Frames since the current shape was requested, and since its rate became known.
    waited: u32,
    settled: u32,
    before: KernelRequest,
}

/// A rate is recorded after this many frames with it: the first ones compile and warm up.
const SETTLED: u32 = 12;
/// A shape without a rate after this many frames is skipped.
const PATIENCE: u32 = 300;

impl HeatMap {
    /// The shape of a cell: r and s as they run now, u so that it divides p.
    pub fn config(&self, cell: usize) -> Option<KernelConfig> {
        self.base.map(|base| {
            let (p, q) = (P[cell % P.len()], Q[cell / P.len()]);
            let u = (1..=base.u.min(p)).rev().find(|u| p.is_multiple_of(*u)).unwrap_or(1);
            KernelConfig { p, q, u, untiled: false, dispatch: Dispatch::Auto, own: false, ..base }
        })
    }

    /// Cell `q_index * P.len() + p_index`.
    pub fn cell(&self, cell: usize) -> &HeatCell {
        self.cells.get(cell).unwrap_or(&HeatCell::Unknown)
    }

    /// The best rate so far.
    pub fn best(&self) -> Option<f64> {
        let rates = self.cells.iter().filter_map(|cell| match cell {
            HeatCell::Rate(rate) => Some(*rate),
            _ => None,
        });
        rates.reduce(f64::max)
    }

    /// Whether it is being filled.
    pub fn is_filling(&self) -> bool {
        self.filling.is_some()
    }

    /// Cells done and cells to do, while it is being filled.
    pub fn progress(&self) -> Option<(usize, usize)> {
        let filling = self.filling.as_ref()?;
        let left = filling.left.len() + usize::from(filling.current.is_some());
        let all = self.cells.iter().filter(|cell| !matches!(cell, HeatCell::Refused(_))).count();
        Some((all.saturating_sub(left), all))
    }

    /// Starts a new map if r, u, s or the number of bodies has changed. `refuse` returns why the
    /// adapter cannot run a shape.
    pub fn update(
        &mut self,
        running: &KernelConfig,
        count: usize,
        refuse: impl Fn(&KernelConfig) -> Option<String>,
    ) {
        let same = self.base.is_some_and(|base| {
            let others = |c: &KernelConfig| (c.r, c.s, c.checks);
            // u is reduced to suit p: the map keeps the one it began with.
            others(&base) == others(running)
                && (base.u == running.u
                    || (0..P.len() * Q.len()).any(|i| self.config(i) == Some(*running)))
        });
        if count == self.count && (same || self.is_filling()) {
            return;
        }
        self.filling = None;
        (self.base, self.count) = (Some(*running), count);
        let cell = |i| {
            let config = self.config(i)?;
            Some(refuse(&config).map_or(HeatCell::Unknown, HeatCell::Refused))
        };
        self.cells = (0..P.len() * Q.len()).filter_map(cell).collect();
    }

    /// Begins to fill all cells that the adapter can run; `before` is restored at the end.
    pub fn begin(&mut self, before: KernelRequest) {
        let open = |i: &usize| !matches!(self.cells[*i], HeatCell::Refused(_));
        let left = (0..self.cells.len()).filter(open).collect();
        self.filling = Some(Filling { left, current: None, waited: 0, settled: 0, before });
    }

    /// Ends the filling; returns the request to restore, if there was one.
    pub fn stop(&mut self) -> Option<KernelRequest> {
        self.filling.take().map(|filling| filling.before)
    }

    /// Adds a frame: the shape that ran in it and the engine's rate, `None` while it is not known
    /// for this shape. Returns the kernel to request next, if it is time for one.
    pub fn frame(&mut self, running: &KernelConfig, rate: Option<f64>) -> Option<KernelRequest> {
        let current = self.filling.as_ref()?.current;
        let requested = current.and_then(|cell| self.config(cell));
        let filling = self.filling.as_mut()?;
        if let (Some(cell), Some(requested)) = (current, requested) {
            filling.waited += 1;
            match rate.filter(|rate| requested == *running && rate.is_finite() && *rate > 0.0) {
                Some(rate) => {
                    filling.settled += 1;
                    if filling.settled < SETTLED {
                        return None;
                    }
                    self.cells[cell] = HeatCell::Rate(rate);
                }
                None if filling.waited < PATIENCE => return None,
                None => {
                    let reason = "no rate in time: this shape was refused or is too slow";
                    self.cells[cell] = HeatCell::Refused(reason.to_owned());
                }
            }
        }
        (filling.waited, filling.settled) = (0, 0);
        filling.current = filling.left.pop_front();
        match filling.current {
            Some(next) => self.config(next).map(KernelRequest::from),
            None => self.stop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: KernelConfig =
        KernelConfig { r: 2, u: 32, untiled: true, ..KernelConfig::tiled(64) };

    fn too_many(config: &KernelConfig) -> Option<String> {
        (config.threads() > 256).then(|| format!("{} threads are too many", config.threads()))
    }

    fn config_of(request: KernelRequest) -> KernelConfig {
        request.fill(NOW)
    }

    #[test]
    fn filling_finds_the_fastest_shape_and_restores_the_kernel() {
        let mut map = HeatMap::default();
        map.update(&NOW, 4096, too_many);
        let before = KernelRequest { p: Some(64), ..KernelRequest::default() };
        map.begin(before);
        let (mut running, mut requested) = (NOW, 0);
        let rate = |c: &KernelConfig| if (c.p, c.q) == (32, 4) { 5e9 } else { 1e9 };
        for _ in 0..10_000 {
            // An old rate must not be taken for the new shape's.
            if let Some(request) = map.frame(&running, Some(rate(&running))) {
                if request == before {
                    break;
                }
                running = config_of(request);
                running.validate(None).unwrap();
                assert!(running.threads() <= 256 && running.r == 2);
                requested += 1;
            }
        }
        assert!(!map.is_filling());
        let open = (0..P.len() * Q.len())
            .filter(|i| !matches!(map.cell(*i), HeatCell::Refused(_)))
            .count();
        assert_eq!((requested, open), (open, 21));
        assert_eq!(map.best(), Some(5e9));
        let best = (0..P.len() * Q.len()).find(|i| *map.cell(*i) == HeatCell::Rate(5e9)).unwrap();
        let best = map.config(best).unwrap();
        assert_eq!((best.p, best.q, best.u), (32, 4, 32));
        let last = P.len() * Q.len() - 1;
        assert!(
            matches!(map.cell(last), HeatCell::Refused(reason) if reason.contains("65536 threads"))
        );
        // A click on a cell keeps the map; another r or other bodies make another.
        map.update(&best, 4096, too_many);
        assert_eq!(map.best(), Some(5e9));
        map.update(&KernelConfig { r: 4, ..best }, 4096, too_many);
        assert_eq!(map.best(), None);
    }

    #[test]
    fn shape_that_never_runs_is_skipped_and_stop_restores_the_kernel() {
        let mut map = HeatMap::default();
        map.update(&NOW, 100, too_many);
        let before = KernelRequest::default();
        map.begin(before);
        let first = config_of(map.frame(&NOW, Some(1e9)).unwrap());
        let mut frames = 0;
        let second = loop {
            frames += 1;
            // The old kernel still runs: its rate is not that of the requested one.
            if let Some(next) = map.frame(&NOW, Some(1e9)) {
                break config_of(next);
            }
        };
        assert_eq!(frames, PATIENCE);
        assert_ne!(first, second);
        assert!(matches!(map.cell(0), HeatCell::Refused(_)));
        assert_eq!(map.progress(), Some((0, 20)));
        assert_eq!((map.stop(), map.stop()), (Some(before), None));
    }
}
