import { appendFile, lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ownFile, ownVersion } from '../core/own-files.ts';
import { withoutMark } from '../core/text.ts';
import { exists, type Manifest, NO_TEST, type ProjectKind, projectKind } from './project-kind.ts';

/** What `init` did, for the person who ran it. */
export interface Initialised {
  readonly language: 'TypeScript' | 'JavaScript';
  readonly written: readonly string[];
  /** Files that exist, each with what to do by hand. */
  readonly skipped: readonly string[];
}

interface Project {
  readonly folder: string;
  readonly manifest: Manifest | undefined;
  readonly kind: ProjectKind;
  readonly written: string[];
  readonly skipped: string[];
}

const IGNORED = ['node_modules/', '.millrace/', '.env', 'cdk.out/'];
/** Release of zod with which the template was tested. */
const ZOD = '^4.0.0';
/** Releases with which the templates were compiled. */
const COMPILER = { typescript: '^7.0.0', '@types/node': '^24.0.0' };
const TSCONFIG_BY_HAND =
  'if it includes jobs, the test requires "allowImportingTsExtensions": true, "noEmit": true and "types": ["node"]';
const BY_HAND =
  "to deploy, add to its app: import { Millrace } from 'millrace/cdk'; new Millrace(stack, 'Jobs', { stage: 'dev' })";
/** One stage, which `cdk deploy` deploys without options. */
const CDK = { app: 'node cdk.mjs', context: { stage: 'dev', stages: { dev: { database: 'small' } } } };

/**
 * Writes the least that runs into a folder: a handler, its test, an app for CDK, lines of .gitignore and package.json.
 * Overwrites nothing: it adds lines, and names what exists.
 * @throws Error that names a package.json that cannot be read
 */
export async function init(folder: string): Promise<Initialised> {
  const manifest = await readManifest(folder);
  const project: Project = { folder, manifest, kind: await projectKind(folder, manifest), written: [], skipped: [] };
  const { language, suffix } = project.kind;
  const test = await template('say-hello.test.ts');
  await write(project, `jobs/say-hello.${suffix}`, await template('say-hello.ts'), 'nothing to do');
  const testText = test.replace('say-hello.ts', `say-hello.${suffix}`);
  await write(project, `jobs/say-hello.test.${suffix}`, testText, 'nothing to do');
  if (language === 'TypeScript') await writeTsconfig(project);
  if (await exists(join(folder, 'cdk.json'))) project.skipped.push(`cdk.json exists; ${BY_HAND}`);
  else {
    await write(project, 'cdk.mjs', await template('cdk.mjs'), BY_HAND);
    await write(project, 'cdk.json', `${JSON.stringify(CDK, undefined, 2)}\n`, BY_HAND);
  }
  await ignore(project);
  await addToManifest(project);
  const { written, skipped } = project;
  return { language, written, skipped };
}

async function writeTsconfig(project: Project): Promise<void> {
  const existing = await readFile(join(project.folder, 'tsconfig.json'), 'utf8').catch(() => '');
  if (existing.includes('allowImportingTsExtensions')) return;
  await write(project, 'tsconfig.json', await template('tsconfig.json'), TSCONFIG_BY_HAND);
}

function template(name: string): Promise<string> {
  return readFile(ownFile(`templates/${name}`), 'utf8');
}

async function readManifest(folder: string): Promise<Manifest | undefined> {
  const file = join(folder, 'package.json');
  if (!(await exists(file))) return undefined;
  try {
    return JSON.parse(withoutMark(await readFile(file, 'utf8')));
  } catch (cause) {
    throw new Error(`${file} is not valid JSON: correct it and run init again`, { cause });
  }
}

async function write(project: Project, name: string, text: string, byHand: string): Promise<void> {
  const path = join(project.folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { flag: 'wx' }).then(
    () => project.written.push(name),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      project.skipped.push(`${name} exists; ${byHand}`);
    },
  );
}

async function ignore({ folder, written, skipped }: Project): Promise<void> {
  const path = join(folder, '.gitignore');
  const isLink = await lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
  if (isLink) {
    skipped.push(`.gitignore is a link, which git does not follow; let git ignore ${IGNORED.join(', ')}`);
    return;
  }
  const text = await readFile(path, 'utf8').catch(() => '');
  const known = text.split(/\r?\n/).map((line) => line.trim().replace(/^\/|\/$/g, ''));
  const missing = IGNORED.filter((name) => !known.includes(name.replace(/\/$/, '')));
  if (missing.length === 0) return;
  await appendFile(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
  written.push(`.gitignore: ${missing.join(', ')}`);
}

async function addToManifest(project: Project): Promise<void> {
  const { manifest: before, kind } = project;
  const path = join(project.folder, 'package.json');
  const text = before === undefined ? '' : await readFile(path, 'utf8');
  const manifest: Manifest = kind.isNew ? { private: true, ...before, type: 'module' } : { ...before };
  if (manifest.scripts?.test === NO_TEST) manifest.scripts = withoutTest(manifest.scripts);
  const added = [
    ...(before?.type === 'commonjs' && kind.isNew ? ['type'] : []),
    ...addMissing(project, manifest, 'scripts', {
      dev: 'millrace dev',
      test: `node --test jobs/*.test.${kind.suffix}`,
    }),
    ...addMissing(project, manifest, 'scripts', { deploy: 'cdk deploy' }),
    ...addMissing(project, manifest, 'dependencies', { millrace: ownVersion(), zod: ZOD }),
    ...addMissing(project, manifest, 'devDependencies', {
      'millrace-dev': ownVersion(),
      ...(kind.isNew && COMPILER),
    }),
  ];
  if (added.length === 0) return;
  const indent = /^[ \t]+/m.exec(text)?.[0] ?? 2;
  await writeFile(path, `${JSON.stringify(manifest, undefined, indent)}\n`);
  project.written.push(`package.json: ${added.join(', ')}`);
}

function withoutTest({ test: _placeholder, ...others }: Record<string, string>): Record<string, string> {
  return others;
}

/** Adds entries whose names are free, and returns their names. */
function addMissing(
  { skipped }: Project,
  manifest: Manifest,
  field: 'scripts' | 'dependencies' | 'devDependencies',
  entries: Readonly<Record<string, string>>,
): string[] {
  const all = { ...manifest.dependencies, ...manifest.devDependencies, ...(field === 'scripts' && manifest.scripts) };
  const free = Object.entries(entries).filter(([name]) => !(name in all));
  for (const [name, value] of Object.entries(entries)) {
    if (field !== 'scripts' || free.some(([one]) => one === name) || manifest.scripts?.[name] === value) continue;
    skipped.push(`package.json has a script ${name}; to run it under another name: ${value}`);
  }
  if (free.length > 0) manifest[field] = { ...manifest[field], ...Object.fromEntries(free) };
  return free.map(([name]) => name);
}
