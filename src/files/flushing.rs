//! A file whose content goes to disk while more is written, so that the sync at the end finds
//! little left to do: systems otherwise begin with it only when gigabytes are waiting.

use std::fs::File;
use std::io::{Result, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Bytes after which the thread syncs what is written.
const DUE: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// Writes into `file` what `write` writes, and syncs it.
///
/// # Errors
/// Those of `write` and of the system.
pub(super) fn write_synced(
    file: &File,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let flushing = Flushing { file, scope, since: 0, thread: None };
        let mut buffered = std::io::BufWriter::new(flushing);
        write(&mut buffered)?;
        let flushing = buffered.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        // A failed sync is reported once, to the first call after it: here the thread's.
        flushing.finish()?;
        file.sync_all()
    })
}

struct Flushing<'scope, 'env> {
    file: &'env File,
    scope: &'scope Scope<'scope, 'env>,
    /// Bytes written since the last request to sync.
    since: usize,
    thread: Option<(SyncSender<()>, ScopedJoinHandle<'scope, Result<()>>)>,
}

impl Flushing<'_, '_> {
    fn finish(self) -> Result<()> {
        let Some((due, thread)) = self.thread else { return Ok(()) };
        drop(due);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Write for Flushing<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut file = self.file;
        let written = file.write(bytes)?;
        self.since += written;
        if self.since >= DUE {
            self.since = 0;
            if self.thread.is_none() {
                let (due, requests) = sync_channel(1);
                let file = self.file;
                let sync = move || requests.iter().try_for_each(|()| file.sync_data());
                // Without a thread all is synced at the end.
                let thread = Builder::new().spawn_scoped(self.scope, sync);
                self.thread = thread.ok().map(|thread| (due, thread));
            }
            if let Some((due, _)) = &self.thread {
                // Full: a request is pending. Closed: a sync has failed, which `finish` reports.
                let _ = due.try_send(());
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
