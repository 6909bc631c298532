import { basename } from 'node:path';
import type { Metafile, OutputFile } from 'esbuild';

const HASHED = /-([0-9A-Z]{8})\.mjs$/;

/**
 * Returns the files of a bundle by name, in which a number of the same length replaces each hash: esbuild computes
 * hashes from paths on this machine, too. The numbers follow the sources of the files.
 */
export function withStableNames(files: readonly OutputFile[], { outputs }: Metafile): Map<string, string> {
  const hashed = Object.entries(outputs).flatMap(([path, { inputs, exports }]) => {
    const hash = HASHED.exec(path)?.[1];
    return hash === undefined ? [] : [{ hash, key: JSON.stringify([Object.keys(inputs).sort(), exports]) }];
  });
  const sorted = hashed.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const numbers = new Map(sorted.map(({ hash }, index) => [hash, String(index + 1).padStart(8, '0')]));
  const rename = (text: string) =>
    text.replaceAll(/-([0-9A-Z]{8})\.mjs/g, (name, hash: string) => {
      const number = numbers.get(hash);
      return number === undefined ? name : `-${number}.mjs`;
    });
  return new Map(files.map(({ path, text }) => [rename(basename(path)), rename(text)]));
}
