//! Spin lock for short critical sections: one atomic operation, where a mutex that can sleep takes
//! two.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value protected by the lock.
#[derive(Default)]
pub struct Spin<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only the lock holder has a reference to the value.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    /// Acquires the lock.
    #[inline(always)]
    pub fn lock(&self) -> Held<'_, T> {
        if self.is_held.swap(true, Ordering::Acquire) {
            self.wait();
        }
        Held(self)
    }

    #[cold]
    fn wait(&self) {
        let mut turns = 0;
        while self.is_held.swap(true, Ordering::Acquire) {
            while self.is_held.load(Ordering::Relaxed) {
                turns += 1;
                // The holder may have been descheduled.
                if turns % 128 == 0 { std::thread::yield_now() } else { spin_loop() }
            }
        }
    }
}

/// Guard of the lock.
pub struct Held<'a, T>(&'a Spin<T>);

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard proves that the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and this guard is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_held.store(false, Ordering::Release);
    }
}
