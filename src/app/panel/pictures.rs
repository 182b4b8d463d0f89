//! Small pictures of scenes as textures. A native program contains them; a page fetches each from
//! its own folder (`NAME.png`) when it is first shown, so that it loads quickly.

use egui::{ColorImage, Context, Id, TextureHandle};

use gravitile::error::{Error, Result};

/// A scene's name and, in a native program, its picture: a PNG of at most 40,000 bytes.
#[derive(Clone, Copy)]
pub struct Picture {
    pub scene: &'static str,
    #[cfg(not(target_arch = "wasm32"))]
    pub png: &'static [u8],
}

/// The [`Picture`] of a scene of this name.
macro_rules! picture {
    ($scene:literal) => {
        $crate::panel::pictures::Picture {
            scene: $scene,
            #[cfg(not(target_arch = "wasm32"))]
            png: include_bytes!(concat!("../assets/welcome/", $scene, ".png")),
        }
    };
}
pub(super) use picture;

impl Picture {
    fn id(self) -> Id {
        Id::unique(("picture", self.scene))
    }

    /// The texture; `None` while a page fetches it, or if there is none.
    pub fn texture(self, context: &Context) -> Option<TextureHandle> {
        let known: Option<Option<TextureHandle>> = context.data(|data| data.get_temp(self.id()));
        known.unwrap_or_else(|| {
            context.data_mut(|data| data.insert_temp(self.id(), None::<TextureHandle>));
            self.request(context);
            context.data(|data| data.get_temp(self.id())).flatten()
        })
    }

    /// Frees the texture.
    pub fn forget(self, context: &Context) {
        context.data_mut(|data| data.remove::<Option<TextureHandle>>(self.id()));
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn request(self, context: &Context) {
        self.load(context, self.png);
    }

    #[cfg(target_arch = "wasm32")]
    fn request(self, context: &Context) {
        let context = context.clone();
        wasm_bindgen_futures::spawn_local(async move {
            match fetched::bytes(&format!("{}.png", self.scene)).await {
                Ok(png) => self.load(&context, &png),
                Err(error) => {
                    log::info!("the picture of {} cannot be fetched: {error:?}", self.scene)
                }
            }
            context.request_repaint();
        });
    }

    fn load(self, context: &Context, png: &[u8]) {
        match decode(png) {
            Ok((size, rgb)) => {
                let image = ColorImage::from_rgb(size, &rgb);
                let texture = context.load_texture(self.scene, image, egui::TextureOptions::LINEAR);
                context.data_mut(|data| data.insert_temp(self.id(), Some(texture)));
            }
            Err(error) => log::warn!("{}: {error}", self.scene),
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod fetched {
    use js_sys::{ArrayBuffer, Promise, Uint8Array};
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::JsFuture;

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(catch)]
        fn fetch(url: &str) -> Result<Promise, JsValue>;
        type Response;
        #[wasm_bindgen(method, catch, js_name = arrayBuffer)]
        fn array_buffer(this: &Response) -> Result<Promise, JsValue>;
    }

    /// The bytes of a file in the page's folder.
    pub async fn bytes(url: &str) -> Result<Vec<u8>, JsValue> {
        let response: Response = JsFuture::from(fetch(url)?).await?.unchecked_into();
        let buffer: ArrayBuffer = JsFuture::from(response.array_buffer()?).await?.unchecked_into();
        Ok(Uint8Array::new(&buffer).to_vec())
    }
}

/// Width and height, and three bytes per pixel.
fn decode(bytes: &[u8]) -> Result<([usize; 2], Vec<u8>)> {
    let broken = |error: png::DecodingError| Error::Outside(format!("a scene's picture: {error}"));
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    // Palettes and greys become colours.
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(broken)?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let info = reader.next_frame(&mut pixels).map_err(broken)?;
    let step = info.color_type.samples();
    let rgb = pixels[..info.buffer_size()].chunks_exact(step).flat_map(|p| match step {
        1 | 2 => [p[0]; 3],
        _ => [p[0], p[1], p[2]],
    });
    Ok(([info.width as usize, info.height as usize], rgb.collect()))
}

#[cfg(test)]
mod tests {
    use super::super::welcome::CARDS;
    use super::*;

    #[test]
    fn every_picture_is_small_and_not_black() {
        for Picture { scene, png } in CARDS.iter().map(|card| card.picture) {
            let ([width, height], rgb) = decode(png).unwrap();
            assert_eq!((width * 9, rgb.len()), (height * 16, 3 * width * height), "{scene}");
            assert!(rgb.iter().any(|&channel| channel > 150), "{scene} is dark");
            assert!(png.len() < 40_000, "{scene}: {} bytes", png.len());
        }
        assert!(decode(b"no picture").is_err());
    }
}
