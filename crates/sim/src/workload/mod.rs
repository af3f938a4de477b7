//! Flows.
