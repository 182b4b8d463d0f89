// Films as WebM, encoded by the browser (WebCodecs): VP9 or VP8 in Matroska's subset (matroska.org/technical/elements.html).

const CODECS = [["vp09.00.51.08", "V_VP9"], ["vp8", "V_VP8"]];
let codec;

async function findCodec() {
  for (const pair of globalThis.VideoEncoder ? CODECS : []) {
    const answer = await VideoEncoder.isConfigSupported({ codec: pair[0], width: 1280, height: 720 });
    if (answer.supported) return pair;
  }
}

findCodec().then((found) => (codec = found), () => {});

/// Whether this browser encodes films.
export const canEncode = () => codec !== undefined;

// An unsigned number in as few bytes as hold it, and a length in eight, which any length fits.
const number = (value) => {
  const bytes = [];
  do bytes.unshift(value % 256); while ((value = Math.floor(value / 256)) > 0);
  return bytes;
};
const length = (value) => [1, 0, ...number(value + 2 ** 48).slice(1)];
const ascii = (text) => [...text].map((c) => c.charCodeAt(0));
const float = (value) => [...new Uint8Array(new Float64Array([value]).buffer)].reverse();
const size = (parts) => parts.reduce((sum, part) => sum + part.length, 0);
const nested = (id, parts) => [[...number(id), ...length(size(parts))], ...parts];
// Few parts: a call has a limited number of arguments.
const element = (id, ...parts) => nested(id, parts);

/// A film of pictures of the same size, `rate` of them a second.
export class WebM {
  #encoder;
  #blocks = [];
  #count = 0;
  bytes = 0;
  problem;

  constructor(width, height, rate) {
    Object.assign(this, { width, height, rate });
    const output = (chunk) => {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      this.#blocks.push({ at: Math.round(chunk.timestamp / 1000), isKey: chunk.type === "key", data });
      this.bytes += data.length;
    };
    this.#encoder = new VideoEncoder({ output, error: (problem) => (this.problem = problem.message) });
    // A fifth of a bit per pixel: points of light on black, which no motion vector predicts.
    const bitrate = 0.2 * width * height * rate;
    this.#try(() => this.#encoder.configure({ codec: codec[0], width, height, bitrate, framerate: rate }));
  }

  // An exception would pass through the program's frames.
  #try(work) {
    try {
      work();
    } catch (problem) {
      this.problem ??= problem.message;
    }
  }

  /// Pictures that are not encoded yet.
  get queued() {
    return this.#encoder.encodeQueueSize;
  }

  add(rgba) {
    if (this.problem) return;
    const [codedWidth, codedHeight] = [this.width, this.height];
    const timestamp = Math.round((1e6 * this.#count) / this.rate);
    this.#try(() => {
      const frame = new VideoFrame(rgba, { format: "RGBX", codedWidth, codedHeight, timestamp });
      // A key picture each second, so that players can seek.
      this.#encoder.encode(frame, { keyFrame: this.#count++ % this.rate === 0 });
      frame.close();
    });
  }

  /// The file.
  async finish() {
    if (!this.problem) await this.#encoder.flush();
    if (this.problem) throw new Error(this.problem);
    this.#encoder.close();
    const head = element(0x1a45dfa3, ...element(0x4282, ascii("webm")), ...element(0x4287, [2]), ...element(0x4285, [2]));
    const about = element(
      0x1549a966,
      ...element(0x2ad7b1, number(1e6)), // times in milliseconds
      ...element(0x4489, float((1000 * this.#count) / this.rate)),
      ...element(0x4d80, ascii("gravitile")),
      ...element(0x5741, ascii("gravitile")),
    );
    const video = [...element(0xb0, number(this.width)), ...element(0xba, number(this.height))];
    const track = [
      ...element(0xd7, [1]),
      ...element(0x73c5, [1]),
      ...element(0x83, [1]),
      ...element(0x86, ascii(codec[1])),
      ...element(0xe0, ...video),
    ];
    const tracks = element(0x1654ae6b, ...element(0xae, ...track));
    const clusters = [];
    for (const { at, isKey, data } of this.#blocks) {
      if (isKey) clusters.push({ at, parts: element(0xe7, number(at)) });
      const cluster = clusters.at(-1);
      const since = at - cluster.at;
      cluster.parts.push(...element(0xa3, [0x81, since >> 8, since & 255, isKey ? 0x80 : 0], data));
    }
    // Where each cluster begins, counted from the segment's first byte; all entries have the same length.
    const written = clusters.map(({ parts }) => nested(0x1f43b675, parts));
    const cues = (begin) => {
      const points = clusters.flatMap(({ at }, k) => {
        const where = [...element(0xf7, [1]), ...element(0xf1, length(begin).slice(1))];
        begin += size(written[k]);
        return element(0xbb, ...element(0xb3, length(at).slice(1)), ...element(0xb7, ...where));
      });
      return nested(0x1c53bb6b, points);
    };
    const before = size(about) + size(tracks);
    const index = cues(before + size(cues(0)));
    const file = [...head, ...nested(0x18538067, [...about, ...tracks, ...index, ...written.flat()])];
    const bytes = new Uint8Array(size(file));
    let at = 0;
    for (const part of file) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}
