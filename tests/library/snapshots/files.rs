//! The file system: atomic writes, and clear errors for unreadable files.

use std::fs;
use std::path::Path;

use gravitile::error::Error;
use gravitile::snapshot::{ReadOptions, Snapshot, WriteOptions, read, read_with, write};

use super::{six, spec};

fn read_as(path: impl AsRef<Path>, format: &str) -> Result<Snapshot, Error> {
    read_with(path.as_ref(), &ReadOptions { format: Some(format.into()), ..ReadOptions::default() })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn extension_selects_format_and_content_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in [
        ("a.gvt", "gravitile"),
        ("a.csv", "csv"),
        ("a.TXT", "text"),
        ("a.bin", "tipsy"),
        ("a.g2", "gadget2"),
    ] {
        let path = folder.path().join(name);
        write(&path, &six(), &WriteOptions::default()).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back.bodies.len(), 6);
        assert_eq!(back, read_as(&path, format).unwrap());
        // The content decides, not the name.
        let misnamed = folder.path().join("b.gvt");
        fs::copy(&path, &misnamed).unwrap();
        assert_eq!(back, read(&misnamed).unwrap());
    }
    let text = read_as(folder.path().join("a.csv"), "tipsy").unwrap_err().to_string();
    assert!(text.contains("a.csv: is not a tipsy file"), "{text}");
    assert!(matches!(read_as(folder.path().join("a.csv"), "hdf5"), Err(Error::Unknown { .. })));
}

#[test]
fn failed_write_keeps_the_old_file_and_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tipsy");
    write(&path, &six(), &WriteOptions::default()).unwrap();
    let before = fs::read(&path).unwrap();
    let mut broken = six();
    broken.bodies.mass[3] = -1.0;
    let error = write(&path, &broken, &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a.tipsy: cannot be written: body 3"), "{error}");
    broken.bodies.mass[3] = 1e300;
    assert!(write(&path, &broken, &WriteOptions::default()).is_err());
    broken.bodies.mass[3] = 1.0;
    broken.extra.insert("short".into(), vec![1.0].into());
    let error = write(&path, &broken, &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("column 'short' is 1, but must be 6"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names(folder.path()), ["a.tipsy"]);

    let mut other = six();
    other.time = 2.0;
    write(&path, &other, &WriteOptions::default()).unwrap();
    assert_eq!(read(&path).unwrap().time, 2.0);
    assert_eq!(names(folder.path()), ["a.tipsy"]);
}

#[test]
fn impossible_targets_are_one_line_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let check = |path: &Path, words: &str| {
        let error = write(path, &six(), &spec("gravitile")).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    };
    check(&folder.path().join("none/a.gvt"), "there is no folder");
    check(folder.path(), "is not an ordinary file");
    check(&file.join("a.gvt"), "file/a.gvt");
    check(Path::new(""), "file");
    let read_only = folder.path().join("guarded.gvt");
    fs::write(&read_only, "x").unwrap();
    let mut permissions = fs::metadata(&read_only).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&read_only, permissions).unwrap();
    check(&read_only, "is write-protected");
    assert_eq!(names(folder.path()), ["file", "guarded.gvt"]);
}

#[cfg(unix)]
#[test]
fn links_devices_and_permissions_are_preserved() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.gvt"), folder.path().join("link.gvt"));
    fs::write(&real, "old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    write(&link, &six(), &WriteOptions::default()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&real).unwrap(), six());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    // Through a link, so that a fault would replace the link and not the device.
    let null = folder.path().join("null.gvt");
    symlink("/dev/null", &null).unwrap();
    let error = write(&null, &six(), &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("not an ordinary file"), "{error}");
    let error = read(&null).unwrap_err().to_string();
    assert!(error.contains("not an ordinary file"), "{error}");
}

#[test]
fn unreadable_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let check = |path: &Path, words: &str| {
        let error = read(path).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(&path.display().to_string()), "{error}");
    };
    check(folder.path(), "is a folder");
    check(&folder.path().join("none.gvt"), "cannot read");
    let empty = folder.path().join("empty.csv");
    fs::write(&empty, "").unwrap();
    check(&empty, "is empty");
    // An unknown large file is refused without reading it in full, which would take minutes.
    let large = folder.path().join("large.iso");
    fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    check(&large, "not a snapshot of a known kind");
}
