//! Small runs of the whole simulator.

use crate::common::{base, fixed_flows, scheme};
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, SamplingMode, Throughput, measurement::WallTime,
};
use leafspine_sim::spec::{PortModel, Spec, WorkloadSpec};
use leafspine_sim::{Output, Progress, Simulation};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The least that the general port may do of what the one-event port does.
const LEAST_SHARE: f64 = 0.6;
/// Pairs of runs from which the ports' shares are worth comparing.
const ENOUGH_PAIRS: usize = 5;

/// Web-search flows at load 0.6 over 4 leaves and 4 spines, 16 hosts, 10 Gb/s.
fn spec(balancer: &str, ports: PortModel) -> Spec {
    let mut spec = base();
    spec.balancer = scheme(balancer);
    spec.run.ports = ports;
    let sizes = spec.workloads.remove(0).sizes;
    spec.workloads = vec![WorkloadSpec { sizes, ..fixed_flows(100, 1, 0.6) }];
    spec
}

fn ready(spec: &Spec) -> Simulation {
    Simulation::new(spec).expect("a valid spec")
}

fn run(simulation: Simulation) -> Output {
    simulation.run(&Progress::default()).expect("a run that ends")
}

/// The time of one run, building and dropping not counted.
fn time(spec: &Spec) -> Duration {
    let simulation = ready(spec);
    let start = Instant::now();
    let output = black_box(run(simulation));
    let elapsed = start.elapsed();
    drop(output);
    elapsed
}

/// `runs/<which>`: packet-hops per second (one transmission of one packet over one link) of a whole
/// run: 100 web-search flows at load 0.6 over a 4x4 leaf-spine fabric of 16 hosts, DCTCP.
///
/// - `ecmp`: the one-event port. The figure that all other parts add up to, on data that fits the
///   caches; `leafspine bench` has the large fabrics.
/// - `ecmp-general-ports`: the same run, to the same trace, on ports with a real queue and a second
///   event per hop. A line below gives both ports' speeds, from runs taken in turn so that a busy
///   machine slows down both. The general port must stay above 60 % of the one-event port: every
///   multi-queue and dequeue-marking experiment runs on it. If not, this bench fails.
/// - `rps`: the one-event port with random spraying: reordering, so SACK blocks in the ACKs and, now
///   and then, a recovery that nothing was lost for.
///
/// If one of these falls and none of the parts does, look for cache misses and for what the parts do
/// not have: `forward`, `transmit`, the pool, the statistics.
pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("runs");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.measurement_time(Duration::from_millis(1_500));
    measure(&mut group, "ecmp", &spec("ecmp", PortModel::Auto));
    measure_general_ports(&mut group);
    measure(&mut group, "rps", &spec("rps", PortModel::Auto));
    group.finish();
}

fn measure(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, spec: &Spec) {
    group.throughput(Throughput::Elements(run(ready(spec)).counters.packet_hops));
    group.bench_function(name, |bencher| {
        bencher.iter_batched(|| ready(spec), run, BatchSize::PerIteration);
    });
}

/// Times the general port, each run beside one on the one-event port.
fn measure_general_ports(group: &mut BenchmarkGroup<'_, WallTime>) {
    let one_event = spec("ecmp", PortModel::Auto);
    let general = spec("ecmp", PortModel::General);
    let (fast, slow) = (run(ready(&one_event)), run(ready(&general)));
    assert_eq!(fast.trace_hash, slow.trace_hash, "only the same run is worth comparing");
    let hops = slow.counters.packet_hops;
    let mut pairs = Vec::new();
    group.throughput(Throughput::Elements(hops));
    group.bench_function("ecmp-general-ports", |bencher| {
        bencher.iter_custom(|runs| {
            let new: Vec<_> = (0..runs).map(|_| (time(&one_event), time(&general))).collect();
            pairs.extend_from_slice(&new);
            new.iter().map(|(_, general)| *general).sum()
        });
    });
    // A filter may have left none, and `--test` runs once.
    if pairs.len() >= ENOUGH_PAIRS {
        compare_ports(&pairs, hops);
    }
}

/// Prints both ports' speeds and the general port's share, beside the least that it should have.
/// Does not fail: a benchmark on a shared machine is no test.
fn compare_ports(pairs: &[(Duration, Duration)], hops: u64) {
    let speed = |time: f64| hops as f64 / time * 1e-6;
    let one_event = speed(median(pairs.iter().map(|(fast, _)| fast.as_secs_f64())));
    let general = speed(median(pairs.iter().map(|(_, slow)| slow.as_secs_f64())));
    let share = median(pairs.iter().map(|(fast, slow)| fast.as_secs_f64() / slow.as_secs_f64()));
    println!(
        "general port {general:.1}, one-event port {one_event:.1} million packet-hops/s: {:.0} % \
         (medians of {} pairs of runs; at least {:.0} %)\n",
        100.0 * share,
        pairs.len(),
        100.0 * LEAST_SHARE,
    );
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
