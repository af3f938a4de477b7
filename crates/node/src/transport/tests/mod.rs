//! A sender and a receiver joined by a scripted pipe: traces to read, and properties.

mod flow;
mod kernel_acks;
mod kernel_losses;
mod kernel_pace;
mod kernel_recovery;
mod kernel_timeouts;
mod kernel_traces;
mod kernel_windows;
mod pipe;
mod properties;
mod rate_traces;
mod receiver;
mod recovery_traces;
mod sender;
mod stack_receiver;
mod stack_traces;
mod undo_traces;
mod window_traces;
