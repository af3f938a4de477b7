//! A sender and a receiver joined by a scripted pipe: traces to read, and properties.

mod endpoints;
mod pipe;
mod properties;
mod recovery_traces;
mod window_traces;
