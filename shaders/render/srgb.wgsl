// The sRGB curve, to 0.04 of an 8-bit step: a polynomial of the root, since powers cost software three times as much.
fn srgb_encode(linear: vec3f) -> vec3f {
    let root = sqrt(linear);
    let high = 3.8984462 + root * (-5.0031726 + root * (3.4186878 - root * 0.9476710));
    let curved = -0.0422320 + root * (1.5752713 + root * (-1.8994787 + root * high));
    return select(curved, 12.92 * linear, linear <= vec3f(0.0031308));
}
