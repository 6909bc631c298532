import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type Import, importsOf, parseSyntax } from './syntax.ts';

const ROOT = join(import.meta.dirname, '../../..');

interface Edge {
  /** A path from the root, or the name of a package. */
  readonly to: string;
  readonly when: Import['when'];
}

const known = new Map<string, readonly Edge[]>();

/** Returns the imports with a literal name of a file, given by its path from the root. */
export function edgesOf(file: string): readonly Edge[] {
  const edges = known.get(file) ?? readEdges(file);
  known.set(file, edges);
  return edges;
}

function readEdges(file: string): Edge[] {
  return importsOf(parseSyntax(file, readFileSync(join(ROOT, file), 'utf8'))).flatMap(({ target, when }) => {
    if (target === undefined || target.includes('…')) return [];
    return [{ to: target.startsWith('.') ? posix.join(posix.dirname(file), target) : target, when }];
  });
}

/** Returns every module that loads with a file, each with the chain of imports that leads to it. */
export function loadedWith(file: string): Map<string, readonly string[]> {
  const chains = new Map<string, readonly string[]>([[file, [file]]]);
  for (const [from, chain] of chains) {
    if (!from.endsWith('.ts')) continue;
    for (const { to, when } of edgesOf(from)) {
      if (when === 'load' && !chains.has(to)) chains.set(to, [...chain, to]);
    }
  }
  return chains;
}

/** Returns the npm packages among these modules. */
export function packagesOf(chains: ReadonlyMap<string, readonly string[]>): string[] {
  return [...chains.keys()].filter((name) => !name.endsWith('.ts') && !name.startsWith('node:'));
}
