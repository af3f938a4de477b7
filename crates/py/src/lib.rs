//! The engine as a module of Python, to be put together with [`engine!`] by a crate that makes a
//! `cdylib` of it: `crates/engine` with leafspine's own schemes, a crate from outside with more.
#![recursion_limit = "256"]

mod allocator;
mod bench;
mod catalogue;
mod errors;
mod facts;
mod guard;
mod jobs;
mod parquet;
mod programs;
mod scenario;
mod simulate;

use leafspine_schemes::registry;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

#[doc(hidden)]
pub use leafspine_schemes::registry::Extension;
#[doc(hidden)]
pub use pyo3;

/// Makes the Python module of the name given, which the package can use as its engine.
///
/// `engine!(my_engine, balancers: &[mine::ENTRY])` puts schemes from outside beside leafspine's own:
/// the fields of an [`Extension`], as many as there are. The package finds the module by the entry
/// point `leafspine.engine` of the distribution that installs it.
#[macro_export]
macro_rules! engine {
    ($module:ident) => {
        $crate::engine!(@ $module, None);
    };
    ($module:ident, $($kind:ident: $entries:expr),+ $(,)?) => {
        $crate::engine!(@ $module, Some($crate::Extension {
            from: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
            $($kind: $entries,)+
            ..$crate::Extension::EMPTY
        }));
    };
    (@ $module:ident, $extension:expr) => {
        // Tests of the crate do without the module: they have no Python to be linked with.
        #[cfg(not(test))]
        #[$crate::pyo3::pymodule]
        #[pyo3(crate = "::leafspine_py::pyo3")]
        fn $module(
            module: &$crate::pyo3::Bound<'_, $crate::pyo3::types::PyModule>,
        ) -> $crate::pyo3::PyResult<()> {
            $crate::fill(module, $extension)
        }
    };
}

/// Version of leafspine that the engine was built from.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Fingerprint of leafspine's sources that the engine was built from.
#[pyfunction]
fn sources() -> &'static str {
    env!("LEAFSPINE_SOURCES")
}

/// Name and version of the crate that adds schemes from outside, if one does.
#[pyfunction]
fn extension() -> Option<&'static str> {
    registry::extension().map(|extension| extension.from)
}

/// Fills an engine's module, having put `extension` into the registry.
///
/// # Errors
/// `ImportError` if the registry refuses the extension.
#[doc(hidden)]
pub fn fill(module: &Bound<'_, PyModule>, extension: Option<Extension>) -> PyResult<()> {
    if let Some(extension) = extension {
        registry::register(extension).map_err(|error| PyImportError::new_err(error.to_string()))?;
    }
    allocator::settle();
    let py = module.py();
    module.add("ScenarioError", py.get_type::<errors::ScenarioError>())?;
    module.add("Cancelled", py.get_type::<errors::Cancelled>())?;
    module.add("Stuck", py.get_type::<errors::Stuck>())?;
    module.add("GuestFailed", py.get_type::<errors::GuestFailed>())?;
    module.add("OutOfMemory", py.get_type::<errors::OutOfMemory>())?;
    module.add("EngineError", py.get_type::<errors::EngineError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(sources, module)?)?;
    module.add_function(wrap_pyfunction!(self::extension, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::expand, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::first_seed, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::line_of, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::work, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::control_planes, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::schemes, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::workloads, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::keys, module)?)?;
    module.add_class::<simulate::Progress>()?;
    module.add_class::<simulate::Output>()?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::check_captures, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)?;
    module.add_function(wrap_pyfunction!(bench::decision_cost, module)?)?;
    module.add_function(wrap_pyfunction!(bench::run_cost, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_cases, module)?)?;
    Ok(())
}
