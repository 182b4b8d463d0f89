//! Compiled kernels from one start of the program to the next: what a driver makes of them, in a file per adapter and
//! driver. Vulkan only; elsewhere the system does it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::adapter::AdapterInfo;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Says where devices that are opened from now on keep what they compile; the library itself keeps nothing. The
/// first word counts.
pub fn keep_kernels_in(folder: impl Into<PathBuf>) {
    let _ = FOLDER.set(folder.into());
}

const MAGIC: [u8; 8] = *b"gvtkern1";
/// Magic, checksum of what follows.
const HEADER: usize = 12;
/// A file that has grown beyond is begun anew: kernels that nobody asks for any more go with it.
const MOST_BYTES: usize = 64 << 20;

/// A device's compiled kernels and their file.
#[derive(Debug)]
pub(super) struct KernelCache {
    cache: wgpu::PipelineCache,
    file: PathBuf,
    has_grown: AtomicBool,
}

impl KernelCache {
    /// The feature that it takes, where kernels are to be kept.
    pub fn feature() -> wgpu::Features {
        let is_wanted = FOLDER.get().is_some();
        if is_wanted { wgpu::Features::PIPELINE_CACHE } else { wgpu::Features::empty() }
    }

    /// What earlier starts left for this device. `None` where nothing is to be kept or cannot be. A damaged file is
    /// as good as none; one of another driver has another name.
    pub fn open(device: &wgpu::Device, adapter: &AdapterInfo) -> Option<Self> {
        let folder = FOLDER.get()?;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let of = format!("{} {} {}", adapter.name, adapter.backend, adapter.driver);
        let file = folder.join(format!("kernels-{:08x}.bin", crc32fast::hash(of.as_bytes())));
        let data = read(&file);
        // SAFETY: the data's checksum is that of what such a cache gave earlier, and wgpu and the driver compare
        // adapter and version themselves.
        let cache = unsafe {
            device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
                label: Some("kernels"),
                data: data.as_deref(),
                fallback: true,
            })
        };
        let kept = data.map_or(0, |data| data.len());
        log::info!("compiled kernels: {kept} bytes kept in {}", file.display());
        Some(Self { cache, file, has_grown: AtomicBool::new(false) })
    }

    /// For a pipeline that is made now.
    pub fn for_next(&self) -> &wgpu::PipelineCache {
        self.has_grown.store(true, Ordering::Relaxed);
        &self.cache
    }

    /// Writes the file whole, if anything was compiled since it was read. What cannot be written is compiled again
    /// at the next start.
    pub fn keep(&self) {
        if !self.has_grown.swap(false, Ordering::Relaxed) {
            return;
        }
        let Some(data) = self.cache.get_data() else { return };
        if read(&self.file).is_some_and(|kept| kept == data) {
            return;
        }
        if let Err(problem) = write(&self.file, &data) {
            log::info!("{problem}: kernels are compiled again at the next start");
        }
    }
}

/// The data of a file that is whole.
fn read(file: &Path) -> Option<Vec<u8>> {
    let length = std::fs::metadata(file).ok()?.len();
    if length > (HEADER + MOST_BYTES) as u64 {
        return None;
    }
    let mut bytes = std::fs::read(file).ok()?;
    let is_whole = bytes.len() > HEADER
        && bytes[..8] == MAGIC
        && bytes[8..HEADER] == crc32fast::hash(&bytes[HEADER..]).to_le_bytes();
    is_whole.then(|| bytes.split_off(HEADER))
}

#[cfg(target_arch = "wasm32")]
fn write(_: &Path, _: &[u8]) -> crate::error::Result<()> {
    // Nobody names a folder in a browser, which keeps compiled kernels itself.
    Ok(())
}

#[cfg(not(target_arch = "wasm32"))]
fn write(file: &Path, data: &[u8]) -> crate::error::Result<()> {
    let mut bytes = Vec::with_capacity(HEADER + data.len());
    bytes.extend(MAGIC);
    bytes.extend(crc32fast::hash(data).to_le_bytes());
    bytes.extend(data);
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .map_err(|error| crate::error::Error::io("create the folder", folder, error))?;
    crate::files::replace(file, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("kernels.bin");
        assert_eq!(read(&file), None);
        let data: Vec<u8> = (0..1000).map(|i| (i * 7 % 251) as u8).collect();
        write(&file, &data).unwrap();
        assert_eq!(read(&file).unwrap(), data);
        let whole = std::fs::read(&file).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..HEADER], &[][..], &whole[4..]] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(read(&file), None);
        }
        for at in [0, 9, HEADER, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            std::fs::write(&file, flipped).unwrap();
            assert_eq!(read(&file), None, "byte {at}");
        }
    }
}
