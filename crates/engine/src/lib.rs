//! The Python module `leafspine._engine`: leafspine's own schemes and no others.

leafspine_py::engine!(_engine);
