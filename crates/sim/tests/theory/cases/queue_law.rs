//! The M/D/1 queue: how many are in it, how long they wait, and how often a finite one is full.
//!
//! The unit of time is one service. All sums have positive terms only, so nothing cancels.

/// Chances that Poisson arrivals in one service are at least `0, 1, 2, ...`, at `rate` a service.
fn at_least(rate: f64, most: usize) -> Vec<f64> {
    let mut chance = (-rate).exp();
    let mut exactly = Vec::with_capacity(most + 40);
    for k in 1..most + 41 {
        exactly.push(chance);
        chance *= rate / k as f64;
    }
    let mut sum = 0.0;
    let tail = exactly.iter().rev().map(|p| {
        sum += p;
        sum
    });
    let mut tail: Vec<f64> = tail.collect();
    tail.reverse();
    tail
}

/// Chances, up to a factor, that a departure leaves `0, 1, ... n - 1` behind; the first is 1. As many
/// cross from below `j` to `j` and more as come down from `j` to `j - 1`.
fn left_behind(rate: f64, n: usize) -> Vec<f64> {
    let tail = at_least(rate, n + 1);
    let none = (-rate).exp();
    let mut left: Vec<f64> = vec![1.0];
    for j in 1..n {
        let up: f64 = (1..j).map(|i| left[i] * tail[j + 1 - i]).sum();
        left.push((tail[j] + up) / none);
    }
    left
}

/// Mean wait in services (Pollaczek and Khinchine).
pub fn mean_wait(load: f64) -> f64 {
    load / (2.0 * (1.0 - load))
}

/// The wait, in services, that the share `p` of packets does not exceed: Franx (2001), a sum over the
/// numbers that are in the system.
pub fn wait_quantile(load: f64, p: f64) -> f64 {
    let chances = left_behind(load, 2000);
    // waiting[m]: at most m wait, so at most m + 1 are in the system.
    let mut sum = (1.0 - load) * chances[0];
    let waiting = chances[1..].iter().map(|c| {
        sum += (1.0 - load) * c;
        sum
    });
    let waiting: Vec<f64> = waiting.collect();
    let below = |x: f64| {
        let k = x as usize + 1;
        let mean = load * (k as f64 - x);
        let mut chance = (-mean).exp();
        (0..k)
            .map(|j| {
                let term = waiting[k - 1 - j] * chance;
                chance *= mean / (j + 1) as f64;
                term
            })
            .sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 1900.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if below(middle) < p { low = middle } else { high = middle }
    }
    high
}

/// Share of Poisson arrivals that find `buffer` waiting and one in service: M/D/1/K with K = buffer + 1,
/// any load. Of the departures' chances only those below K remain, and the server is idle by them.
pub fn full(load: f64, buffer: usize) -> f64 {
    let left = left_behind(load, buffer + 1);
    let idle = left[0] / left.iter().sum::<f64>();
    1.0 - 1.0 / (load + idle)
}
