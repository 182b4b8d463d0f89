//! Asynchronous readback of positions, for a camera that follows bodies.

use glam::DVec4;

use crate::frame::Frame;
use crate::gpu::layout::VEC4;
use crate::gpu::{Gpu, Readback};

/// Which positions are read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// None.
    #[default]
    Nothing,
    /// That of the body with this index, in every frame.
    Body(usize),
    /// Those of all bodies, every few frames, or in every frame if there are few bodies.
    All,
}

/// Largest number of bodies that are read back in every frame.
const FEW: usize = 64;
/// Frames between two readbacks of all positions, if there are more bodies.
const FRAMES_BETWEEN: u32 = 6;

#[derive(Default)]
pub(super) struct Tracker {
    pub what: Tracking,
    readback: Readback,
    newest: Option<Vec<[f32; 4]>>,
    /// The coordinate frames of the positions being read back, and of the newest ones.
    frames: [Frame; 2],
    pause: u32,
}

impl Tracker {
    /// Records a copy of positions on the device into the frame.
    pub fn record(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        positions: &wgpu::Buffer,
        count: usize,
        frame: Frame,
    ) {
        self.pause = self.pause.saturating_sub(1);
        let range = match self.what {
            Tracking::Nothing => return,
            Tracking::Body(index) => {
                let begin = index.min(count - 1) as u64 * VEC4;
                begin..begin + VEC4
            }
            Tracking::All if self.pause > 0 => return,
            Tracking::All => 0..count as u64 * VEC4,
        };
        if self.readback.is_idle() {
            self.readback.record(&gpu.device, encoder, &[(positions, range)]);
            self.frames[0] = frame;
            self.pause = if count <= FEW { 0 } else { FRAMES_BETWEEN };
        }
    }

    pub fn submitted(&mut self) {
        self.readback.submitted();
    }

    /// Takes positions that are on the host.
    pub fn take_from(&mut self, positions: &[[f32; 4]], frame: Frame) {
        self.frames[1] = frame;
        self.newest = match self.what {
            Tracking::Nothing => None,
            Tracking::Body(index) => positions.get(index).map(|position| vec![*position]),
            Tracking::All => Some(positions.to_vec()),
        };
    }

    /// The positions in world coordinates, and the masses in the frame's unit.
    pub fn take(&mut self) -> Option<Vec<DVec4>> {
        if let Some(Ok(mut read)) = self.readback.take() {
            self.newest = read.pop();
            self.frames[1] = self.frames[0];
        }
        let (newest, frame) = (self.newest.take()?, self.frames[1]);
        let wide = |[x, y, z, m]: [f32; 4]| frame.wide_position([x, y, z]).extend(m.into());
        Some(newest.into_iter().map(wide).collect())
    }
}
