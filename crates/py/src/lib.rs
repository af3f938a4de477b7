//! The Python module `leafspine._engine`: glue between the package and the engine.

mod bench;
mod catalogue;
mod errors;
mod scenario;
mod simulate;

use pyo3::prelude::*;

/// Version of the engine, and so of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<errors::ScenarioError>())?;
    module.add("Cancelled", py.get_type::<errors::Cancelled>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::expand, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::schemes, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::workloads, module)?)?;
    module.add_class::<simulate::Progress>()?;
    module.add_class::<simulate::Output>()?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_cases, module)?)?;
    Ok(())
}
