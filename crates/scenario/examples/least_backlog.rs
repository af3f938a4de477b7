//! A load balancer of one's own, against ECMP: `README.md` shows this file, and a test runs it.
//!
//! `cargo run --release -p leafspine-scenario --example least_backlog examples/quickstart.toml`

use leafspine_core::{PacketMeta, PortId, Span, Time, mix};
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::{Context, Paths, SwitchEnv};
use leafspine_sim::{Factories, Progress, Simulation};
use std::path::Path;

/// Every flowlet takes the port with the fewest bytes before it. One object a switch.
struct LeastBacklog {
    gap: Span,
    /// When each flow was last seen, and by which port it went; flows that collide share an entry.
    flowlets: Vec<(Time, PortId)>,
}

impl LoadBalancer for LeastBacklog {
    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let entry = mix(packet.entropy()) % self.flowlets.len() as u64;
        let (seen, mut port) = self.flowlets[entry as usize];
        if cx.now.since(seen) > self.gap || !paths.ports.contains(&port) {
            // From a random port on, so that equal ones are taken equally often.
            let first = cx.rng.below(paths.ports.len() as u64) as usize;
            let (head, tail) = paths.ports.split_at(first);
            let ahead = |port: &&PortId| {
                let backlog = cx.ports.backlog(**port);
                backlog.bytes + backlog.in_service
            };
            port = *tail.iter().chain(head).min_by_key(ahead).expect("there is a path");
        }
        self.flowlets[entry as usize] = (cx.now, port);
        port
    }
}

/// What takes the place of the scenario's own schemes: this balancer, at every switch.
pub(crate) fn ours() -> Factories<'static> {
    let never = (Time::ZERO, PortId(u16::MAX));
    let gap = Span::from_micros(50);
    let make = move |_: &SwitchEnv| -> Box<dyn LoadBalancer> {
        Box::new(LeastBacklog { gap, flowlets: vec![never; 1 << 16] })
    };
    Factories { balancer: Some(Box::new(make)), ..Factories::default() }
}

/// Mean flow completion time in us of the flows after the warm-up, in a scenario that runs until all have
/// ended.
pub(crate) fn mean_fct(scenario: &Path, schemes: &Factories<'_>) -> f64 {
    let text = std::fs::read_to_string(scenario).expect("a scenario file");
    let (name, folder) = (scenario.display().to_string(), scenario.parent().unwrap_or(scenario));
    let case = leafspine_scenario::single(&text, &name, folder).unwrap_or_else(|e| panic!("{e}"));
    let run = Simulation::with(&case.spec, schemes).unwrap_or_else(|e| panic!("{e}"));
    let flows = run.run(&Progress::default()).unwrap_or_else(|e| panic!("{e}")).flows;
    let first = flows.start_ps.partition_point(|start| *start < case.spec.measure.warmup.0);
    let counted = &flows.fct_ps[first..];
    counted.iter().sum::<u64>() as f64 / counted.len() as f64 / 1e6
}

fn main() {
    let scenario = std::env::args().nth(1).expect("usage: least_backlog SCENARIO");
    println!("its own balancer {:8.1} us", mean_fct(scenario.as_ref(), &Factories::default()));
    println!("least backlog    {:8.1} us", mean_fct(scenario.as_ref(), &ours()));
}
