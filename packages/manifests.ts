import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');

/** The modules that an application can import, by their name in the package. */
export const DOORS: Readonly<Record<string, string>> = {
  '.': 'core/index',
  './cdk': 'infra/cdk',
  './testing': 'local/testing/testing',
};

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly description: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const tree: Manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** The fields of package.json that both packages share. */
const COMMON = {
  version: tree.version,
  license: tree.license,
  type: 'module',
};

/** `require()` of an ES module works from these releases on. */
const NODE = '^20.19.0 || >=22.12.0';

/** Returns the package.json of `millrace`, which applications and operators install: it has no dependencies. */
export function libraryManifest(): object {
  const doors = Object.entries(DOORS).map(([name, path]) => {
    return [name, { types: `./types/${path}.d.ts`, default: `./dist/${path}.js` }] as const;
  });
  const types = Object.entries(DOORS).map(([name, path]) => [name.replace('./', ''), `./types/${path}.d.ts`] as const);
  const peers = { 'aws-cdk-lib': '^2.276.0', constructs: '^10.0.0', esbuild: '>=0.25.0', 'millrace-dev': '*' };
  return {
    name: 'millrace',
    ...COMMON,
    description: tree.description,
    engines: { node: NODE },
    bin: { millrace: 'cli/millrace.js' },
    exports: { ...Object.fromEntries(doors), './package.json': './package.json' },
    // For "moduleResolution": "node" of TypeScript 5, which does not read exports.
    main: `./dist/${DOORS['.']}.js`,
    types: `./types/${DOORS['.']}.d.ts`,
    typesVersions: {
      '*': Object.fromEntries(types.filter(([name]) => name !== '.').map(([name, file]) => [name, [file]])),
    },
    peerDependencies: peers,
    peerDependenciesMeta: Object.fromEntries(Object.keys(peers).map((name) => [name, { optional: true }])),
  };
}

/** Returns the package.json of `millrace-dev`: what only the stack on one machine requires. */
export function developmentManifest(): object {
  return {
    name: 'millrace-dev',
    ...COMMON,
    description: 'The stack of millrace on one machine: database, queues, functions and mailbox',
    engines: { node: NODE },
    bin: { 'millrace-dev': 'cli/millrace.js' },
    exports: { './package.json': './package.json' },
    dependencies: { esbuild: tree.dependencies.esbuild },
    // Not a dependency: a package manager would install a second copy beside that of the project.
    peerDependencies: { millrace: tree.version },
    optionalDependencies: tree.optionalDependencies,
  };
}
