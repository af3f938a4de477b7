//! The device's side of vhost-user: what each request does, and frames in and out.
//!
//! Notifications go through the connection itself: the guest's kicks are requests that are answered when
//! they have been seen to, and the device's calls are requests that the guest answers when it has noted
//! the interrupt. Between the two no time passes.

use super::message::{self, Header, MessageError, Request};
use super::ring::{Ring, RingError};
use crate::memory::Regions;
use crate::socket::{read_with_files, send_with_files};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Features of a virtio network device: a MAC address of its own; of any device: event index, version
/// 1; of vhost-user: it has features of the protocol. No checksums and no segmentation: frames are those
/// of the wire.
const MAC: u64 = 1 << 5;
const EVENT_INDEX: u64 = 1 << 29;
const PROTOCOL: u64 = 1 << 30;
const VERSION_1: u64 = 1 << 32;
const FEATURES: u64 = MAC | EVENT_INDEX | PROTOCOL | VERSION_1;

/// Features of the protocol: answers to all requests, the device's own requests, configuration,
/// notifications as requests.
const REPLY_ACK: u64 = 1 << 3;
const OWN_REQUESTS: u64 = 1 << 5;
const CONFIG: u64 = 1 << 9;
const IN_BAND: u64 = 1 << 14;
const PROTOCOL_FEATURES: u64 = REPLY_ACK | OWN_REQUESTS | CONFIG | IN_BAND;

/// Bytes of the header that every frame has in the rings (1.2, section 5.1.6, with `num_buffers`).
pub const FRAME_HEADER: usize = 12;

/// The rings: frames to the guest, and from it.
pub const TO_GUEST: usize = 0;
/// See [`TO_GUEST`].
pub const FROM_GUEST: usize = 1;

/// What is wrong with a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A ring that the device does not have, or of a length that none may have.
    #[error(
        "ring {ring} with {entries} entries; rings 0 and 1 with a power of two up to 32768 expected"
    )]
    NoRing {
        /// The ring.
        ring: u32,
        /// Its entries, if they are what is wrong.
        entries: u32,
    },
    /// The guest does without a feature that is needed.
    #[error("the guest's kernel does without features {0:#x}, which are needed")]
    Features(u64),
    /// An answer to something else.
    #[error("the guest answered request {0} where it was called for its rings")]
    Answer(u32),
    /// The system.
    #[error(transparent)]
    System(#[from] std::io::Error),
}

/// What a request was, for whoever serves the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// It has been answered.
    Done,
    /// There is something in this ring; it waits for [`Device::answer_kick`].
    Kick(usize),
    /// The guest has closed the connection.
    Closed,
}

/// A device.
#[derive(Debug)]
pub struct Device {
    socket: UnixStream,
    mac: [u8; 6],
    rings: [Ring; 2],
    memory: Regions,
    /// Where the device's own requests go.
    calls: Option<UnixStream>,
    kick: Header,
}

impl Device {
    /// A device with this address, for the guest at the other end of `socket`.
    #[must_use]
    pub fn new(socket: UnixStream, mac: [u8; 6]) -> Device {
        let kick = Header { request: 0, reply: false, need_reply: false, size: 0 };
        let (rings, memory) = (Default::default(), Regions::default());
        Device { socket, mac, rings, memory, calls: None, kick }
    }

    /// The connection by which the guest makes requests.
    #[must_use]
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Whether frames can be handed to the guest.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.calls.is_some() && self.rings.iter().all(|ring| ring.entries > 0)
    }

    /// Reads the guest's next request and does what it says.
    ///
    /// # Errors
    /// If the request makes no sense, or the system refuses.
    pub fn serve(&mut self) -> Result<Served, DeviceError> {
        let (mut bytes, mut files) = ([0; message::HEADER], Vec::new());
        if !read_with_files(&self.socket, &mut bytes, &mut files)? {
            return Ok(Served::Closed);
        }
        let header = Header::parse(bytes)?;
        let mut payload = vec![0; header.size];
        if header.size > 0 && !read_with_files(&self.socket, &mut payload, &mut files)? {
            return Ok(Served::Closed);
        }
        let request = Request::parse(header.request, &payload)?;
        if let Request::VringKick { ring } = request {
            self.kick = header;
            return Ok(Served::Kick(self.ring(ring)?));
        }
        let answer = match self.obey(request, files)? {
            Some(answer) => Some(answer),
            None if header.need_reply => Some(message::answer(header.request, &[0; 8])),
            None => None,
        };
        if let Some(answer) = answer {
            send_with_files(&self.socket, &answer, &[])?;
        }
        Ok(Served::Done)
    }

    /// Lets the guest go on that has kicked.
    ///
    /// # Errors
    /// The system's.
    pub fn answer_kick(&mut self) -> Result<(), DeviceError> {
        if self.kick.need_reply {
            let answer = message::answer(self.kick.request, &[0; 8]);
            send_with_files(&self.socket, &answer, &[])?;
        }
        Ok(())
    }

    fn ring(&self, ring: u32) -> Result<usize, DeviceError> {
        match ring {
            0 | 1 => Ok(ring as usize),
            _ => Err(DeviceError::NoRing { ring, entries: 0 }),
        }
    }

    /// Does what a request says; its answer, if it has one of its own.
    fn obey(
        &mut self,
        request: Request,
        files: Vec<OwnedFd>,
    ) -> Result<Option<Vec<u8>>, DeviceError> {
        match request {
            Request::GetFeatures => {
                return Ok(Some(message::answer(1, &FEATURES.to_ne_bytes())));
            }
            Request::GetProtocolFeatures => {
                return Ok(Some(message::answer(15, &PROTOCOL_FEATURES.to_ne_bytes())));
            }
            Request::GetConfig { size } => {
                return Ok(Some(message::config_answer(size, &self.mac)));
            }
            Request::SetOwner | Request::SetVringEnable { .. } | Request::VringKick { .. } => {}
            Request::SetFeatures(features) => needs(features, VERSION_1 | EVENT_INDEX)?,
            Request::SetProtocolFeatures(features) => needs(features, PROTOCOL_FEATURES)?,
            Request::SetMemTable(regions) => self.memory = Regions::new(&regions, &files)?,
            Request::SetSlaveReqFd => self.calls = Some(only(files)?.into()),
            Request::SetVringNum { ring, entries } => {
                let at = self.ring(ring)?;
                let fits = entries.is_power_of_two() && entries <= 1 << 15;
                if !fits {
                    return Err(DeviceError::NoRing { ring, entries });
                }
                self.rings[at] = Ring::new(entries as u16);
            }
            Request::SetVringBase { ring, base } => {
                let at = self.ring(ring)?;
                self.rings[at].begin_at(base as u16);
            }
            Request::SetVringAddr { ring, descriptors, used, available } => {
                let at = self.ring(ring)?;
                let ring = &mut self.rings[at];
                (ring.descriptors, ring.used, ring.available) = (descriptors, used, available);
            }
        }
        Ok(None)
    }

    /// Takes the next frame that the guest sends. Gives what [`Device::sent`] wants to have.
    ///
    /// # Errors
    /// If the ring says nonsense.
    pub fn take(&mut self) -> Result<Option<(u16, Vec<u8>)>, DeviceError> {
        let mut frame = Vec::with_capacity(1600);
        let ring = &mut self.rings[FROM_GUEST];
        let Some(token) = ring.take_sent(&self.memory, &mut frame)? else {
            ring.ask_for_kick(&self.memory)?;
            return Ok(None);
        };
        frame.drain(..FRAME_HEADER.min(frame.len()));
        Ok(Some((token, frame)))
    }

    /// A frame that was taken has left: its buffer is the guest's again.
    ///
    /// # Errors
    /// If the ring says nonsense.
    pub fn sent(&mut self, token: u16) -> Result<(), DeviceError> {
        Ok(self.rings[FROM_GUEST].give_back(&self.memory, token, 0)?)
    }

    /// Hands a frame to the guest. `false`: it has no buffer for it now.
    ///
    /// # Errors
    /// If the ring says nonsense, or the frame is longer than the guest's buffers.
    pub fn put(&mut self, frame: &[u8]) -> Result<bool, DeviceError> {
        let mut bytes = Vec::with_capacity(FRAME_HEADER + frame.len());
        bytes.extend([0; FRAME_HEADER]);
        // One buffer holds all of it.
        bytes[10] = 1;
        bytes.extend(frame);
        Ok(self.rings[TO_GUEST].fill(&self.memory, &bytes)?)
    }

    /// Interrupts the guest for a ring, if it wants to know of something new there. Where it does,
    /// it answers: that comes to the connection that this gives, and [`Device::called`] reads it.
    ///
    /// # Errors
    /// If the ring says nonsense, or the guest has gone.
    pub fn call(&mut self, ring: usize) -> Result<Option<&UnixStream>, DeviceError> {
        let Some(calls) = &self.calls else { return Ok(None) };
        let called = &mut self.rings[ring];
        if called.entries == 0 || !called.wants_call(&self.memory)? {
            return Ok(None);
        }
        send_with_files(calls, &message::call(ring as u32), &[])?;
        Ok(Some(calls))
    }

    /// Reads the guest's answer to an interrupt: it has noted that.
    ///
    /// # Errors
    /// If it answers something else, or has gone.
    pub fn called(&mut self) -> Result<(), DeviceError> {
        let Some(mut calls) = self.calls.as_ref() else { return Ok(()) };
        let mut answer = [0; message::HEADER + 8];
        calls.read_exact(&mut answer)?;
        let [header @ .., _, _, _, _, _, _, _, _] = answer;
        let header = Header::parse(header)?;
        if !header.reply || header.request != 4 {
            return Err(DeviceError::Answer(header.request));
        }
        Ok(())
    }
}

fn needs(features: u64, needed: u64) -> Result<(), DeviceError> {
    let missing = needed & !features;
    if missing == 0 { Ok(()) } else { Err(DeviceError::Features(missing)) }
}

/// The file that comes with a request for one.
fn only(mut files: Vec<OwnedFd>) -> Result<OwnedFd, DeviceError> {
    files.pop().ok_or(DeviceError::Message(MessageError::Payload { request: 21, found: 0 }))
}
