import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { edgesOf, loadedWith, packagesOf } from '../support/architecture/reach.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A command that needs another package loads it when it is run: see the lazy imports below. */
const EAGER = ['@opentelemetry/api', 'commander', 'pg'];

const eager = loadedWith('cli/run.ts');
const LAZY = globSync('cli/**/*.ts', { cwd: ROOT })
  .filter((file) => file !== 'cli/main.ts')
  .flatMap((file) => edgesOf(file).flatMap(({ to, when }) => (when === 'call' ? [[file, to] as const] : [])));

it('loads three packages for every command, and no client of AWS, schema or bundler', () => {
  const others = packagesOf(eager).filter((name) => !EAGER.includes(name));

  expect(others.map((name) => eager.get(name)?.join(' > '))).toEqual([]);
});

it('has lazy imports, so that the next test is about something', () => {
  expect(LAZY.length).toBeGreaterThan(5);
});

it.each(LAZY)('spares every other command what %s loads when it is run: %s', (_file, target) => {
  const spared = packagesOf(loadedWith(target)).filter((name) => !eager.has(name));

  expect(eager.get(target)?.join(' > ')).toBeUndefined();
  expect(spared).not.toEqual([]);
});
