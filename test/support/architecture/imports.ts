import { posix } from 'node:path';
import { isIn, lineAt, type Rule, type SourceFile, type Violation } from './source-file.ts';
import { importsOf, nameOf } from './syntax.ts';

/** The folders and single files that each folder may import besides itself. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  api: ['core'],
  functions: ['core', 'api'],
  infra: ['core'],
  local: ['core', ...['build-and-rest', 'compile', 'machine-code', 'options'].map((name) => `infra/bundle/${name}.ts`)],
  cli: ['core', 'local', 'api/schemas.ts', 'api/documents'],
  migrations: [],
};

const PRODUCT = ['core', 'api', 'functions', 'infra'];

/** Modules with owners, and the folders in which only the owners may import them. */
const OWNERS = [
  {
    module: /^pg(-pool)?($|\/)/,
    owners: ['connect', 'database', 'pool', 'run-text', 'transaction'].map((name) => `core/postgres/${name}.ts`),
    folders: [...PRODUCT, 'local', 'cli'],
  },
  {
    module: /^@aws-sdk\/client-sqs$/,
    owners: ['clients', 'queues', 'dead-letter-queues', 'deployed'].map((name) => `core/aws/${name}.ts`),
    folders: [...PRODUCT, 'cli'],
  },
  {
    module: /^@aws-sdk\/client-lambda$/,
    owners: ['clients', 'functions', 'deployed'].map((name) => `core/aws/${name}.ts`),
    folders: PRODUCT,
  },
  {
    module: /^@aws-sdk\/client-secrets-manager$/,
    owners: ['core/settings/read-secret.ts'],
    folders: [...PRODUCT, 'cli'],
  },
  {
    module: /^@aws-sdk\/client-scheduler$/,
    owners: ['core/aws/clients.ts', 'core/aws/deployed.ts'],
    folders: [...PRODUCT, 'cli'],
  },
  { module: /^(aws-cdk-lib|constructs)($|\/)/, owners: ['infra'], folders: [...PRODUCT, 'local', 'cli'] },
];

const CONNECTS =
  /^(pg(-pool)?|@aws-sdk\/.*|(node:)?(net|tls|dgram|https?|http2|dns)|core\/postgres\/(connect|database|pool|secrets)\.ts|core\/settings\/read-secret\.ts|core\/aws\/((dead-letter-)?queues|clients|functions|deployed)\.ts)($|\/)/;

const CDK = /^((aws-cdk-lib|constructs)($|\/)|infra\/(constructs\/|(app|millrace|stack)\.ts$))/;

/** Modules that a folder must not import, not even as an owner. */
const APART = [
  { folder: 'infra/plan', module: CDK, why: 'it is plain data, without CDK' },
  { folder: 'infra/settings', module: CDK, why: 'it is plain data, without CDK' },
  { folder: 'infra', module: CONNECTS, why: 'it opens no connection' },
];

interface Resolved {
  readonly from: string;
  readonly to: string;
  /** True if `to` is a path in the repository. */
  readonly ours: boolean;
  readonly line: number;
}

/** What a file imports, with paths from the root of the repository. */
export function resolveImports(file: SourceFile): Resolved[] {
  return importsOf(file.syntax).flatMap(({ target, start }) => {
    if (target === undefined) return [];
    const ours = target.startsWith('.');
    const to = ours ? posix.join(posix.dirname(file.path), target) : target;
    return [{ from: file.path, to, ours, line: lineAt(file.text, start) }];
  });
}

function rule(name: string, judge: (edge: Resolved) => string | undefined): Rule {
  return {
    name,
    check: (file) =>
      resolveImports(file).flatMap((edge): Violation[] => {
        const message = judge(edge);
        return message === undefined ? [] : [{ path: file.path, line: edge.line, message }];
      }),
  };
}

/** Folders depend in one direction: `core <- api <- functions`, `core <- infra`, `core <- local <- cli`. */
export const importDirection = rule('import direction', ({ from, to, ours }) => {
  const folder = from.split('/')[0] ?? '';
  const allowed = MAY_IMPORT[folder];
  if (allowed === undefined || !ours || isIn(to, [folder, ...allowed]) || allowed.includes(to)) return undefined;
  return `imports ${to}; ${folder} may import ${[folder, ...allowed].join(', ')}`;
});

/** Only its owners import a client library. */
export const moduleOwner = rule('module owner', ({ from, to, ours }) => {
  const claim = OWNERS.find(({ module, folders }) => !ours && module.test(to) && isIn(from, folders));
  if (claim === undefined || claim.owners.includes(from) || isIn(from, claim.owners)) return undefined;
  return `imports ${to}; only ${claim.owners.join(' or ')} does`;
});

/** SQL does not use queues, and the description of a deployment opens no connection. */
export const keptApart = rule('kept apart', ({ from, to }) => {
  const apart = APART.find(({ folder, module }) => isIn(from, [folder]) && module.test(to));
  return apart && `imports ${to}; ${apart.folder} must not, because ${apart.why}`;
});

/** Node runs the sources without a compiler, so an import names the file with its suffix. */
export const importSuffix = rule('import suffix', ({ to, ours }) => {
  return ours && !/\.(ts|mjs|js|json)$/.test(to) ? `imports ${to} without its suffix` : undefined;
});

/** `fetch` is a global, so the rule matches its name. */
export const noFetchInInfra: Rule = {
  name: 'no fetch in infra',
  check: (file) =>
    (isIn(file.path, ['infra']) ? (file.syntax?.places ?? []) : [])
      .filter(({ node }) => node.type === 'CallExpression' && nameOf(node.callee) === 'fetch')
      .map(({ node }) => ({ path: file.path, line: lineAt(file.text, node.start), message: 'opens a connection' })),
};
