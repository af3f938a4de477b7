//! Stream sockets whose messages may come with files.

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Read, Result};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The most files that come with one message: a region of memory each.
const MOST_FILES: usize = 8;

/// Reads as many bytes as `into` has, and the files that come with the first of them. `false`: the
/// other end has closed.
///
/// # Errors
/// If it closes in the middle, or the system's.
pub fn read_with_files(
    socket: &UnixStream,
    into: &mut [u8],
    files: &mut Vec<OwnedFd>,
) -> Result<bool> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_FILES))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut buffers = [IoSliceMut::new(into)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        match rustix::net::recvmsg(socket, &mut buffers, &mut beside, flags) {
            Err(rustix::io::Errno::INTR) => {}
            // What a process sends that is killed may be lost with the connection.
            Err(rustix::io::Errno::CONNRESET) => return Ok(false),
            other => break other?.bytes,
        }
    };
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    if got == 0 {
        return Ok(false);
    }
    let mut socket = socket;
    match socket.read_exact(&mut into[got..]) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(false),
        other => other.map(|()| true),
    }
}

/// Sends bytes with files.
///
/// # Errors
/// If the other end has closed, or the system's.
pub fn send_with_files(socket: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_FILES))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(Error::other("too many files for one message"));
    }
    let sent =
        rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL)?;
    if sent != bytes.len() {
        return Err(Error::from(ErrorKind::WriteZero));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    /// Breaks if a file is lost on its way, a message is cut at what was there at first, or an end is
    /// taken for bytes.
    #[test]
    fn bytes_and_files() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let file = crate::memory::memory_file("test", 8).unwrap();
        send_with_files(&theirs, b"ab", &[file.as_fd(), file.as_fd()]).unwrap();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            theirs.write_all(b"cd").unwrap();
        });
        let (mut bytes, mut files) = ([0; 4], Vec::new());
        assert!(read_with_files(&ours, &mut bytes, &mut files).unwrap());
        assert_eq!((&bytes, files.len()), (b"abcd", 2));
        assert_eq!(rustix::fs::fstat(&files[1]).unwrap().st_size, 8);
        writer.join().unwrap();
        assert!(!read_with_files(&ours, &mut bytes, &mut files).unwrap());
    }

    /// Breaks if half a message is taken for one.
    #[test]
    fn an_end_in_the_middle() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"ab").unwrap();
        drop(theirs);
        assert!(read_with_files(&ours, &mut [0; 4], &mut Vec::new()).is_err());
    }
}
