//! Defines each function twice from one body: by value for C, and by pointer with a trailing
//! underscore for Fortran.
//!
//! Every function returns an int, also where older headers declare void: callers then ignore it.

/// The type of an argument in the C variant.
macro_rules! value_type {
    (cluster) => { ::std::ffi::c_int };
    (int) => { ::std::ffi::c_int };
    (double) => { f64 };
    (ints) => { *const ::std::ffi::c_int };
    (doubles) => { *const f64 };
    (vectors) => { *const [f64; 3] };
    (ints_out) => { *mut ::std::ffi::c_int };
    (doubles_out) => { *mut f64 };
    (vectors_out) => { *mut [f64; 3] };
    (floats_out) => { *mut f32 };
    (ignored) => { *const ::std::ffi::c_void };
}

/// The type of an argument in the Fortran variant.
macro_rules! pointer_type {
    (cluster) => { *const ::std::ffi::c_int };
    (int) => { *const ::std::ffi::c_int };
    (double) => { *const f64 };
    ($array:ident) => { value_type!($array) };
}

/// Wraps an array argument, in both variants.
///
/// SAFETY of all arms: the caller of the exported function guarantees that the pointer is NULL or
/// points to as many entries as are used (see `slices`).
macro_rules! array {
    (ints, $name:ident) => { array!(InputArray $name) };
    (doubles, $name:ident) => { array!(InputArray $name) };
    (vectors, $name:ident) => { array!(InputArray $name) };
    (ints_out, $name:ident) => { array!(OutputArray $name) };
    (doubles_out, $name:ident) => { array!(OutputArray $name) };
    (vectors_out, $name:ident) => { array!(OutputArray $name) };
    (floats_out, $name:ident) => { array!(OutputArray $name) };
    ($other:ident, $name:ident) => { $name };
    ($wrapper:ident $name:ident) => {
        unsafe { $crate::slices::$wrapper::new(stringify!($name), $name) }
    };
}

/// Dereferences the scalars of the Fortran variant. A cluster's number may be NULL, which means 0.
macro_rules! dereferenced {
    (cluster, $name:ident) => {
        array!(ints, $name).one_or(0)
    };
    (int, $name:ident) => {
        array!(ints, $name).one()?
    };
    (double, $name:ident) => {
        array!(doubles, $name).one()?
    };
    ($array:ident, $name:ident) => {
        array!($array, $name)
    };
}

/// `both_forms! { "doc"; value_name pointer_name, ...; (argument: kind, ...) { body } }` defines
/// functions of these names with this body, which returns `Result<c_int>`. For functions that are
/// called very often, `first { ... }` before the body is a fast path outside the panic guard: it
/// returns `Ok(true)` if the call is complete, and must not panic.
macro_rules! both_forms {
    ($doc:literal; $($value:ident $pointer:ident),+; $arguments:tt first $first:block $body:block) => {
        $(
            value_form! { $doc; $value; $arguments first $first $body }
            pointer_form! { $value; $pointer; $arguments first $first $body }
        )+
    };
    ($doc:literal; $($value:ident $pointer:ident),+; $arguments:tt $body:block) => {
        $(
            value_form! { $doc; $value; $arguments $body }
            pointer_form! { $value; $pointer; $arguments $body }
        )+
    };
}

/// [`both_forms`] of functions for board 0 and, with `board` as another first argument, of
/// functions for any board.
macro_rules! for_boards {
    ($doc:literal; $($one:ident $one_pointer:ident),+; $($any:ident $any_pointer:ident),+;
     $board:ident; ($($name:ident: $kind:ident),*) $body:block) => {
        both_forms! { $doc; $($one $one_pointer),+; ($($name: $kind),*) {
            let $board = 0;
            $body
        } }
        both_forms! { "The same for a board."; $($any $any_pointer),+;
            ($board: int $(, $name: $kind)*) $body }
    };
}

/// `value_form! { "doc"; name; (argument: kind, ...) { body } }`: the C variant alone, for
/// functions called only from C++.
macro_rules! value_form {
    ($doc:literal; $value:ident; $($rest:tt)*) => {
        form! { [$doc] value_type array; $value; $($rest)* }
    };
}

/// The Fortran variant of the function `value`.
macro_rules! pointer_form {
    ($value:ident; $pointer:ident; $($rest:tt)*) => {
        form! {
            [concat!("[`", stringify!($value), "`] with scalars by pointer, as Fortran calls.")]
            pointer_type dereferenced; $pointer; $($rest)*
        }
    };
}

/// A function whose arguments have the types of one macro and are taken by another one.
macro_rules! form {
    ([$($doc:tt)*] $types:ident $taken:ident; $function:ident;
     ($($name:ident: $kind:ident),*) { $($begin:tt)* } do $body:block) => {
        #[doc = $($doc)*]
        ///
        /// # Safety
        /// Pointers are NULL or point to as many numbers as the call says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function($($name: $types!($kind)),*) -> ::std::ffi::c_int {
            $($begin)*
            $crate::guard::guarded(stringify!($function), || {
                $(let $name = $taken!($kind, $name);)*
                $body
            })
        }
    };
    ($doc:tt $types:ident $taken:ident; $function:ident; ($($name:ident: $kind:ident),*)
     first $first:block $body:block) => {
        form! { $doc $types $taken; $function; ($($name: $kind),*) {
            let first = || -> gravitile::error::Result<bool> {
                $(let $name = $taken!($kind, $name);)*
                $first
            };
            if first().unwrap_or(false) {
                return $crate::guard::DONE;
            }
        } do $body }
    };
    ($doc:tt $types:ident $taken:ident; $function:ident; $arguments:tt $body:block) => {
        form! { $doc $types $taken; $function; $arguments {} do $body }
    };
}
