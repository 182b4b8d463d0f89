//! Prefetching entries of large arrays.

/// Prefetches entry `k`, if it exists and the processor has an instruction for it: a loop that
/// strides through memory would otherwise wait for each entry.
#[inline(always)]
pub fn fetch_ahead<T>(of: &[T], k: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = of.get(k) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let begin = std::ptr::from_ref(entry).cast::<i8>();
        for at in (0..size_of::<T>()).step_by(LINE) {
            // SAFETY: a hint, within the entry.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(begin.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (of, k);
}
