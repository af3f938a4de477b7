"""What schemes cost: the cases, and the table."""

from leafspine import costs

ENTRIES = [
    {"name": "letflow", "place": "load_balancer", "header_bits": 0, "queues": 1},
    {"name": "pinned", "place": "load_balancer", "header_bits": 0, "queues": 1},
    {"name": "mq-ecn", "place": "aqm", "header_bits": 0, "queues": 2},
    {"name": "ml-ecn", "place": "aqm", "header_bits": 0, "queues": 3},
    {"name": "flex", "place": "host_edge", "header_bits": 1, "queues": 1},
    {"name": "stage", "place": "host_edge", "header_bits": 6, "queues": 1},
    {"name": "newreno", "place": "transport", "header_bits": 0, "queues": 1},
    {"name": "dctcp", "place": "scheme", "keys": []},
    {"name": "flex", "place": "scheme", "keys": []},
    {
        "name": "aq-car",
        "place": "scheme",
        "keys": [
            {"key": "load_balancer.scheme", "value": '"aq-car"'},
            {"key": "switch.queues", "value": "3"},
            {"key": "host_edge.scheme", "value": '"aq-car"'},
        ],
    },
]


def test_cases_put_each_scheme_where_it_can_work() -> None:
    """Breaks if a scheme is measured without the queues or the balancer that it needs.

    `pinned` needs a trace's paths, which the measured scenario has not.
    """
    found = {(case.place, case.name): dict(case.sets) for case in costs._cases(ENTRIES)}
    assert found == {
        ("load_balancer", "letflow"): {"load_balancer.scheme": "letflow"},
        ("aqm", "mq-ecn"): {
            "aqm.scheme": "mq-ecn",
            "switch.queues": "2",
            "switch.scheduler": "dwrr",
        },
        ("aqm", "ml-ecn"): {
            "aqm.scheme": "ml-ecn",
            "switch.queues": "3",
            "host_edge.scheme": '"aq-car"',
        },
        ("host_edge", "flex"): {"scheme": "flex"},
        ("host_edge", "stage"): {"host_edge.scheme": "stage"},
        ("system", "flex"): {"scheme": "flex"},
        ("system", "aq-car"): {"scheme": "aq-car"},
    }


def test_rows_say_what_is_known() -> None:
    """Breaks if a figure stands in another's column, or nothing is shown as 0."""
    row = {
        "place": "load_balancer",
        "name": "letflow",
        "ns_per_decision": 17.64,
        "share_of_ecmp": 0.956,
        "ports": "one-event",
        "leaf_bytes": 1048576.0,
        "bytes_per_flow": 16,
        "bytes_per_port": 0,
        "header_bits": 0,
        "queues": 1,
        "slots": 65536.0,
        "occupied_mean": 41.6,
        "flows_mean": 22.2,
        "sharing_mean": 0.031,
    }
    [cells] = costs.rows([row])
    assert dict(zip(costs.COLUMNS, cells, strict=True)) == {
        "scheme": "letflow",
        "ns/decision": "17.6",
        "of ECMP's speed": "96 %",
        "ports": "one-event",
        "state of a leaf": "1.05 MB",
        "per flow": "16 B",
        "per port": "",
        "header bits": "0",
        "queues": "1",
        "slots": "65,536",
        "in use": "42",
        "flows": "22",
        "sharing": "0.03",
    }
