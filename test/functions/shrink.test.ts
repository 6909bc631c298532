import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Pixels, shrink } from '../../functions/shrink.ts';

const size = fc.integer({ min: 1, max: 24 });

/** An opaque picture, and a size to shrink it to. */
const shrinking = fc.tuple(size, size).chain(([width, height]) =>
  fc.record({
    source: fc
      .uint8Array({ minLength: width * height * 4, maxLength: width * height * 4 })
      .map((data) => ({ data: data.map((byte, i) => (i % 4 === 3 ? 255 : byte)), width, height })),
    width: fc.integer({ min: 1, max: width }),
    height: fc.integer({ min: 1, max: height }),
  }),
);

function mean({ data }: Pixels, channel: number): number {
  let sum = 0;
  for (let i = channel; i < data.length; i += 4) sum += data[i]!;
  return sum / (data.length / 4);
}

function picture(width: number, ...pixels: number[][]): Pixels {
  return { data: Uint8Array.from(pixels.flat()), width, height: pixels.length / width };
}

it('shrink keeps the mean of every channel', () => {
  fc.assert(
    fc.property(shrinking, ({ source, width, height }) => {
      const small = shrink(source, width, height);

      expect(small.data).toHaveLength(width * height * 4);
      // Each pixel is rounded, by half a step at most.
      for (const channel of [0, 1, 2]) {
        expect(Math.abs(mean(small, channel) - mean(source, channel))).toBeLessThanOrEqual(0.51);
      }
    }),
  );
});

it('shrink changes nothing when the size stays the same', () => {
  fc.assert(
    fc.property(shrinking, ({ source }) => {
      const same = shrink(source, source.width, source.height);

      expect([...same.data]).toEqual([...source.data]);
    }),
  );
});

it('shrink keeps the colour of a picture with one colour', () => {
  fc.assert(
    fc.property(shrinking, fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255)), ({ source, width, height }, colour) => {
      const plain = { ...source, data: source.data.map((_byte, i) => [...colour, 255][i % 4]!) };

      const small = shrink(plain, width, height);

      for (let i = 0; i < small.data.length; i += 4) expect([...small.data.subarray(i, i + 3)]).toEqual(colour);
    }),
  );
});

it('shrink splits a pixel between the two target pixels that it overlaps', () => {
  const source = picture(3, [30, 0, 0, 255], [60, 0, 0, 255], [90, 0, 0, 255]);

  const small = shrink(source, 2, 1);

  expect([...small.data]).toEqual([40, 0, 0, 255, 80, 0, 0, 255]);
});

it('shrink draws transparent pixels as white, even if they have a colour', () => {
  const source = picture(2, [255, 0, 0, 255], [0, 0, 0, 0]);

  const small = shrink(source, 1, 1);

  expect([...small.data]).toEqual([255, 128, 128, 255]);
});
