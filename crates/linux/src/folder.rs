//! A run's own folder for sockets and memory, and what others have left behind.

use std::fs::File;
use std::io::Result;
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "leafspine-linux-";
const LOCK: &str = "lock";

/// A folder that is gone with the run. Of a run that was killed it is removed by the next one.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    /// Locked as long as the run lives.
    _lock: File,
}

impl Folder {
    /// In memory, if programs may run from there and there is room for so many bytes.
    pub(crate) fn new(bytes: u64) -> Result<Folder> {
        let memory = Path::new("/dev/shm");
        if has_room(memory, bytes)
            && let Ok(folder) = Folder::within(memory)
        {
            return Ok(folder);
        }
        Folder::within(&std::env::temp_dir())
    }

    fn within(place: &Path) -> Result<Folder> {
        remove_left(place);
        loop {
            // By its number a process removes it that ends at once while guests boot.
            let prefix = format!("{PREFIX}{}-", std::process::id());
            let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(place)?;
            let lock = File::create(folder.path().join(LOCK))?;
            lock.lock()?;
            // Another run may have taken the lock between the two, and the folder for one that was left.
            if folder.path().join(LOCK).exists() {
                return Ok(Folder { folder, _lock: lock });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of runs that no longer live: their locks are free.
fn remove_left(place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // One that is just being made has no lock yet.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        // Held until the folder is gone, so that a run that is just making it waits, and sees that.
        if lock.try_lock().is_ok() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn has_room(place: &Path, bytes: u64) -> bool {
    use rustix::fs::StatVfsMountFlags;
    rustix::fs::statvfs(place).is_ok_and(|there| {
        there.f_bavail * there.f_frsize >= bytes
            && !there.f_flag.contains(StatVfsMountFlags::NOEXEC)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a killed run's folder stays for ever, or that of one which lives is removed.
    #[test]
    fn what_is_left_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let living = Folder::within(place.path()).unwrap();
        let left = place.path().join(format!("{PREFIX}left"));
        let other = place.path().join("other");
        for folder in [&left, &other] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join(LOCK), "").unwrap();
        }
        let next = Folder::within(place.path()).unwrap();
        assert!(!left.exists() && other.exists());
        assert!(living.path().exists() && next.path() != living.path());
        let name = living.path().file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("leafspine-linux-{}-", std::process::id())), "{name}");
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
