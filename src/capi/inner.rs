//! Helper for test engines that wrap another engine.

/// Methods of [`crate::forces::ForceEngine`] forwarded to the field `inner`.
macro_rules! answered_by_inner {
    () => {
        fn describe(&self) -> String {
            self.inner.describe()
        }

        fn precision(&self) -> crate::forces::Precision {
            self.inner.precision()
        }

        fn highest_order(&self) -> crate::forces::Order {
            self.inner.highest_order()
        }

        fn source_count(&self) -> usize {
            self.inner.source_count()
        }

        fn collect(&mut self, out: &mut crate::forces::Answers) -> crate::error::Result<()> {
            self.inner.collect(out)
        }
    };
}
