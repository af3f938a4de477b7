//! `arithmetic = "p4"`.

use super::*;
use crate::lb::qall::index::ONE;

/// The indices of the paper and a refit, with the bounds of L and T that it is normalised by.
fn indices() -> Vec<(Vec<f64>, [f64; 4], Index)> {
    let refit = "[0.2, 1.25, -0.5, -2.0, 3.0, 0.125]";
    let bounds = [[0.0, 100.0, 0.0, 500.0], [10.0, 60.0, 3.0, 497.0]];
    let mut found = Vec::new();
    for [a, b, c, d] in bounds {
        for (variant, coefficients) in
            [("linear", "[]"), ("poly2", "[]"), ("poly3", "[]"), ("poly2", refit)]
        {
            let normalise = format!("[{a}, {b}, {c}, {d}]");
            let stated =
                [("variant", variant), ("coefficients", coefficients), ("normalise", &normalise)];
            let settings =
                Settings::read(&crate::testing::stated(Settings::PARAMS, &stated)).unwrap();
            let real = match (variant, coefficients) {
                ("linear", _) => crate::lb::qall::index::LINEAR.to_vec(),
                ("poly3", _) => crate::lb::qall::index::POLY3.to_vec(),
                ("poly2", "[]") => crate::lb::qall::index::POLY2.to_vec(),
                _ => settings.coefficients.clone(),
            };
            found.push((real, [a, b, c, d], Index::new(&settings, 500).unwrap()));
        }
    }
    found
}

/// Breaks if the program's words give another weight than the simulator's signed numbers, for any variant: both
/// are one function.
#[test]
fn weights_in_words_are_the_simulators() {
    let mut rng = Rng::new(1, leafspine_core::Role::Balancer, 0);
    let settings = Settings::read(&crate::testing::stated(Settings::PARAMS, &[])).unwrap();
    let derived = Index::new(&settings, 10_000).unwrap();
    let all: Vec<Index> = indices().into_iter().map(|(.., index)| index).chain([derived]).collect();
    for _ in 0..20_000 {
        let port = Behaviour {
            occupancy: rng.below(101) as u8,
            interval: rng.below(501),
            trend: 1 + rng.below(2) as u8,
        };
        for index in &all {
            assert_eq!(index.weight_p4(port).0, index.weight(port), "{port:?} {index:?}");
        }
    }
}

/// Breaks if the index in fixed point is further from the polynomial of real numbers than its bound. In units u =
/// 1/1024, L and T are cut by less than u each (T may be above by 0.03 u); a product of two such by 2 u
/// and its own cut of u, one of three by 5 u. Each coefficient, cut to hundredths, adds less than 0.01 times a
/// power that is at most 1.
#[test]
fn the_index_is_within_its_bound_of_the_polynomial() {
    let mut rng = Rng::new(2, leafspine_core::Role::Balancer, 0);
    let mut worst: f64 = 0.0;
    for (coefficients, [a, b, c, d], index) in indices() {
        let cut = [0.0, 1.0, 1.0, 3.0, 3.0, 3.0, 5.0, 5.0, 5.0, 5.0];
        let each = coefficients.iter().zip(cut).map(|(a, cut)| a.abs() * cut / ONE as f64 + 0.01);
        let bound: f64 = each.sum();
        for _ in 0..50_000 {
            let port =
                Behaviour { occupancy: rng.below(101) as u8, interval: rng.below(501), trend: 1 };
            let l = ((f64::from(port.occupancy) - a) / (b - a)).clamp(0.0, 1.0);
            let t = ((port.interval as f64 - c) / (d - c)).clamp(0.0, 1.0);
            let powers =
                [1.0, l, t, l * l, l * t, t * t, l * l * l, l * l * t, l * t * t, t * t * t];
            let real: f64 = coefficients.iter().zip(powers).map(|(a, power)| a * power).sum();
            let found = index.congestion(port) as f64 / (100.0 * ONE as f64);
            let share = (found - real).abs() / bound;
            assert!(share <= 1.0, "{port:?}: {found}, not {real}; bound {bound}");
            worst = worst.max(share);
        }
    }
    assert!(worst > 0.3, "the bound is loose: {worst}");
}

/// Breaks if what a v1model switch cannot know is accepted, or if its reason is not said.
#[test]
fn what_the_target_cannot_do_is_refused() {
    let mut leaf = crate::testing::FakeLeaf::new(4, 4, 1);
    let refused = |stated: &[(&str, &str)], leaf: &crate::testing::FakeLeaf| {
        let mut all = vec![("arithmetic", "p4")];
        all.extend_from_slice(stated);
        let params = crate::testing::stated(Settings::PARAMS, &all);
        make(&params, &leaf.env).err().map(|error| (error.key, error.allowed))
    };
    let (key, reason) = refused(&[], &leaf).expect("idle_growth");
    assert!(key == "idle_growth" && reason.contains("ingress pipeline"), "{reason}");
    assert!(refused(&[("idle_growth", "false")], &leaf).is_none());
    let large = [("idle_growth", "false"), ("entries", "65537")];
    let (key, reason) = refused(&large, &leaf).expect("entries");
    assert!(key == "entries" && reason.contains("at most 65536"), "{reason}");
    leaf.env.buffer = Amount::Bytes(64_000);
    let (key, reason) = refused(&[("idle_growth", "false")], &leaf).expect("bytes");
    assert!(key == "arithmetic" && reason.contains("buffer in packets"), "{reason}");
    let wide = crate::testing::FakeLeaf::new(4, 17, 1);
    assert!(refused(&[("idle_growth", "false")], &wide).expect("17").1.contains("at most 16"));
    let many = crate::testing::FakeLeaf::new(508, 4, 1);
    assert!(refused(&[("idle_growth", "false")], &many).expect("512").1.contains("at most 511"));
    // Uplinks at ports 0 and 256.
    let mut far = crate::testing::FakeLeaf::new(256, 1, 1);
    assert!(refused(&[("idle_growth", "false")], &far).is_none());
    far.env.ports[0].neighbour = far.env.ports[256].neighbour;
    assert!(refused(&[("idle_growth", "false")], &far).expect("0").1.contains("eight bits"));
}
