//! leafspine's engine with schemes of one's own, as a module of Python.

mod two_choices;

// The module's name, then what is added: `balancers`, `managers`, `holds`, `edges`, `controls`,
// `bundles`, each a list of entries.
leafspine_py::engine!(my_schemes, balancers: &[two_choices::ENTRY]);
