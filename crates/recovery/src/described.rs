//! Lets a row's first doc line be read by the program, so that the generated
//! document and the source cannot differ.

/// A thing that can say its own first doc line.
pub trait Described {
    /// The first line of its documentation.
    fn doc(&self) -> &'static str;
}

/// Declares a unit struct whose first doc line is its [`Described::doc`].
macro_rules! described {
    (#[doc = $first:literal] $(#[doc = $rest:literal])* $visible:vis struct $name:ident;) => {
        #[doc = $first]
        $(#[doc = $rest])*
        $visible struct $name;

        impl crate::described::Described for $name {
            fn doc(&self) -> &'static str {
                $first.trim()
            }
        }
    };
}
pub(crate) use described;
