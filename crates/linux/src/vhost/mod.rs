//! A network device for a guest, by vhost-user: the guest's kernel connects to a socket, says where its
//! memory and rings are, and after that frames go through those without being copied by a kernel.

pub mod device;
pub mod message;
pub mod ring;

pub use device::{Device, DeviceError};
