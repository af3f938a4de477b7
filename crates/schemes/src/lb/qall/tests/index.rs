//! The congestion index C and the weight W (eqs. 4 to 13).

use super::*;

/// Breaks if C is not L (tau - T) V (eq. 4), Cmax not its value at L = 1, T = 0, V = 2, or W not
/// their difference (eq. 6). By hand, tau = 10 ms: 50 x 9970 x 2 = 997,000 of 2,000,000.
#[test]
fn derived() {
    let index = index("derived");
    assert_eq!(index.most(), 2_000_000);
    for (port, c) in [
        (queue(50, 30, 2), 997_000),
        (queue(50, 30, 1), 498_500),
        (queue(100, 0, 2), 2_000_000),
        (queue(100, 0, 1), 1_000_000),
        (queue(0, 0, 2), 0),
        (queue(100, TAU, 2), 0),
        (queue(1, 9_999, 1), 1),
    ] {
        assert_eq!(index.congestion(port), c, "{port:?}");
        assert_eq!(index.weight(port), (2_000_000 - c) as u64, "{port:?}");
    }
}

/// Breaks if a growing queue's V is fixed: with weight 5, Cmax is 5,000,000.
#[test]
fn growth_weight_is_in_the_maximum() {
    let params = defaults().with("growth_weight", Value::Int(5));
    assert_eq!(Index::new(&settings(&params), TAU).unwrap().most(), 5_000_000);
}

/// Breaks if the scaled coefficients are not those of eqs. 11-13: 100 times those of eqs. 8-10,
/// truncated towards zero; with 1887 where eq. 13 has 188.
#[test]
fn coefficients_are_those_of_the_integer_equations() {
    assert_eq!(fit("linear").scaled, [16, 26, -46, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(fit("poly2").scaled, [17, 79, -89, -106, 142, 84, 0, 0, 0, 0]);
    let poly3 = [18, 89, -144, -251, 1887, 347, 165, -2294, -5849, -225];
    assert_eq!(fit("poly3").scaled, poly3);
}

/// Breaks if a power is wrong or in another place. By hand, in hundredths: at L = 1, T = 0:
/// 16 + 26 = 42, 17 + 79 - 106 = -10, 18 + 89 - 251 + 165 = 21; at L = T = 1: 16 + 26 - 46 = -4, ...
/// At L = T = 1/2 eq. 10 is 0.186 + 0.446 - 0.723 - 0.6285 + 4.71825 + 0.868 + 0.20675 - 2.868 -
/// 7.31125 - 0.28175 = -5.3875, and with truncated coefficients -5.39125.
#[test]
fn fits_by_hand() {
    let (one, half) = (ONE, ONE / 2);
    for (variant, l, t, hundredths) in [
        ("linear", 0, 0, 16),
        ("linear", one, 0, 42),
        ("linear", 0, one, -30),
        ("linear", one, one, -4),
        ("poly2", 0, 0, 17),
        ("poly2", one, 0, -10),
        ("poly2", 0, one, 12),
        ("poly2", one, one, 127),
        ("poly3", 0, 0, 18),
        ("poly3", one, 0, 21),
        ("poly3", 0, one, -4),
        ("poly3", one, one, -6257),
    ] {
        assert_eq!(fit(variant).value(l, t), hundredths * ONE, "{variant} {l} {t}");
    }
    assert_eq!(fit("linear").value(half, half), 6 * ONE);
    // 100 x (0.17 + 0.395 - 0.445 - 0.265 + 0.355 + 0.21) = 42.
    assert_eq!(fit("poly2").value(half, half), 42 * ONE);
    assert_eq!(fit("poly3").value(half, half), (-539.125 * ONE as f64) as i64);
    // L = 1, T = 1/2: 18 + 89 - 72 - 251 + 943.5 + 86.75 + 165 - 1147 - 1462.25 - 28.125.
    assert_eq!(fit("poly3").value(one, half), (-1_658.125 * ONE as f64) as i64);
}

/// Breaks if the fits are mended in silence: eq. 9 rates a full port (L = 1, T = 0) below an empty
/// one, eq. 10 falls from L = 0.23 to 0.78 at T = 0 and rises on either side, and is -62 at L = T = 1.
#[test]
fn the_fits_are_as_printed() {
    let poly2 = fit("poly2");
    assert!(poly2.value(ONE, 0) < 0 && poly2.value(0, 0) > 0);
    let poly3 = fit("poly3");
    let at = |share: f64| poly3.value((share * ONE as f64) as i64, 0);
    assert!(at(0.10) < at(0.15) && at(0.15) < at(0.23));
    assert!(at(0.25) > at(0.5) && at(0.5) > at(0.76));
    assert!(at(0.80) < at(0.9) && at(0.9) < at(1.0));
    assert_eq!(poly3.value(ONE, ONE) / (100 * ONE), -62);
}

/// Breaks if a weight is negative anywhere, or 0 nowhere (Cmax is not the largest C): all L and
/// every fifth T.
#[test]
fn cmax_is_the_largest() {
    for variant in ["derived", "linear", "poly2", "poly3"] {
        let index = index(variant);
        let all = (0..=100).flat_map(|l| (0..=TAU).step_by(5).map(move |t| queue(l, t, 2)));
        let least = all.map(|port| index.most() - index.congestion(port)).min();
        assert_eq!(least, Some(0), "{variant}");
    }
}

/// Breaks if the trend changes a fit (§V-A2).
#[test]
fn fits_have_no_trend() {
    for variant in ["linear", "poly2", "poly3"] {
        let index = index(variant);
        assert_eq!(index.weight(queue(40, 70, 1)), index.weight(queue(40, 70, 2)));
    }
}

/// Breaks if L and T are not normalised by the bounds given, or leave 0..1 beyond them. Bounds
/// 20..60 % and 100..300 us: 40 % and 200 us are one half each.
#[test]
fn a_refit_brings_its_bounds() {
    let bounds = Value::Numbers(vec![20.0, 60.0, 100.0, 300.0]);
    let own = Value::Numbers(vec![0.0, 1.0, 10.0]);
    let params = word("variant", "linear").with("normalise", bounds).with("coefficients", own);
    let index = Index::new(&settings(&params), TAU).unwrap();
    let c = |l, t| index.congestion(queue(l, t, 1));
    assert_eq!(c(20, 100), 0);
    assert_eq!(c(40, 100), 50 * ONE);
    assert_eq!(c(20, 200), 500 * ONE);
    assert_eq!(c(60, 300), 1_100 * ONE);
    assert_eq!(c(10, 50), 0);
    assert_eq!(c(100, TAU), 1_100 * ONE);
    assert_eq!(index.most(), 1_100 * ONE);
    assert!(index.depends_on_interval(queue(0, 299, 1)));
    assert!(!index.depends_on_interval(queue(0, 300, 1)));
}

/// Breaks if the largest coefficients overflow: ten of 1e8 at L = T = 1, and the weights of all
/// ports that a switch can have.
#[test]
fn the_largest_coefficients_fit() {
    let signs = [1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
    for sign in [1.0, -1.0] {
        let own = Value::Numbers(signs.iter().map(|s| s * sign * 1e8).collect());
        let params = word("variant", "poly3").with("coefficients", own);
        let index = Index::new(&settings(&params), TAU).unwrap();
        let all = (0..=100).flat_map(|l| (0..=TAU).step_by(500).map(move |t| queue(l, t, 1)));
        let most = all.map(|port| index.weight(port)).max().unwrap();
        assert!(most.checked_mul(65_535).is_some(), "{most}");
    }
}

/// Breaks if parameters that contradict each other are taken.
#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |variant: &str, key: &str, numbers: &[f64]| {
        let params = word("variant", variant).with(key, Value::Numbers(numbers.to_vec()));
        let error = make(&params, &leaf().env).err().expect("refused");
        assert_eq!(error.key, key);
        format!("found {}; allowed: {}", error.found, error.allowed)
    };
    let message = refused("poly2", "coefficients", &[1.0; 3]);
    assert_eq!(message, "found 3; allowed: the 6 of \"poly2\", or none");
    refused("linear", "coefficients", &[1.0, 2.0, 2e8]);
    assert!(refused("derived", "coefficients", &[1.0; 3]).contains("fits nothing"));
    refused("derived", "normalise", &[0.0, 1.0, 0.0, 1.0]);
    for bounds in [
        &[0.0, 100.0, 0.0][..],
        &[50.0, 50.0, 0.0, 10.0],
        &[0.0, 100.0, 10.2, 10.9],
        &[0.0, 100.0, 10.0, 5.0],
        &[-1.0, 100.0, 0.0, 10.0],
        &[0.0, 100.0, -5.0, 10.0],
        &[0.0, 100.0, 0.0, 1e30],
    ] {
        assert!(refused("poly3", "normalise", bounds).contains("allowed: "));
    }
}
