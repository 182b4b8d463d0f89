//! A dialog for choosing a file, drawn with egui.

use std::path::{Path, PathBuf};

use gravitile::snapshot;

/// Lists files that can be opened, or all files.
#[derive(Default)]
pub struct Picker(Option<egui_file::FileDialog>);

impl Picker {
    /// Opens it.
    pub fn open(&mut self) {
        let dialog = egui_file::FileDialog::open_file()
            .title("Open a snapshot or scene")
            .show_rename(false)
            .show_new_folder(false)
            .show_files_filter(Box::new(may_be_bodies));
        #[cfg(unix)]
        let dialog = dialog
            .show_hidden_checkbox_text("All files".into())
            .with_fs(Box::new(all_or_some::Folders));
        let mut dialog = dialog;
        dialog.open();
        self.0 = Some(dialog);
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|dialog| dialog.visible())
    }

    /// Draws it.
    pub fn show(&mut self, context: &egui::Context) {
        let Some(shown) = &mut self.0 else { return };
        shown.show(context);
        if context.input(|input| input.key_pressed(egui::Key::Escape)) {
            self.0 = None;
        }
    }

    /// The picked file, once. Drops a dialog that was closed.
    pub fn picked(&mut self) -> Option<PathBuf> {
        let dialog = self.0.as_ref()?;
        let picked = dialog.selected().then(|| dialog.path().map(PathBuf::from)).flatten();
        if !dialog.visible() {
            self.0 = None;
        }
        picked
    }
}

/// Whether a file may be a scene or a snapshot, by its extension: many snapshots have none, or a
/// number.
fn may_be_bodies(path: &Path) -> bool {
    let Some(ending) = path.extension().map(|e| e.to_string_lossy().to_lowercase()) else {
        return true;
    };
    let mut known = snapshot::FORMATS.iter().flat_map(|format| format.extensions);
    ending == "toml"
        || known.any(|known| *known == ending)
        || ending.parse::<u64>().is_ok()
        || ending == "snap"
}

/// A file system for the dialog whose checkbox for hidden files shows all files.
#[cfg(unix)]
mod all_or_some {
    use std::io;
    use std::path::{Path, PathBuf};

    use egui_file::vfs::VfsFile;
    use egui_file::{Filter, Vfs};

    pub struct Folders;

    impl Vfs for Folders {
        // This dialog creates and renames no files.
        fn create_dir(&self, _: &Path) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Folders first, by name; then files that pass the filter, or with `all` every file.
        fn read_folder(
            &self,
            path: &Path,
            _: bool,
            filter: &Filter<PathBuf>,
            all: bool,
        ) -> io::Result<Vec<Box<dyn VfsFile>>> {
            let mut found = Vec::new();
            for entry in std::fs::read_dir(path)?.flatten() {
                let path = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                let Ok(about) = std::fs::metadata(&path) else { continue };
                let is_dir = about.is_dir();
                let is_shown = !name.starts_with('.') && (is_dir || filter(&path));
                if (is_dir || about.is_file()) && (all || is_shown) {
                    found.push(FolderEntry { path, name, is_dir, selected: false });
                }
            }
            found.sort_by(|a, b| b.is_dir.cmp(&a.is_dir).then_with(|| a.name.cmp(&b.name)));
            Ok(found.into_iter().map(|entry| Box::new(entry) as Box<dyn VfsFile>).collect())
        }
    }

    #[derive(Clone, Debug)]
    struct FolderEntry {
        path: PathBuf,
        name: String,
        is_dir: bool,
        selected: bool,
    }

    impl VfsFile for FolderEntry {
        fn is_file(&self) -> bool {
            !self.is_dir
        }

        fn is_dir(&self) -> bool {
            self.is_dir
        }

        fn path(&self) -> &Path {
            &self.path
        }

        fn selected(&self) -> bool {
            self.selected
        }

        fn set_selected(&mut self, selected: bool) {
            self.selected = selected;
        }

        fn get_file_name(&self) -> &str {
            &self.name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialog_lists_scenes_and_possible_snapshots() {
        for name in ["a.gvt", "b.TOML", "snapshot_012", "snap.0", "galaxy.bin", "c.csv"] {
            assert!(may_be_bodies(Path::new(name)), "{name}");
        }
        for name in ["film.apng", "report.pdf", "main.rs", "picture.png", "snapshot.gz"] {
            assert!(!may_be_bodies(Path::new(name)), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn all_files_are_listed_on_request() {
        use egui_file::Vfs;
        let folder = tempfile::tempdir().unwrap();
        for name in ["z.gvt", "notes.pdf", ".hidden"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        std::fs::create_dir(folder.path().join("snapdir")).unwrap();
        let filter: egui_file::Filter<PathBuf> = Box::new(may_be_bodies);
        let names = |all| -> Vec<String> {
            let found = all_or_some::Folders.read_folder(folder.path(), false, &filter, all);
            found.unwrap().iter().map(|file| file.get_file_name().to_owned()).collect()
        };
        assert_eq!(names(false), ["snapdir", "z.gvt"]);
        assert_eq!(names(true), ["snapdir", ".hidden", "notes.pdf", "z.gvt"]);
    }
}
