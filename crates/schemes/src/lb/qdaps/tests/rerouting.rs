//! When a large flow is rerouted (§III-C).

use super::*;

/// Breaks if eq. 14 is not sqrt(1.6 Y) - C RTT in packets, to the nearest, within 1 to K: by hand with
/// packets of 1,500 bytes and K = 65. The first three rows are the paper's fabric with the mean of its
/// two workloads and 500 KB; then the two cases where eq. 14 is negative; then the testbed of §V.
#[test]
fn eq_14() {
    for (mbps, rtt, size, threshold) in [
        (1_000, 100, 1_600_000, 33), // sqrt(1.6 x 1066.7) = 41.3, less 8.3
        (1_000, 100, 7_400_000, 65), // 88.8 - 8.3 = 80.5: K
        (1_000, 100, 500_000, 15),   // 23.1 - 8.3 = 14.8
        (1_000, 300, 500_000, 1),    // 23.1 - 25
        (10_000, 100, 1_600_000, 1), // 41.3 - 83.3
        (10_000, 8, 1_600_000, 35),  // 41.3 - 6.7 = 34.6
        (20, 1_000, 64_000, 7),      // 8.3 - 1.7 = 6.6
        (1_000, 100, u64::MAX, 65),
        (1_000, 100, 0, 1),
    ] {
        let pipe = Rate::from_mbps(mbps).bytes_in(us(rtt)).0;
        let eq14 = reroute::Eq14 { pipe, mtu: 1500, marking: 65 };
        assert_eq!(eq14.threshold(size), threshold, "{size} bytes, {mbps} Mb/s, {rtt} us");
    }
}

/// How many packets must wait for a flow that has sent so much to be rerouted: the smallest number of
/// 1 to 99.
fn rerouted_at(sent: u32, params: &Params, env: impl Fn(&mut SwitchEnv)) -> Option<u32> {
    let rerouted = |packets: &u32| {
        let mut leaf = leaf(2);
        env(&mut leaf.env);
        let mut flow = Flow::new(leaf, params);
        flow.grow(sent);
        flow.leaf.live = vec![Q2];
        flow.next(&[0, *packets]);
        flow.leaf.live = vec![Q1, Q2];
        flow.next(&[0, *packets]) == Q1
    };
    (1..100).find(rerouted)
}

/// Breaks if a flow is rerouted where the queue does not *exceed* S, before it has sent *more* than
/// `long_flow`, or at all where it must not (§III-C: "when the queue length exceeds a threshold S"). S is 33
/// for the workload's mean of 1.6 MB. The packet that finds the queue has been preceded by another one
/// of 1,500 bytes after those counted here.
#[test]
fn large_flows_leave_queues_longer_than_s() {
    let same = |_: &mut SwitchEnv| {};
    let fixed =
        |amount| defaults().with("reroute", word("fixed")).with("threshold", Value::Amount(amount));
    let cases = [
        ("beyond S", 100_000, defaults(), Some(34)),
        ("100 KB are not large", 98_500, defaults(), None),
        ("a byte more is", 98_501, defaults(), Some(34)),
        ("other bound", 98_501, defaults().with("long_flow", Value::Bytes(Bytes(200_000))), None),
        ("off", 500_000, defaults().with("reroute", word("off")), None),
        ("fixed, packets", 150_000, fixed(Amount::Packets(41)), Some(42)),
        ("fixed, bytes", 150_000, fixed(Amount::Bytes(15_000)), Some(11)),
        ("K below", 150_000, defaults().with("marking", Value::Int(20)), Some(21)),
        // Y = 498,500 + 1,500 bytes: S = 15.
        ("by bytes sent", 498_500, defaults().with("reroute", word("sent")), Some(16)),
        ("by bytes sent, few", 98_501, defaults().with("reroute", word("sent")), Some(3)),
        ("flow size", 150_000, defaults().with("reroute", word("flow-size")), Some(34)),
    ];
    for (name, sent, params, at) in cases {
        assert_eq!(rerouted_at(sent, &params, same), at, "{name}");
    }
    let mean = |bytes: Option<u64>| {
        rerouted_at(150_000, &defaults(), |env| env.mean_flow = bytes.map(Bytes))
    };
    assert_eq!((mean(Some(500_000)), mean(None)), (Some(16), Some(34)));
    // One slow link does not make the fabric slow.
    let slow = rerouted_at(150_000, &defaults(), |env| env.ports[8].rate = Rate::from_mbps(200));
    assert_eq!(slow, Some(34));
    let rtt = |value| rerouted_at(150_000, &defaults().with("rtt", value), same);
    // The fake leaf's empty fabric has 20 us: S = 41.3 - 1.7.
    assert_eq!((rtt(Value::Span(us(300))), rtt(word("base"))), (Some(17), Some(41)));
}

/// Breaks if a flow that the sweep has removed is still large, or one that it has left is not
/// (§III-D: the flow size is in the flow's entry, and QDAPS "removes the idle connections from the
/// flow table" every 2 RTT, 200 us here).
#[test]
fn a_removed_flow_has_sent_nothing() {
    for (idle, large) in [(190, true), (400, false)] {
        let mut flow = Flow::new(leaf(2), &defaults());
        flow.grow(150_000);
        flow.leaf.wait(us(idle));
        flow.leaf.live = vec![Q2];
        flow.next(&[0, 40]);
        flow.leaf.live = vec![Q1, Q2];
        assert_eq!(flow.next(&[0, 40]) == Q1, large, "idle for {idle} us");
    }
}

/// Breaks if a rerouted flow is still bound to the queue that it has left: its new delay is 12 us, so
/// 12 us later it is free to go anywhere.
#[test]
fn a_reroute_is_remembered() {
    let mut flow = Flow::new(leaf(3), &defaults());
    flow.grow(150_000);
    flow.leaf.live = vec![Q3];
    flow.next(&[0, 0, 60]);
    flow.leaf.live = vec![Q1, Q2, Q3];
    assert_eq!(flow.next(&[0, 5, 60]), Q1);
    flow.leaf.wait(us(12));
    assert_eq!(flow.next(&[7, 6, 60]), Q2);
}
