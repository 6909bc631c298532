/** Four bytes per pixel (red, green, blue, alpha), row by row from the top. */
export interface Pixels {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** For each source row (or column): its target row `at`, its share `near` of that row and `rest` of the next one. */
interface Shares {
  readonly at: Uint32Array;
  readonly near: Float64Array;
  readonly rest: Float64Array;
}

/**
 * Scales down by averaging: each target pixel is the mean of the source area it covers, on a white background. Keeps
 * only two rows between source and result, since a large photo alone fills the memory.
 * @param toWidth at most the width of `source`.
 * @param toHeight at most the height of `source`.
 */
export function shrink(source: Pixels, toWidth: number, toHeight: number): Pixels {
  const data = new Uint8ClampedArray(toWidth * toHeight * 4);
  const columns = shares(source.width, toWidth);
  const rows = shares(source.height, toHeight);
  // One extra pixel receives the rest of the last column, which rounding can leave.
  const line = new Float32Array((toWidth + 1) * 4);
  let sum = new Float32Array(line.length);
  let next = new Float32Array(line.length);
  for (let y = 0; y < source.height; y++) {
    readRow(source, y, columns, line);
    const near = rows.near[y] ?? 0;
    const rest = rows.rest[y] ?? 0;
    for (let i = 0; i < line.length; i++) {
      const value = line[i] ?? 0;
      sum[i] = (sum[i] ?? 0) + value * near;
      next[i] = (next[i] ?? 0) + value * rest;
    }
    const row = rows.at[y] ?? 0;
    if (rows.at[y + 1] === row) continue;
    writeRow(sum, data.subarray(row * toWidth * 4, (row + 1) * toWidth * 4));
    [sum, next] = [next, sum];
    next.fill(0);
  }
  return { data, width: toWidth, height: toHeight };
}

function shares(from: number, to: number): Shares {
  const scale = to / from;
  const result = { at: new Uint32Array(from), near: new Float64Array(from), rest: new Float64Array(from) };
  for (let i = 0; i < from; i++) {
    const start = i * scale;
    const end = (i + 1) * scale;
    const border = Math.floor(start) + 1;
    result.at[i] = border - 1;
    result.near[i] = Math.min(border, end) - start;
    result.rest[i] = Math.max(0, end - border);
  }
  return result;
}

/** Reads a source row at the width of the target. Colours are weighted by alpha, so transparent pixels add none. */
function readRow({ data, width }: Pixels, y: number, { at, near, rest }: Shares, line: Float32Array): void {
  line.fill(0);
  for (let x = 0, i = y * width * 4; x < width; x++, i += 4) {
    const alpha = (data[i + 3] ?? 0) / 255;
    const to = (at[x] ?? 0) * 4;
    const shareNear = near[x] ?? 0;
    const shareRest = rest[x] ?? 0;
    for (let channel = 0; channel < 4; channel++) {
      const value = channel === 3 ? alpha : (data[i + channel] ?? 0) * alpha;
      line[to + channel] = (line[to + channel] ?? 0) + value * shareNear;
      line[to + 4 + channel] = (line[to + 4 + channel] ?? 0) + value * shareRest;
    }
  }
}

function writeRow(sum: Float32Array, row: Uint8ClampedArray): void {
  for (let i = 0; i < row.length; i += 4) {
    const background = 255 * (1 - (sum[i + 3] ?? 0));
    for (let channel = 0; channel < 3; channel++) row[i + channel] = (sum[i + channel] ?? 0) + background;
    row[i + 3] = 255;
  }
}
