//! What tests of several files share, and tests of the whole library.

mod lost;

/// Methods of [`gravitile::forces::ForceEngine`] forwarded to the field `inner`.
macro_rules! answered_by_inner {
    () => {
        fn describe(&self) -> String {
            self.inner.describe()
        }

        fn precision(&self) -> gravitile::forces::Precision {
            self.inner.precision()
        }

        fn highest_order(&self) -> gravitile::forces::Order {
            self.inner.highest_order()
        }

        fn source_count(&self) -> usize {
            self.inner.source_count()
        }

        fn collect(&mut self, out: &mut gravitile::forces::Forces) -> gravitile::error::Result<()> {
            self.inner.collect(out)
        }
    };
}
