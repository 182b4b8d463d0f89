//! Where bodies are, for a camera that follows them, without waiting for the device.

use glam::DVec4;

use crate::frame::Frame;
use crate::gpu::layout::VEC4;
use crate::gpu::{Gpu, Readback};

/// Whose positions are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// Nobody's.
    #[default]
    Nothing,
    /// One body's, by its index; in every frame.
    Body(usize),
    /// All bodies', every few frames, or in every frame if they are few.
    All,
}

/// Up to this many bodies are read as often as one.
const FEW: usize = 64;
/// Frames between two readings of all positions, if there are more.
const FRAMES_BETWEEN: u32 = 6;

#[derive(Default)]
pub(super) struct Tracker {
    pub what: Tracking,
    readback: Readback,
    newest: Option<Vec<[f32; 4]>>,
    /// The frames of the positions on their way, and of the latest.
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

    /// Their positions in the world, and their masses in the frame's unit.
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
