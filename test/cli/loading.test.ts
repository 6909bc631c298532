import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { edgesOf, loadedWith, packagesOf } from '../support/architecture/reach.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Other packages are imported when a command runs: see the lazy imports below. */
const EAGER = ['@opentelemetry/api', 'commander', 'croner', 'pg/lib/client.js', 'pg-pool'];

const eager = loadedWith('cli/run.ts');
const LAZY = globSync('cli/**/*.ts', { cwd: ROOT })
  .filter((file) => file !== 'cli/main.ts')
  .flatMap((file) => edgesOf(file).flatMap(({ to, when }) => (when === 'call' ? [[file, to] as const] : [])));

it('every command loads only five modules of packages, and no AWS client, schema library or bundler', () => {
  const others = packagesOf(eager).filter((name) => !EAGER.includes(name));

  expect(others.map((name) => eager.get(name)?.join(' > '))).toEqual([]);
});

it('the CLI has lazy imports for the next test', () => {
  expect(LAZY.length).toBeGreaterThan(5);
});

it.each(LAZY)('only a command that runs it loads what %s imports lazily: %s', (_file, target) => {
  const spared = packagesOf(loadedWith(target)).filter((name) => !eager.has(name));

  expect(eager.get(target)?.join(' > ')).toBeUndefined();
  expect(spared).not.toEqual([]);
});
