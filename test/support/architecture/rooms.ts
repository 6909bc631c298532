import { posix } from 'node:path';
import { MAY_IMPORT, resolveImports } from './imports.ts';
import { isIn, type Rule, type SourceFile } from './source-file.ts';

const PACKAGES = ['core', 'api', 'functions', 'infra', 'local', 'cli'];
const MOST_FILES = 20;
/** Folders of any size, whose files are entries of one table. */
const PEERS = [
  'cli/commands',
  'cli/backend/by-api',
  'api/routes',
  'infra/constructs',
  'local/sqs/actions',
  'migrations',
];

/** The folders of core, each with those below it. A file may import from its own folder, the root and these. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  settings: [],
  handler: ['settings'],
  catalog: ['handler'],
  postgres: ['handler', 'settings'],
  aws: ['handler', 'postgres'],
  enqueue: ['handler', 'postgres'],
  client: ['handler', 'enqueue'],
  jobs: ['handler', 'postgres'],
  look: ['handler', 'postgres'],
  numbers: ['handler', 'postgres'],
  access: ['handler', 'postgres'],
  schedules: ['handler', 'postgres', 'numbers'],
  run: ['settings', 'handler', 'postgres', 'aws', 'enqueue', 'jobs', 'numbers'],
  registry: ['handler', 'postgres', 'aws', 'numbers'],
  'dead-letters': ['handler', 'postgres', 'aws', 'jobs', 'look', 'numbers'],
  operations: ['handler', 'postgres', 'look'],
  dispatch: ['handler', 'postgres', 'aws', 'jobs', 'numbers', 'run', 'operations', 'schedules'],
  upkeep: ['postgres', 'numbers'],
  testing: ['settings', 'handler', 'postgres', 'aws', 'enqueue', 'jobs', 'run', 'registry', 'dispatch'],
};

/** The public interface of the package, which may import from every folder. */
const PUBLIC = 'core/index.ts';

function roomOf(path: string): string | undefined {
  const [, room, ...rest] = path.split('/');
  return rest.length > 0 ? room : undefined;
}

/** In core, a file imports only from folders below its own: the root is at the bottom, `dispatch` at the top. */
export const roomDirection: Rule = {
  name: 'room direction',
  check: (file) =>
    isIn(file.path, ['core']) && file.path !== PUBLIC
      ? resolveImports(file)
          .filter(({ to, ours }) => ours && isIn(to, ['core']) && !isBelow(file.path, to))
          .map(({ to, line }) => ({ path: file.path, line, message: `imports ${to}, which is not below it` }))
      : [],
};

function isBelow(from: string, to: string): boolean {
  const [own, other] = [roomOf(from), roomOf(to)];
  return other === undefined || other === own || (BELOW[own ?? '']?.includes(other) ?? false);
}

/** Returns the folders that exceed the limit of files, with their counts. */
export function crowdedFolders(tree: readonly SourceFile[]): string[] {
  const folders = Map.groupBy(
    tree.filter(({ path }) => isIn(path, [...PACKAGES, 'bench'])),
    ({ path }) => posix.dirname(path),
  );
  return [...folders]
    .filter(([folder, files]) => files.length > MOST_FILES && !PEERS.includes(folder))
    .map(([folder, files]) => `${folder} has ${files.length} files; ${MOST_FILES} is the limit`);
}

/** Returns the names that two files of one package share, except entry points and the two sides of a port. */
export function sharedNames(tree: readonly SourceFile[]): string[] {
  const named = tree.filter(({ path }) => {
    return isIn(path, PACKAGES) && !path.endsWith('/main.ts') && !isIn(path, ['cli/backend/by-api', 'api/routes']);
  });
  const groups = Map.groupBy(named, ({ path }) => `${path.split('/')[0]}/…/${posix.basename(path)}`);
  return [...groups].filter(([, files]) => files.length > 1).map(([name]) => name);
}

/** Returns every folder with code. The examples, which are projects of their own, count as one. */
export function roomsOf(tree: readonly SourceFile[]): string[] {
  const code = tree.filter(
    ({ path, syntax }) => syntax !== undefined && isIn(path, [...PACKAGES, 'bench', 'examples']),
  );
  const folders = code.map(({ path }) => (isIn(path, ['examples']) ? 'examples' : posix.dirname(path)));
  return [...new Set(folders.map((folder) => `${folder}/`))].sort();
}

/** Returns what a package may import besides itself, in the format of CONTRIBUTING. */
export function importsAllowed(name: string): string {
  return (MAY_IMPORT[name] ?? []).map((target) => `\`${target}\``).join(', ') || 'nothing else';
}
