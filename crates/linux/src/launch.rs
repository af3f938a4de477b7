//! Processes of guests: what they see of this machine, and that none outlives the run. This is the
//! unsafe part of the crate, with [`crate::memory`].
//!
//! A guest repeats to the nanosecond if nothing of this machine leaks into it: not its random numbers,
//! not where things are in memory, not the environment, not the paths of files.
#![allow(unsafe_code, reason = "what is done between fork and exec")]

use std::fs::File;
use std::io::{Error, Read, Result, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A guest's process. It and all that it has started end when this is dropped, or when the thread that
/// started it ends in whatever way.
#[derive(Debug)]
pub struct Process {
    child: Child,
    console: PathBuf,
}

/// What a process is started with.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// The program: a User-Mode Linux kernel.
    pub kernel: &'a Path,
    /// Its command line, in the order in which it enters the guest's entropy.
    pub arguments: &'a [String],
    /// Where it runs: sockets and files are named from here.
    pub folder: &'a Path,
}

impl Process {
    /// Starts a kernel. What it writes goes to the file `console` in its folder.
    ///
    /// # Errors
    /// The system's.
    pub fn start(start: &Start<'_>) -> Result<Process> {
        let console = start.folder.join("console");
        let written = File::create(&console)?;
        let mut command = Command::new(start.kernel);
        command
            .arg0("linux")
            .args(start.arguments)
            .current_dir(start.folder)
            .env_clear()
            // Programs of the guest share memory with the kernel's own, in which the C library would
            // register its restartable sequences.
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            // The guest's memory is a file there, which is removed as soon as it is open.
            .env("TMPDIR", ".")
            .env("HOME", ".")
            // Ctrl-C at the terminal is for leafspine alone.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(written.try_clone()?)
            .stderr(written);
        let parent = std::process::id();
        // SAFETY: between fork and exec `confine` makes system calls alone: it allocates nothing and
        // takes no lock.
        unsafe { command.pre_exec(move || confine(parent)) };
        let child = command.spawn().map_err(in_container)?;
        Ok(Process { child, console })
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The system's.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// The last lines that it wrote.
    #[must_use]
    pub fn last_lines(&self, lines: usize) -> String {
        const MOST: u64 = 8192;
        let mut text = Vec::new();
        if let Ok(mut file) = File::open(&self.console) {
            let from = file.metadata().map_or(0, |data| data.len().saturating_sub(MOST));
            let _ = file.seek(SeekFrom::Start(from)).and_then(|_| file.read_to_end(&mut text));
        }
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> =
            text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// Its number in the system.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its programs are processes of its group, and die with it (PR_SET_PDEATHSIG is the kernel's own
        // doing there), but not all at once.
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why a process may not make itself a guest: what containers refuse by default.
fn in_container(error: Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EPERM) => Error::new(
            error.kind(),
            "personality(2) or seccomp(2) is refused here, as some containers do (Docker: --security-opt seccomp=unconfined)",
        ),
        _ => error,
    }
}

/// Done in the new process before it becomes the guest.
fn confine(parent: u32) -> Result<()> {
    let check = |result: i64| if result < 0 { Err(Error::last_os_error()) } else { Ok(()) };
    // SAFETY: system calls with numbers for arguments, and with pointers to what lives until they return.
    unsafe {
        check(i64::from(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)))?;
        // Whoever started it may have ended before that.
        if libc::getppid() as u32 != parent {
            return Err(Error::from_raw_os_error(libc::ESRCH));
        }
        check(i64::from(libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong)))?;
        check(i64::from(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))?;
        refuse_call(libc::SYS_getrandom, libc::ENOSYS)
    }
}

/// From now on this thread, and what it starts, gets this error from a system call (seccomp(2)). Of
/// `getrandom` that it is not there: this machine's random numbers do not get into the guest's
/// pool.
///
/// # Safety
/// None of the caller's own: one system call, with a pointer to what lives until it returns.
unsafe fn refuse_call(call: i64, error: i32) -> Result<()> {
    let mut filter = refusal(call, error);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: as above.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// A filter of system calls by which one has this error. All others are allowed.
fn refusal(call: i64, error: i32) -> [libc::sock_filter; 4] {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    [
        // The system call's number is the first field of `struct seccomp_data`.
        step(LOAD, 0, 0, 0),
        step(EQUAL, 0, 1, call as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn shell(folder: &Path, script: &str) -> Process {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let kernel = Path::new("/bin/sh");
        Process::start(&Start { kernel, arguments: &arguments, folder }).unwrap()
    }

    fn wait(process: &mut Process) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = process.ended().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Breaks if a guest sees this machine's environment, or places in memory that differ.
    #[test]
    fn nothing_leaks_in() {
        let folder = tempfile::tempdir().unwrap();
        let script = "cat /proc/self/personality; grep -E 'Seccomp:|NoNewPrivs' /proc/self/status; env | sort";
        assert!(wait(&mut { shell(folder.path(), script) }).success());
        let mut process = shell(folder.path(), script);
        wait(&mut process);
        let said = process.last_lines(20);
        let begins =
            ["00040000", "NoNewPrivs:\t1", "Seccomp:\t2", "GLIBC_TUNABLES=glibc.pthread.rseq=0"];
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[..4], begins, "{said}");
        assert!(
            lines[4..].iter().all(|line| {
                ["HOME=.", "TMPDIR=."].contains(line)
                    || line.starts_with("PWD=")
                    || line.starts_with("_=")
                    || line.starts_with("OLDPWD")
                    || line.starts_with("SHLVL=")
            }),
            "{said}"
        );
    }

    /// Breaks if who runs in a container that refuses `personality` reads of nothing but an
    /// operation that is not permitted.
    #[test]
    fn what_a_container_refuses_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_owned();
        let refused = std::thread::spawn(move || {
            // SAFETY: system calls that change this thread alone.
            unsafe {
                assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
                refuse_call(libc::SYS_personality, libc::EPERM).unwrap();
            }
            let start = Start { kernel: Path::new("/bin/sh"), arguments: &[], folder: &place };
            Process::start(&start).unwrap_err().to_string()
        });
        let said = refused.join().unwrap();
        assert!(said.contains("personality(2)") && said.contains("seccomp=unconfined"), "{said}");
    }

    /// Breaks if the last lines are others than the last, or empty ones among them.
    #[test]
    fn the_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(folder.path(), "seq 1 5000; echo; echo end >&2");
        wait(&mut process);
        assert_eq!(process.last_lines(3), "4999\n5000\nend");
    }

    /// Breaks if what a guest has started runs on when it is dropped, or when a run panics.
    #[test]
    fn dropped_processes_end_with_their_children() {
        ends_with(drop);
        ends_with(|process| {
            let run = std::panic::AssertUnwindSafe(move || {
                let _held = process;
                panic!("as a run might");
            });
            let _ = std::panic::catch_unwind(run).unwrap_err();
        });
    }

    fn ends_with(end: impl FnOnce(Process)) {
        let folder = tempfile::tempdir().unwrap();
        let process = shell(folder.path(), "sleep 1000 & echo $!; wait");
        let begin = Instant::now();
        while process.last_lines(1).is_empty() && begin.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let child: u32 = process.last_lines(1).parse().unwrap();
        let own = process.id();
        end(process);
        let alive = |id: u32| {
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            !status.is_empty() && !status.contains("State:\tZ")
        };
        assert!(!alive(own));
        let begin = Instant::now();
        while alive(child) {
            assert!(begin.elapsed() < Duration::from_secs(30), "its child lives");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
