//! The page's files: in the browser's storage, or among the user's downloads.

use std::io::{Error, Result};

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, HtmlAnchorElement, Storage, Url};

use gravitile::files::PageStore;

/// Prefix of names in the storage, which other pages of the host share.
const PREFIX: &str = "gravitile/";

/// Files in the browser.
pub struct BrowserStorage;

fn storage() -> Option<Storage> {
    super::browser()?.local_storage().ok()?
}

/// Converts an exception of the browser to an error.
fn refused(problem: JsValue) -> Error {
    let text = js_sys::Error::from(problem).message();
    Error::other(String::from(text))
}

impl PageStore for BrowserStorage {
    fn take_down(&self, name: &str) -> Option<Vec<u8>> {
        Some(storage()?.get_item(&format!("{PREFIX}{name}")).ok()??.into_bytes())
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(bytes).map_err(Error::other)?;
        let storage = storage().ok_or_else(|| Error::other("this browser has no storage"))?;
        storage.set_item(&format!("{PREFIX}{name}"), text).map_err(refused)
    }

    fn offer(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
        let offer = || -> std::result::Result<(), JsValue> {
            let url = Url::create_object_url_with_blob(&Blob::new_with_u8_array_sequence(&parts)?)?;
            let document = super::document().ok_or("no document")?;
            let link: HtmlAnchorElement = document.create_element("a")?.unchecked_into();
            link.set_href(&url);
            link.set_download(name);
            link.click();
            Ok(())
        };
        offer().map_err(refused)
    }
}
