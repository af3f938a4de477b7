//! A sender and a receiver joined by a scripted pipe: traces to read, and properties.

mod pipe;
mod properties;
mod receiver;
mod recovery_traces;
mod sender;
mod window_traces;
