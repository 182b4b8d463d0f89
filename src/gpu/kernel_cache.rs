//! A cache of compiled kernels across starts of the program: one file per adapter and driver.
//! Vulkan only; other systems cache by themselves.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::adapter::AdapterInfo;
use crate::error::{Error, Result};
use crate::files;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Sets where devices opened from now on store what they compile; by default the library stores
/// nothing. Only the first call has an effect.
pub fn keep_kernels_in(folder: impl Into<PathBuf>) {
    let _ = FOLDER.set(folder.into());
}

const MAGIC: [u8; 8] = *b"gvtkern1";
/// Length of the header: magic, and checksum of what follows.
const HEADER: usize = 12;
/// A file larger than this is restarted, which drops kernels no longer in use.
const MOST_BYTES: usize = 64 << 20;

/// The compiled kernels of a device, and their file.
#[derive(Debug)]
pub(super) struct KernelCache {
    cache: wgpu::PipelineCache,
    file: PathBuf,
    has_grown: AtomicBool,
}

impl KernelCache {
    /// The feature it requires, if kernels are to be stored.
    pub fn feature() -> wgpu::Features {
        let is_enabled = FOLDER.get().is_some();
        if is_enabled { wgpu::Features::PIPELINE_CACHE } else { wgpu::Features::empty() }
    }

    /// Opens what earlier starts stored for this device. `None` if nothing is or can be stored. A
    /// damaged file is ignored; another driver has another file name.
    pub fn open(device: &wgpu::Device, adapter: &AdapterInfo) -> Option<Self> {
        let folder = FOLDER.get()?;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let of = format!("{} {} {}", adapter.name, adapter.backend, adapter.driver);
        let file = folder.join(format!("kernels-{:08x}.bin", crc32fast::hash(of.as_bytes())));
        let data = read(&file);
        // SAFETY: the checksum shows that the data came from such a cache, and wgpu and the driver
        // compare adapter and version themselves.
        let cache = unsafe {
            device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
                label: Some("kernels"),
                data: data.as_deref(),
                fallback: true,
            })
        };
        let stored = data.map_or(0, |data| data.len());
        log::info!("compiled kernels: {stored} bytes stored in {}", file.display());
        Some(Self { cache, file, has_grown: AtomicBool::new(false) })
    }

    /// The cache to pass to new pipelines.
    pub fn for_next(&self) -> &wgpu::PipelineCache {
        self.has_grown.store(true, Ordering::Relaxed);
        &self.cache
    }

    /// Writes the file as a whole if anything was compiled since it was read. If that fails,
    /// kernels are compiled again at the next start.
    pub fn store(&self) {
        if !self.has_grown.swap(false, Ordering::Relaxed) {
            return;
        }
        let Some(data) = self.cache.get_data() else { return };
        if read(&self.file).is_some_and(|stored| stored == data) {
            return;
        }
        if let Err(problem) = write(&self.file, &data) {
            log::info!("{problem}: kernels are compiled again at the next start");
        }
    }
}

/// The data of an intact file.
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

fn write(file: &Path, data: &[u8]) -> Result<()> {
    let mut bytes = Vec::with_capacity(HEADER + data.len());
    bytes.extend(MAGIC);
    bytes.extend(crc32fast::hash(data).to_le_bytes());
    bytes.extend(data);
    let folder = file.parent().unwrap_or(Path::new("."));
    files::make_folder(folder).map_err(|e| Error::io("create the folder", folder, e))?;
    files::replace(file, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_cache_file_is_ignored() {
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
