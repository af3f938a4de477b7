//! Which kernel there is, and what it is.

use crate::guest::LinuxError;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::SystemTime;

/// A kernel with the guests' files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed {
    /// The kernel's program.
    pub kernel: PathBuf,
    /// The guests' files: an archive (cpio).
    pub files: PathBuf,
    /// Its version and a hash over both files: guests with the same do the same.
    pub identity: String,
}

/// Where `make linux` of the build that this program is of puts its kernel.
const FOLDER: &str = match option_env!("CARGO_TARGET_DIR") {
    Some(folder) => folder,
    None => concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"),
};

const BUILDS_A_KERNEL: &str = "`make linux`, which builds it in some six minutes (LEAFSPINE_LINUX=path takes a kernel of your own)";

/// The kernel that `make linux` has built (or that is in the folder of `LEAFSPINE_LINUX_FOLDER`), or that
/// of `LEAFSPINE_LINUX`; and the guests' files beside the former.
///
/// # Errors
/// If one is not there.
pub fn installed() -> Result<Installed, LinuxError> {
    let given = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let folder = given("LEAFSPINE_LINUX_FOLDER").unwrap_or_else(|| Path::new(FOLDER).join("linux"));
    in_folder(&folder, given("LEAFSPINE_LINUX"))
}

fn in_folder(folder: &Path, own: Option<PathBuf>) -> Result<Installed, LinuxError> {
    // Without the name of a kernel of one's own it would build another one first.
    let makes_files = match &own {
        Some(own) => {
            let own = own.display();
            format!("`LEAFSPINE_LINUX={own} make linux`, which checks that kernel and makes them")
        }
        None => "`make linux`, which makes them".to_owned(),
    };
    let kernel = own.unwrap_or_else(|| folder.join("kernel"));
    let files = folder.join("guest.cpio");
    for (what, path, remedy) in [
        ("the Linux kernel is not there", &kernel, BUILDS_A_KERNEL.to_owned()),
        ("the guests' files are not there", &files, makes_files),
    ] {
        if !path.is_file() {
            return Err(LinuxError::Missing { what, path: path.display().to_string(), remedy });
        }
    }
    let whole = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let (kernel, files) = (whole(kernel), whole(files));
    let identity = identity(&kernel, &files).map_err(|error| {
        let doing = format!("reading {}", kernel.display());
        LinuxError::System { doing, error }
    })?;
    Ok(Installed { kernel, files, identity })
}

type Seen = HashMap<[(PathBuf, SystemTime); 2], String>;

/// Files that have been read, as they were then.
static READ: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);

fn identity(kernel: &Path, files: &Path) -> std::io::Result<String> {
    let of = |path: &Path| Ok::<_, std::io::Error>((path.to_owned(), path.metadata()?.modified()?));
    let key = [of(kernel)?, of(files)?];
    let mut read = READ.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = read.get(&key) {
        return Ok(known.clone());
    }
    let (program, archive) = (std::fs::read(kernel)?, std::fs::read(files)?);
    let hash = fnv(fnv(0xcbf2_9ce4_8422_2325, &program), &archive);
    let identity = format!("{}-{hash:016x}", version(&program).unwrap_or("linux"));
    read.insert(key, identity.clone());
    Ok(identity)
}

/// FNV-1a, over words: six megabytes in some milliseconds.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).fold(hash, |hash, chunk| {
        (hash ^ word(chunk)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}

/// What follows the words that every kernel has in it.
fn version(program: &[u8]) -> Option<&str> {
    const BEFORE: &[u8] = b"Linux version ";
    let at = program.windows(BEFORE.len()).position(|window| window == BEFORE)? + BEFORE.len();
    let rest = &program[at..program.len().min(at + 64)];
    let end = rest.iter().position(|c| !(c.is_ascii_alphanumeric() || b".-+_".contains(c)))?;
    std::str::from_utf8(&rest[..end]).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if another kernel, or another program in the guests, passes for the same.
    #[test]
    fn an_identity_is_of_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let put = |kernel: &str, files: &str| {
            let folder = tempfile::tempdir_in(folder.path()).unwrap().keep();
            std::fs::write(folder.join("kernel"), kernel).unwrap();
            std::fs::write(folder.join("guest.cpio"), files).unwrap();
            in_folder(&folder, None).unwrap().identity
        };
        let kernel = "\0Linux version 6.12.48 (leafspine@";
        let one = put(kernel, "files");
        assert!(one.starts_with("6.12.48-") && one.len() == 24, "{one}");
        assert_eq!(put(kernel, "files"), one);
        assert_ne!(put(&format!("{kernel}x"), "files"), one);
        assert_ne!(put(kernel, "filet"), one);
        assert!(put("no version", "files").starts_with("linux-"));
    }

    /// Breaks if what is missing is not named, with what to do about it: of a kernel of one's own
    /// that is more than `make linux`.
    #[test]
    fn what_is_missing_is_named() {
        let error = in_folder(Path::new("/nowhere"), None).unwrap_err().to_string();
        assert!(error.contains("/nowhere/kernel") && error.contains("make linux"), "{error}");
        let error = in_folder(Path::new("/nowhere"), Some("/bin/sh".into())).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("files are not there: /nowhere/guest.cpio"), "{error}");
        assert!(error.contains("`LEAFSPINE_LINUX=/bin/sh make linux`"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kernel"), "").unwrap();
        let error = in_folder(folder.path(), None).unwrap_err().to_string();
        assert!(error.contains("guest.cpio; run `make linux`, which makes them"), "{error}");
    }
}
